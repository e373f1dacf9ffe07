/* Acceptance test of a window: its residuals against the sensor noise. Every rejection has a reason and is counted. */
#ifndef TU_GATES_H
#define TU_GATES_H

#include "signal/noise.h"
#include "signal/window.h"

#define TU_ACCEPTED (-1) /* in addition to enum tu_reason */
#define TU_STUCK_RUN 16  /* identical samples in a row although the noise should have changed them */

/* Limit of the root of a chi-square misfit, as a factor on the noise. */
tu_real tu_gates_spread(const tu_window *window);

/* Tests the total misfit (chi-square) and its sums over segments, which detect a step or a kink. Returns TU_ACCEPTED or
 * a reason. Quantisation error hardly changes from sample to sample, so where quantisation is the noise, the limit on
 * segment sums is wider. scale: a factor on the noise.
 */
int tu_gates_accept(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale);

/* Whether every channel's polynomial minus its mean is noise only. */
int tu_gates_still(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale);

#endif
