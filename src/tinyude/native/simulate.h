/* Free runs on the host: Dormand and Prince's pair of orders 5 and 4 with step control, over a field that is a tape.
 *
 * Without inputs a step may pass over many output rows, which come from the fourth-order interpolant; with inputs a
 * step ends where the next row begins, because an input may jump there. A call does a bounded number of steps, so that
 * the caller can look for an interrupt or show progress between two of them.
 */
#ifndef TU_SIMULATE_H
#define TU_SIMULATE_H

#include "tape.h"

#define TU_RUN_GOING 0
#define TU_RUN_DONE 1
#define TU_RUN_DIVERGED 2

/* The field's inputs: u, then the angles once more, within half a turn of 0. */
typedef struct tu_simulation {
    const tu_tape *field;
    int32_t states;
    int32_t inputs;
    int32_t angles_count;
    const int32_t *angles; /* [angles_count] states */
    int64_t rows;
    const tu_real *times; /* [rows], rising */
    tu_real relative;     /* tolerance of a step, of the state's size */
    tu_real absolute;     /* the same, of its scale */
    const tu_real *scale; /* [states] typical size of each */
    tu_real shortest;     /* a step this short is taken whatever its error, if it is short for the dynamics too */
    const tu_real
        *inputs_at;        /* [rows][inputs][4]: polynomial in 0 to 1 from each row to the next; NULL without inputs */
    int64_t inputs_stride; /* numbers from one run's inputs to the next's; 0: all runs share them */
} tu_simulation;

/* A run between two calls; begins with row 0, time times[0], step 0, fastest 0, status TU_RUN_GOING. */
typedef struct tu_run {
    int64_t row; /* the last one written */
    tu_real time;
    tu_real step;
    tu_real fastest; /* largest slope of a state over its scale so far */
    int32_t status;
    int32_t known_slope; /* the workspace holds the slope at `time` */
} tu_run;

/* Numbers that the workspace of one call must hold. */
size_t tu_simulate_workspace(const tu_simulation *simulation);

/* Goes on with run `index` for at most `steps` steps; returns how many were taken.
 * x[states] is where it is; out[rows][states] is filled up to run->row. Beyond limit[states] it has diverged.
 */
int64_t tu_simulate(const tu_simulation *simulation, int64_t index, tu_run *run, const tu_real *limit, int64_t steps,
                    tu_real *workspace, tu_real *x, tu_real *out);

#endif
