/* Free runs on the host: the Dormand-Prince 5(4) pair with step control, over a field given as a tape.
 *
 * Without inputs a step may pass several output rows, which come from the fourth-order interpolant. With inputs a step
 * ends at the next row, because an input may jump there. A call does a bounded number of steps, so that the caller can
 * handle interrupts or show progress between calls.
 */
#ifndef TU_SIMULATE_H
#define TU_SIMULATE_H

#include "tape.h"

#define TU_RUN_CONTINUES 0
#define TU_RUN_DONE 1
#define TU_RUN_DIVERGED 2

/* The field's inputs: u, then the angles again, wrapped to half a revolution around 0. */
typedef struct tu_simulation {
    const tu_tape *field;
    int32_t states;
    int32_t inputs;
    int32_t angles_count;
    const int32_t *angles; /* [angles_count] states */
    int64_t rows;
    const tu_real *times; /* [rows], increasing */
    tu_real relative;     /* tolerance of a step, relative to the state's size */
    tu_real absolute;     /* the same, relative to its scale */
    const tu_real *scale; /* [states] typical sizes */
    tu_real shortest;     /* a step this short is accepted with any error, if it is also short for the dynamics */
    const tu_real
        *inputs_at;        /* [rows][inputs][4]: polynomial in 0 to 1 from each row to the next; NULL without inputs */
    int64_t inputs_stride; /* numbers from one run's inputs to the next's; 0: all runs share them */
} tu_simulation;

/* State of a run between calls; starts with row 0, time times[0], step 0, fastest 0, status TU_RUN_CONTINUES. */
typedef struct tu_run {
    int64_t row; /* the last one written */
    tu_real time;
    tu_real step;
    tu_real fastest; /* largest slope of a state relative to its scale so far */
    int32_t status;
    int32_t known_slope; /* the workspace holds the slope at `time` */
} tu_run;

/* Size of the workspace of one call, in numbers. */
size_t tu_simulate_workspace(const tu_simulation *simulation);

/* Continues run `index` for at most `steps` steps; returns how many were taken. x[states] is its current state;
 * out[rows][states] is filled up to run->row. Beyond limit[states] the run counts as diverged.
 */
int64_t tu_simulate(const tu_simulation *simulation, int64_t index, tu_run *run, const tu_real *limit, int64_t steps,
                    tu_real *workspace, tu_real *x, tu_real *out);

#endif
