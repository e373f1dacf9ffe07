/* An angle and its rate both sensed: each coefficient of the angle's polynomial takes what the rate knows better.
 *
 * The known equation theta' = omega holds exactly, so the rate's polynomial, integrated, is a second opinion on all of
 * the angle's but its mean. With L_j integrated to (L_{j+1} - L_{j-1}) / (2 j + 1), coefficient k of the integral is
 * T (w_{k-1} / (2 k - 1) - w_{k+1} / (2 k + 3)) for a half width of T seconds. Coefficient k of a fit has the noise
 * variance (2 k + 1) sigma^2 / samples, which weighs the two opinions.
 */
#ifndef TU_FUSE_H
#define TU_FUSE_H

#include "signal/window.h"

/* rate_channel as in tu_config; sigma by channel. */
void tu_fuse_rates(const tu_window *window, const int32_t *rate_channel, const tu_real *sigma, int channels,
                   const tu_fit *fit);

#endif
