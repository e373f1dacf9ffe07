/* Sparse library regression: running sums over all accepted windows, and the few terms that exceed the noise.
 *
 * Each block of windows goes to one of several groups, each with its own sums. Leaving one group out at a time gives
 * every coefficient its jackknife error, for any noise distribution and any overlap of windows. A term is kept if it
 * exceeds that error by the threshold.
 *
 * Columns: parameters, which every residual state shares, then the terms of each residual state. A window gives one row
 * for each residual state, which is 0 outside the parameters and its own terms: rows hold only those, and sums of
 * products between terms of different states, always 0, are not stored.
 */
#ifndef TU_LIBRARY_H
#define TU_LIBRARY_H

#include "numeric/arena.h"

typedef struct {
    int groups;
    int outputs; /* residual states */
    int parameters;
    int terms;
    int columns;
    int size;              /* numbers in one group's sums */
    tu_real *sums;         /* groups x size: lower triangle row by row, the target last */
    tu_real *coefficients; /* 0 for a term that is not selected */
    tu_real *errors;       /* jackknife standard errors */
    tu_real *moved;        /* the coefficients before the last solution; then their change */
    uint32_t held;         /* windows in the sums, in units of a new window's weight */
    uint32_t blocks;       /* blocks since the last clear */
    int windows;           /* windows in the current block */
    int deficient;         /* forced columns that the data cannot distinguish */
    int solved;
} tu_library;

/* Working memory of a solution; shared with others between windows. */
typedef struct {
    int count;  /* columns chosen so far */
    int stage;  /* stage of the solution */
    int kept;   /* forced columns that the data can distinguish */
    int group;  /* group left out next; -1: none */
    int filled; /* groups left out so far */
    int32_t *chosen;
    tu_real *total;    /* sums over all groups */
    tu_real *factor;   /* Cholesky factor of the chosen columns' sums */
    tu_real *answer;   /* L^-1 of their products with the target */
    tu_real *row;      /* L^-1 of their products with one more column */
    tu_real *rest;     /* a factor with one group left out */
    tu_real *left_out; /* groups x chosen: solutions without that group */
    tu_real *solution;
    tu_real *errors;
} tu_library_work;

void tu_library_carve(tu_library *library, tu_arena *arena, const tu_config *config);

void tu_library_work_carve(tu_library_work *work, tu_arena *arena, const tu_library *library, int forced);

/* Adds one window: `outputs` rows of parameters + terms numbers, and for each a target, in units of that state's scale,
 * and its remainder for the library.
 */
void tu_library_add(tu_library *library, const tu_real *design, const tu_real *left, const tu_real *target);

/* Column of entry `index` in the row of residual state `output`. */
TU_INLINE int tu_library_column(const tu_library *library, int output, int index)
{
    return index < library->parameters ? index : index + output * library->terms;
}

/* The library's part of a residual: its row of the design times these coefficients. */
tu_real tu_library_dot(const tu_library *library, int output, const tu_real *row, const tu_real *coefficients);

/* Closes the current block. forget: windows after which the weight of older ones falls to 1 / e; 0: equal weights. */
void tu_library_end_block(tu_library *library, int forget);

/* Gives every window so far the weight of `weight` new windows: the noise variance has changed by that factor. */
void tu_library_weigh(tu_library *library, tu_real weight);

/* Clears the data; keeps the model until the next solution. */
void tu_library_clear(tu_library *library);

/* Selects terms forward by explained share, prunes backward by jackknife error. Returns 0 if there is too little data.
 */
int tu_library_solve(tu_library *library, tu_library_work *memory, int forced, tu_real threshold);

/* The same in slices: begin, then slices while they return 1. 0: solved; -1: too little data. */
void tu_library_solve_begin(tu_library_work *work);
int tu_library_solve_slice(tu_library *library, tu_library_work *work, int forced, tu_real threshold);

#endif
