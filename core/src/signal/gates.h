/* Which windows may teach: every refusal has a reason and is counted. */
#ifndef TU_GATES_H
#define TU_GATES_H

#include "signal/noise.h"
#include "signal/window.h"

#define TU_ACCEPTED (-1) /* beside enum tu_reason */
#define TU_STUCK_RUN 16  /* identical samples in a row where the noise should have moved them */

typedef struct {
    uint32_t rejected[TU_REASONS];
    int channels;
    int kept;        /* norms in `recent` */
    int next;        /* slot written next */
    tu_real *recent; /* channels x RECENT misfit norms, oldest overwritten */
    uint8_t *order;  /* channels x RECENT: their slots, the smallest first */
} tu_gates;

/* The running median's memory only where it is `used`. */
void tu_gates_carve(tu_gates *gates, tu_arena *arena, int channels, int used);

/* The paper's gate (eq. qgate): misfit against the running median of recent windows.
 * Six medians of eleven residuals let a jump through at 5 % noise, so the noise's own limit (sigma x scale) caps them.
 */
int tu_gates_median(tu_gates *gates, const tu_window *window, const tu_ring *ring, const tu_fit *fit,
                    const tu_noise *noise, tu_real scale);

/* Residuals against the noise: their total (chi-square) and their sums over segments, which see a step or a kink.
 * Where the sensor's own steps are the noise, its error hardly changes from sample to sample, and segment sums are
 * allowed what such an error adds up to.
 */
int tu_gates_noise(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale);

#endif
