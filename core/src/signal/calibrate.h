/* Calibration at the start of the stream: noise, scales and window length (paper eqs. dt_opt, snrgate). */
#ifndef TU_CALIBRATE_H
#define TU_CALIBRATE_H

#include "paper/median_gate.h"
#include "paper/taps.h"
#include "signal/setup.h"

typedef struct {
    int candidates; /* windows, shortest first */
    uint32_t *tried;
    uint32_t *passed;
    tu_real *squares;       /* candidates x 3 x states: sums of squares of x, dx, ddx over passed windows */
    tu_real *input_squares; /* sums over all tried windows' newest samples */
    tu_real excess;         /* mean log of misfit over noise, shortest candidate */
    tu_real level;          /* upper decile of that log for a short candidate, a running estimate */
    uint32_t level_windows; /* windows in that estimate */
    int next;               /* candidate tried next */
    int watched;            /* windows since the last check of the rejected share */
    int rejected;           /* those with a misfit or a jump */
    int quiet;              /* those with far less misfit than expected */
} tu_calibration;

/* A candidate window under test. */
typedef struct {
    int index;
    int made;
    tu_window window;
    tu_window_work work;
} tu_candidate;

void tu_calibrate_carve(tu_calibration *cal, tu_setup *setup, tu_arena *arena, const tu_config *config);

/* x_hat, dx_hat, ddx_hat of every state at the window's centre (eqs. x_hat to ddx_hat): 3 x states. */
void tu_window_jets(const tu_config *config, const tu_window *window, const tu_real *coefficients, tu_real *jets);

/* Starts a candidate; tu_window_make_slice makes its window. -1: the longest. */
void tu_calibrate_candidate(const tu_calibration *cal, const tu_config *config, int index, tu_candidate *candidate);

/* Tries one candidate on the newest samples, a different one each time: begin, and if it returns 1, slices while they
 * return 1. The newest `clean` samples are all valid. fit and jets (3 x states) are working memory.
 */
int tu_calibrate_begin(tu_calibration *cal, const tu_config *config, int clean, tu_candidate *candidate);
int tu_calibrate_window_slice(tu_calibration *cal, const tu_config *config, const tu_ring *ring, const tu_noise *noise,
                              tu_median_gate *gate, tu_candidate *candidate, const tu_fit *fit, tu_real *jets);

/* Clears the results of all candidates. */
void tu_calibrate_clear(tu_calibration *cal, const tu_config *config);

/* Index of the longest window that nearly always passes, and the factor on sigma. */
int tu_calibrate_choose(const tu_calibration *cal, const tu_config *config, tu_real *sigma_scale);

/* Sets the scales from the windows of the chosen candidate, and what tu_taps_finish adds. */
void tu_calibrate_finish(const tu_calibration *cal, const tu_config *config, const tu_noise *noise, int index,
                         tu_taps_rule rule, tu_setup *setup);

/* Counts the outcome of a window. Returns 1 if the stream needs a different window: most windows were rejected for some
 * time (faster motion, or a worse sensor), or most were `quiet`, with far less misfit than the noise explains. A
 * recalibration keeps the scales, because the model is in units of them.
 */
int tu_calibrate_watch(tu_calibration *cal, int reason, int quiet);

/* Whether the motion measured by the scales exceeds the noise: in every channel of a sensed state, and in the
 * derivative of every state from the longest window.
 */
int tu_calibrate_signal(const tu_config *config, const tu_noise *noise, const tu_scales *scales,
                        const tu_window *longest);

#endif
