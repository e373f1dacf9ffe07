/* Sensor noise estimated from the stream: the paper's residual estimator on neighbouring samples, made robust.
 *
 * Eleven neighbouring samples follow a quartic to far below any sensor's noise, so y_mu - D0'y is noise alone (eq.
 * sigmahat). Jumps and outliers are not noise: residuals beyond CLIP sigma are counted, not averaged.
 */
#ifndef TU_NOISE_H
#define TU_NOISE_H

#include "signal/ring.h"

typedef struct {
    int channels;
    int seen; /* residuals computed, until there are enough to start the average */
    uint32_t samples;
    tu_real *start;    /* channels x the smaller half of the first squared residuals, ascending */
    tu_real *variance; /* by channel, as all that follows */
    tu_real *held;     /* saved variances */
    tu_real *power;    /* running mean square of the signal */
    tu_real *smallest; /* change seen; 0 before any */
    tu_real *step;     /* quantisation step; 0: none */
    tu_real *sigma;    /* never 0, never below the quantisation noise */
    uint32_t *count;   /* residuals averaged */
    int32_t *still;    /* consecutive samples without a change: they carry no information on the noise */
    int32_t *repeats;  /* > 0: values repeat, so the channel is quantised */
} tu_noise;

void tu_noise_carve(tu_noise *noise, tu_arena *arena, int channels);

void tu_noise_init(tu_noise *noise);

/* Processes the newest sample of the ring; learn: its residual may enter the estimate. */
void tu_noise_update(tu_noise *noise, const tu_ring *ring, int learn);

/* Saves and restores the variances. */
void tu_noise_hold(tu_noise *noise);
void tu_noise_restore(tu_noise *noise);

/* Whether enough residuals have been averaged to detect outliers. */
int tu_noise_ready(const tu_noise *noise);

#endif
