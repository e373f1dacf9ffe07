/* Acceptance test of a window: its residuals against the sensor noise. Every rejection has a reason and is counted. */
#ifndef TU_GATES_H
#define TU_GATES_H

#include "signal/noise.h"
#include "signal/window.h"

#define TU_ACCEPTED (-1) /* beside enum tu_reason */
#define TU_STUCK_RUN 16  /* identical samples in a row where the noise should have moved them */

/* How far above the noise the root of a chi-square misfit may lie, as a factor. */
tu_real tu_gates_spread(const tu_window *window);

/* The misfit's total (chi-square) and its sums over segments, which see a step or a kink. TU_ACCEPTED or a reason.
 * Where the sensor's own steps are the noise, its error hardly changes from sample to sample, and segment sums are
 * allowed what such an error adds up to. scale: a factor on the noise.
 */
int tu_gates_accept(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale);

/* Whether nothing but noise is left of every channel's polynomial when its mean is taken off. */
int tu_gates_still(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale);

#endif
