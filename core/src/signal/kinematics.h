/* Angle/rate fusion: where an angle and its rate are both sensed, theta' = omega holds exactly, and each sensor
 * corrects the other's weakness. Two steps:
 *
 * Shape. The rate's polynomial, integrated, is a second estimate of the angle's polynomial except its mean. With L_j
 * integrated to (L_{j+1} - L_{j-1}) / (2 j + 1), coefficient k of the integral is T (w_{k-1} / (2 k - 1) - w_{k+1} / (2
 * k + 3)) for a half width of T seconds. The weights follow from the noise variance of coefficient k of a fit, (2 k +
 * 1) sigma^2 / samples.
 *
 * Mean. A complementary filter propagates the angle by the rate, beyond the window:
 *
 *     theta <- theta + omega dt,  theta <- theta + gain (sensed - theta),  gain = sigma_omega dt / sigma_theta
 *
 * Its variance is gain * sigma_theta^2; that of a window's mean is sigma_theta^2 / samples. If the former is smaller,
 * the carried angle, moved back by T (w_0 + w_1 / 3) from the newest sample to the window's mean, replaces that mean.
 */
#ifndef TU_KINEMATICS_H
#define TU_KINEMATICS_H

#include "signal/window.h"

typedef struct {
    tu_real *angle; /* carried angle of each channel, at the newest sample */
    tu_real *count; /* samples used for it; 0: none yet */
    tu_real *rate;  /* at that sample */
} tu_kinematics;

void tu_kinematics_carve(tu_kinematics *kinematics, tu_arena *arena, const tu_config *config);

/* Clears the carried angles: the next sample does not follow the last one, or the motion jumped. */
void tu_kinematics_clear(tu_kinematics *kinematics, const tu_config *config);

/* Takes the ring's newest `count` samples, which follow those of the last call; sigma by channel. */
void tu_kinematics_push(tu_kinematics *kinematics, const tu_config *config, const tu_window *window,
                        const tu_real *sigma, const tu_ring *ring, int count);

/* Fuses the fit of the newest window; sigma by channel. */
void tu_kinematics_fuse(tu_kinematics *kinematics, const tu_config *config, const tu_window *window,
                        const tu_real *sigma, const tu_fit *fit);

/* Cross-check of sensors: whether each sensed rate is the slope of its angle, within noise and a share of the rate. */
int tu_kinematics_consistent(const tu_config *config, const tu_window *window, const tu_real *sigma, tu_real scale,
                             const tu_fit *fit);

/* The functions that a learner calls. Without this table they are not linked (tinyude.h). */
struct tu_fusion_part {
    void (*push)(tu_kinematics *kinematics, const tu_config *config, const tu_window *window, const tu_real *sigma,
                 const tu_ring *ring, int count);
    void (*fuse)(tu_kinematics *kinematics, const tu_config *config, const tu_window *window, const tu_real *sigma,
                 const tu_fit *fit);
    int (*consistent)(const tu_config *config, const tu_window *window, const tu_real *sigma, tu_real scale,
                      const tu_fit *fit);
};

#endif
