/* Dead reckoning: an angle that is far noisier than its rate is carried on by the rate, beyond the window.
 *
 *     theta <- theta + omega dt,  theta <- theta + gain (sensed - theta),  gain = sigma_omega dt / sigma_theta
 *
 * balances the two noises and leaves the variance gain * sigma_theta^2, against sigma_theta^2 / samples of a window's
 * mean. Where that is less, the carried angle, taken back by the rate's polynomial T (w_0 + w_1 / 3) from the newest
 * sample to the mean over a window of half width T, takes the place of the window's own mean.
 */
#ifndef TU_RECKON_H
#define TU_RECKON_H

#include "signal/window.h"

typedef struct {
    tu_real *angle; /* of each channel, at the newest sample */
    tu_real *count; /* samples that went into it; 0: none yet */
    tu_real *rate;  /* at that sample */
} tu_reckon;

void tu_reckon_carve(tu_reckon *reckon, tu_arena *arena, const tu_config *config);

/* What comes next does not follow on what was. */
void tu_reckon_clear(tu_reckon *reckon, const tu_config *config);

/* The ring's newest `count` samples, which follow on those of the last call; sigma by channel. */
void tu_reckon_push(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                    const tu_ring *ring, int count);

/* Makes use of carried angles in the fit of the newest window. */
void tu_reckon_window(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                      const tu_fit *fit);

#endif
