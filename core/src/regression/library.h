/* Sparse library regression: running sums over all accepted windows, and the few terms that rise above the noise.
 *
 * Each block of windows goes to one of several groups, each with its own sums. Leaving one group out at a time gives
 * every coefficient its jackknife error, whatever the noise is like and however much windows overlap; a term stays when
 * it exceeds that error by the threshold.
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
    tu_real *coefficients; /* 0 for a term that is out */
    tu_real *errors;       /* jackknife standard errors */
    tu_real *moved;        /* the coefficients before the last solution; then what it added to them */
    uint32_t held;         /* windows in the sums, by the weight of those to come */
    uint32_t blocks;       /* blocks since the last clear */
    int windows;           /* windows in the current block */
    int deficient;         /* forced columns that the data cannot tell apart */
    int solved;
} tu_library;

/* Where a solution is worked out: memory that is free between windows. */
typedef struct {
    int count;  /* columns chosen so far */
    int stage;  /* of a solution that is under way, */
    int kept;   /* its forced columns that the data tell apart, */
    int group;  /* the group left out next, -1: none is, */
    int filled; /* and how many were left out so far */
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

/* One window: `outputs` rows of parameters + terms numbers, and for each a target, in units of that state's scale, and
 * what is left of it for the library.
 */
void tu_library_add(tu_library *library, const tu_real *design, const tu_real *left, const tu_real *target);

/* Column that entry `index` of the row of residual state `output` stands for. */
TU_INLINE int tu_library_column(const tu_library *library, int output, int index)
{
    return index < library->parameters ? index : index + output * library->terms;
}

/* The library's share of a residual, from its row of the design, with these coefficients. */
tu_real tu_library_dot(const tu_library *library, int output, const tu_real *row, const tu_real *coefficients);

/* Closes the current block. forget: windows after which older ones count 1 / e; 0: all count alike. */
void tu_library_end_block(tu_library *library, int forget);

/* Lets every window so far count as `weight` windows to come: the noise has changed by that factor of variance. */
void tu_library_weigh(tu_library *library, tu_real weight);

/* Forgets the data, keeps the model until there is a better one. */
void tu_library_clear(tu_library *library);

/* Chooses terms forward by what they explain, prunes backward by their jackknife error. 0: too little data. */
int tu_library_solve(tu_library *library, tu_library_work *memory, int forced, tu_real threshold);

/* The same in slices: begin, then slices while they return 1. 0: it is solved; -1: too little data. */
void tu_library_solve_begin(tu_library_work *work);
int tu_library_solve_slice(tu_library *library, tu_library_work *work, int forced, tu_real threshold);

#endif
