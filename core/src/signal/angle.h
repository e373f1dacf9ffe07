/* Angle wrapping: where whole revolutions change nothing, angles are taken to [-pi, pi].
 *
 * What is learned then holds after any number of revolutions, and a network sees the same numbers.
 */
#ifndef TU_ANGLE_H
#define TU_ANGLE_H

#include "signal/window.h"

/* Wraps the mean of every channel with wrap[channel] != 0 (as in tu_config). */
void tu_angle_wrap_window(const int32_t *wrap, int channels, int poly, const tu_fit *fit);

/* A state, or an input, of a model as its windows were: wrapped where it is such an angle. */
tu_real tu_angle_wrap_state(const tu_config *config, const tu_real *x, const tu_real *u, int column);

#endif
