/* Local polynomials: the Savitzky-Golay fit in Legendre form, its derivatives, and its effect on a derivative.
 *
 * A window is 2 * half + 1 samples, `spacing` ticks apart. On tau in [-1, 1] the fitted polynomial is p(tau) = sum_j
 * a_j L_j(tau); everything else (state, derivatives, node states) is linear in the coefficients a.
 */
#ifndef TU_WINDOW_H
#define TU_WINDOW_H

#include "signal/ring.h"

#define TU_SEGMENTS 8 /* segments of a window, tested for jumps by their mean residual */

typedef struct {
    int half;
    int spacing;
    int poly;
    tu_real seconds;                                            /* half width */
    tu_real inverse[(TU_MAX_POLY + 1) * (TU_MAX_POLY + 2) / 2]; /* of the basis' Gram matrix, lower triangle by rows */
} tu_window;

/* State of the summation of a window's Gram matrix. */
typedef struct {
    int next; /* next sample, counted from the centre */
    tu_real sums[(TU_MAX_POLY + 1) * (TU_MAX_POLY + 2) / 2];
} tu_window_work;

/* One channel of a fit in progress. */
typedef struct {
    tu_real centre;                 /* the middle sample, subtracted to keep float32 sums precise */
    tu_real terms[TU_MAX_POLY + 1]; /* moments, then coefficients of the powers of tau */
    tu_real misfit;
    tu_real sums[TU_SEGMENTS];
} tu_track;

/* A fit in progress: two passes over the pairs of samples, moments, then residuals. */
typedef struct {
    int channel; /* first current channel */
    int count;   /* current channels; 0: not started */
    int residuals;
    int next; /* pair */
    tu_track tracks[2];
} tu_fit_work;

/* Result of a fit for each channel. */
typedef struct {
    tu_real *coefficients; /* channels x (poly + 1) */
    tu_real *misfit;       /* squared residual norm */
    tu_real *segments;     /* sum over segments of squared residual sum / length: both in units of the noise variance */
    tu_fit_work *work;
} tu_fit;

/* L_0 .. L_{count-1} at tau, or their derivative of the given order. */
void tu_legendre(tu_real tau, int count, int derivative, tu_real *values);

void tu_window_make(tu_window *window, int half, int spacing, int poly, tu_real period);

/* The same in slices of at most 128 samples: call again while they return 1. */
void tu_window_begin(tu_window *window, tu_window_work *work, int half, int spacing, int poly, tu_real period);
int tu_window_make_slice(tu_window *window, tu_window_work *work);

/* Half width in ticks. */
TU_INLINE int tu_window_reach(const tu_window *window) { return window->half * window->spacing; }

/* Degrees of freedom of the misfit. */
TU_INLINE tu_real tu_window_freedom(const tu_window *window) { return (tu_real)(2 * window->half - window->poly); }

void tu_fit_carve(tu_fit *fit, tu_arena *arena, int channels, int poly);

/* Fits the newest window of the ring's first `channels` columns, in slices of at most 128 pairs of samples of one or
 * two channels: call again while they return 1.
 */
void tu_window_fit_begin(const tu_fit *fit);
int tu_window_fit_slice(const tu_window *window, const tu_ring *ring, int channels, const tu_fit *fit);

/* The basis at tau, or its time derivative: maps coefficients to the polynomial's value there. */
void tu_window_basis(const tu_window *window, tu_real tau, int derivative, tu_real *basis);

/* The fitted polynomial of one channel, or its time derivative, at tau. */
tu_real tu_window_at(const tu_window *window, const tu_real *coefficients, tu_real tau, int derivative);

/* The row that maps samples to the derivative at the centre (in units of tau), as coefficients of L_0 .. L_poly. */
void tu_window_derivative_row(const tu_window *window, int derivative, tu_real *row);

/* Its squared norm: noise variance of that derivative per unit of sensor noise variance, in units of time. */
tu_real tu_window_derivative_gain(const tu_window *window, int derivative);

#endif
