/* Angle wrapping: where whole revolutions change nothing, angles are wrapped to [-pi, pi].
 *
 * The model then holds after any number of revolutions, and a network sees the same range of inputs.
 */
#ifndef TU_ANGLE_H
#define TU_ANGLE_H

#include "signal/window.h"

/* Wraps the mean of every channel with wrap[channel] != 0 (as in tu_config). */
void tu_angle_wrap_window(const int32_t *wrap, int channels, int poly, const tu_fit *fit);

/* A state or input of a model, wrapped like its windows if it is such an angle. */
tu_real tu_angle_wrap_state(const tu_config *config, const tu_real *x, const tu_real *u, int column);

#endif
