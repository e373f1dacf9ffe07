/* Change detection: do the dynamics still follow the library's model?
 *
 * Each block of windows scores every column by the sum of column times innovation. Two blocks in a row that contradict
 * the model with the same sign raise an alarm. The cause may be a change, or a missing library term in a new region. In
 * the trial that follows, each window is therefore compared with the stored one nearest to its state, stored before the
 * first block that contradicted the model: later ones may follow the new dynamics. The output of a network fitted
 * together with the library counts as a column, too: the terms may not represent the change.
 */
#ifndef TU_CHANGE_DETECTION_H
#define TU_CHANGE_DETECTION_H

#include "network/reservoir.h"
#include "regression/library.h"

typedef struct {
    int columns;
    tu_real *score;      /* column times innovation over the current block; in a trial, times difference over a part */
    tu_real *usual;      /* mean square of past scores */
    tu_real *last;       /* the previous block's score, in units of its usual size; in a trial, its score */
    tu_real *part;       /* squared columns over the current part of the trial */
    tu_real *energy;     /* the same over all parts */
    tu_real *moments[3]; /* sums over its parts of score^2, score * part, part^2 */
    tu_real matched_target; /* squared targets of the trial */
    uint32_t matched;       /* windows of the trial with a stored neighbour */
    uint32_t compared;      /* windows of the trial */
    int trial;              /* blocks left of the trial after an alarm; 0: no trial */
    int settled;            /* the last block did not contradict the model: what is stored is the past */
    uint32_t scored;        /* blocks in `usual` */
} tu_change;

void tu_change_carve(tu_change *change, tu_arena *arena, int columns);

/* Clears the usual scores. */
void tu_change_clear(tu_change *change);

/* Adds one window; arguments as in tu_library_add. */
void tu_change_add(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target);

/* State of a neighbour search; all 0 at the start. */
typedef struct {
    uint32_t next;    /* entry searched next */
    uint32_t nearest; /* 1 + index of the nearest so far; 0: none is near */
    tu_real least;    /* its squared distance */
} tu_search;

/* Finds the stored entry nearest to `here`, not of the blocks that contradicted the model, in columns first .. first +
 * columns - 1, of which only those in config->sees count: an unbounded state would have no neighbours. In slices: call
 * again while it returns 1. there (columns) is working memory.
 */
int tu_change_nearest_slice(tu_search *search, const tu_reservoir *store, const tu_real *here, int first, int columns,
                            const tu_config *config, tu_real *there);

/* Compares a window of the trial with its stored neighbour. difference: of their remainders, by residual state; NULL:
 * no neighbour.
 */
void tu_change_compare(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target,
                       const tu_real *difference);

/* Closes a part of a block: in a trial each part counts as one observation. */
void tu_change_end_part(tu_change *change);

/* Closes a block; `solved`: there is a model to test. Returns 1 if the dynamics have changed. */
int tu_change_end_block(tu_change *change, int solved);

#endif
