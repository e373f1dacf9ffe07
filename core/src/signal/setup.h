/* Result of a calibration: window, scales, noise factor. */
#ifndef TU_SETUP_H
#define TU_SETUP_H

#include "signal/window.h"

typedef struct {
    tu_real *x;   /* RMS of each state; `u` follows directly, so that x divides a row of states and inputs */
    tu_real *u;   /* RMS of each input */
    tu_real *dx;  /* s1 */
    tu_real *ddx; /* s2 */
} tu_scales;

typedef struct {
    tu_window window;
    tu_scales scales;
    tu_real second_order; /* weight of the second-order term */
    tu_real sigma_scale;  /* a factor on sigma where the noise is not white */
    tu_real snr2;         /* signal-to-noise ratio of the second derivative, the worst channel (eq. snr2_def) */
} tu_setup;

#endif
