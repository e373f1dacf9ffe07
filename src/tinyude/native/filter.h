/* The pass of refinement: an extended Kalman filter with sensitivities over stretches of measured rows.
 *
 * Host only. The equations and their reference are in tinyude/refinement/filter.py; the results agree to rounding.
 * Every stretch is a computation of its own: ranges of stretches may run in threads at once, each with its own
 * workspace, and give the same numbers.
 */
#ifndef TU_FILTER_H
#define TU_FILTER_H

#include "tape.h"

#define TU_FILTER_STATES 16
#define TU_FILTER_UNKNOWNS 256
#define TU_FILTER_JUMP 4 /* rejected rows in a row, after which the state is taken to have jumped */

/* Tapes take the states, then the inputs and the unknowns side by side as their inputs. */
typedef struct tu_filter {
    int32_t states;
    int32_t inputs;
    int32_t unknowns;
    int32_t channels;
    const tu_tape *value;       /* dx/dt */
    const tu_tape *slopes;      /* dx/dt, then the derivatives that are not 0 */
    const int32_t *entries;     /* [derivatives][2]: row and column; columns are the states, then the unknowns */
    const int32_t *measured;    /* [channels]: the state that each senses */
    const tu_real *values;      /* [unknowns] */
    const tu_real *measurement; /* [channels]: variances */
    const tu_real *process;     /* [states]: variances a second */
    tu_real longest_step;       /* s */
    tu_real gate;               /* standard deviations beyond which a row is not used; 0: none */
    const tu_real *widen;       /* [states]: variance added after a jump, so that the filter finds the state again */
    int32_t sensitivities;      /* form information and gradient */
    int32_t frozen;             /* take variances and gains as given; only the innovations are new */
} tu_filter;

/* Stretch k has the rows offsets[k] to offsets[k + 1] - 1. */
typedef struct tu_filter_data {
    const int64_t *offsets;
    const tu_real *times;           /* [rows] */
    const tu_real *samples;         /* [rows][channels], NaN for missing */
    const tu_real *inputs;          /* [rows][inputs][4]: polynomial to the next row */
    const tu_real *starts;          /* [stretches][states] */
    const tu_real *start_variances; /* [stretches][states] */
} tu_filter_data;

/* Sums must be 0 at the beginning. */
typedef struct tu_filter_result {
    tu_real *information; /* [stretches][unknowns][unknowns] */
    tu_real *gradient;    /* [stretches][unknowns] */
    tu_real *squares;     /* [stretches][channels]; NaN when the model ran away */
    tu_real *logs;
    tu_real *counts;
    tu_real *innovations; /* [rows][channels] */
    tu_real *variances;
    tu_real *gains;           /* [rows][channels][states] */
    tu_real *states;          /* [rows][states] */
    tu_real *state_variances; /* [rows][states] */
    tu_real *covariances;     /* [rows][states][states] after the row's correction; NULL: not wanted */
    tu_real *transitions;     /* [rows][states][states] from the row before to this one; with covariances */
} tu_filter_result;

/* Numbers that one thread's workspace must hold. */
size_t tu_filter_workspace(const tu_filter *filter);

/* Stretches first to last - 1. */
void tu_filter_pass(const tu_filter *filter, const tu_filter_data *data, int64_t first, int64_t last,
                    tu_real *workspace, tu_filter_result *result);

/* States given all rows of their stretch, and their variances, from a pass that kept covariances and transitions:
 * the modified Bryson-Frazier smoother, which inverts nothing. Workspace: 2 states^2 + 2 states numbers.
 */
void tu_filter_smooth(const tu_filter *filter, const tu_filter_data *data, const tu_filter_result *result,
                      int64_t first, int64_t last, tu_real *workspace, tu_real *states, tu_real *variances);

#endif
