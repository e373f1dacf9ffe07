/* The first stretch of the stream: noise, scales and the time scale of the windows (paper eqs. dt_opt, snrgate). */
#ifndef TU_CALIBRATE_H
#define TU_CALIBRATE_H

#include "signal/gates.h"

typedef struct {
    tu_real *x;   /* RMS of each state, with `u` right behind: what divides a row of states and inputs */
    tu_real *u;   /* RMS of each input */
    tu_real *dx;  /* s1 */
    tu_real *ddx; /* s2 */
} tu_scales;

typedef struct {
    int candidates; /* windows, shortest first */
    uint32_t *tried;
    uint32_t *passed;
    tu_real *squares;       /* candidates x 3 x states: sums of squares of x, dx, ddx over passed windows */
    tu_real *input_squares; /* sums over all tried windows' newest samples */
    tu_real excess;         /* mean log of misfit over noise, shortest candidate */
    tu_real level;          /* upper decile of that log of a short candidate, found step by step */
    uint32_t heard;         /* windows that it was found from */
    int turn;               /* candidate that is tried next */
} tu_calibration;

/* What the calibration settles. */
typedef struct {
    tu_window window;
    tu_scales scales;
    tu_real second_order; /* its weight */
    tu_real sigma_scale;  /* a factor on sigma where the noise is not white */
    tu_real snr2;         /* signal-to-noise ratio of the second derivative, the worst channel (eq. snr2_def) */
} tu_settled;

void tu_calibrate_carve(tu_calibration *cal, tu_settled *settled, tu_arena *arena, const tu_config *config);

/* x_hat, dx_hat, ddx_hat of every state at the window's centre (eqs. x_hat to ddx_hat): 3 x states. */
void tu_window_jets(const tu_config *config, const tu_window *window, const tu_real *coefficients, tu_real *jets);

/* Tries one candidate on the newest samples, the candidates in turn; the newest `clean` samples have nothing bad.
 * fit and jets (3 x states) are working memory.
 */
void tu_calibrate_window(tu_calibration *cal, const tu_config *config, const tu_ring *ring, const tu_noise *noise,
                         tu_gates *gates, int clean, const tu_fit *fit, tu_real *jets);

/* Forgets what was tried. */
void tu_calibrate_clear(tu_calibration *cal, const tu_config *config);

/* Settles the longest window that nearly always passes, and the factor on sigma. The candidate's number. */
int tu_calibrate_choose(const tu_calibration *cal, const tu_config *config, tu_settled *settled);

/* Settles all there is. */
void tu_calibrate_finish(const tu_calibration *cal, const tu_config *config, const tu_noise *noise,
                         tu_settled *settled);

#endif
