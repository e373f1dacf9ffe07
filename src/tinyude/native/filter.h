/* The filter pass of refinement: an extended Kalman filter with sensitivities over stretches of measured rows.
 *
 * Host only. The equations and their reference are in tinyude/refinement/filter.py; the results agree to rounding.
 * Stretches are independent: ranges of stretches may run in parallel threads, each with its own workspace, with the
 * same results.
 */
#ifndef TU_FILTER_H
#define TU_FILTER_H

#include "tape.h"

#define TU_FILTER_STATES 16
#define TU_FILTER_UNKNOWNS 256
#define TU_FILTER_JUMP 4 /* consecutive rejected rows after which the state is assumed to have jumped */

/* Arguments of the tapes: states, then inputs and unknowns side by side. */
typedef struct tu_filter {
    int32_t states;
    int32_t inputs;
    int32_t unknowns;
    int32_t channels;
    const tu_tape *value;       /* dx/dt */
    const tu_tape *slopes;      /* dx/dt, then the nonzero derivatives */
    const int32_t *entries;     /* [derivatives][2]: row and column; columns are the states, then the unknowns */
    const int32_t *measured;    /* [channels]: the state that each measures */
    const tu_real *values;      /* [unknowns] */
    const tu_real *measurement; /* [channels]: variances */
    const tu_real *process;     /* [states]: variances per second */
    tu_real longest_step;       /* s */
    tu_real gate;               /* standard deviations beyond which a row is not used; 0: no gate */
    const tu_real *widen;       /* [states]: variance added after a jump, so that the filter converges again */
    int32_t sensitivities;      /* compute information and gradient */
    int32_t frozen;             /* use the given variances and gains; compute only the innovations */
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

/* Sums must be 0 before the first pass. */
typedef struct tu_filter_result {
    tu_real *information; /* [stretches][unknowns][unknowns] */
    tu_real *gradient;    /* [stretches][unknowns] */
    tu_real *squares;     /* [stretches][channels]; NaN if the model diverged */
    tu_real *logs;
    tu_real *counts;
    tu_real *innovations; /* [rows][channels] */
    tu_real *variances;
    tu_real *gains;           /* [rows][channels][states] */
    tu_real *states;          /* [rows][states] */
    tu_real *state_variances; /* [rows][states] */
    tu_real *covariances;     /* [rows][states][states] after the row's correction; NULL: not computed */
    tu_real *transitions;     /* [rows][states][states] from the row before to this one; with covariances */
} tu_filter_result;

/* Size of one thread's workspace, in numbers. */
size_t tu_filter_workspace(const tu_filter *filter);

/* Runs stretches first to last - 1. */
void tu_filter_pass(const tu_filter *filter, const tu_filter_data *data, int64_t first, int64_t last,
                    tu_real *workspace, tu_filter_result *result);

/* States given all rows of their stretch, and their variances (NULL: not computed), from a pass that kept covariances
 * and transitions: the modified Bryson-Frazier smoother, which needs no matrix inverse. Innovations and states may be
 * those of a frozen pass. Workspace: 2 states^2 + 2 states numbers.
 */
void tu_filter_smooth(const tu_filter *filter, const tu_filter_data *data, const tu_filter_result *result,
                      int64_t first, int64_t last, tu_real *workspace, tu_real *states, tu_real *variances);

#endif
