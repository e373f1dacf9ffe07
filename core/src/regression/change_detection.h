/* Change detection: do the dynamics still follow the library's model?
 *
 * Each block of windows scores every column by the sum of column times innovation. Two blocks in a row that contradict
 * the model the same way raise an alarm. That may be a change, or a library without the right term in a region that is
 * new: in the trial that follows, each window is compared with the stored one nearest to its state. The answer of a
 * network that the library learns beside counts as a column, too: the terms may not say what changed.
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
    tu_real *energy;     /* the same over all its parts */
    tu_real *moments[3]; /* sums over its parts of score^2, score * part, part^2 */
    tu_real matched_target; /* squared targets of the trial */
    uint32_t matched;       /* windows of the trial with a stored neighbour, */
    uint32_t compared;      /* of so many */
    int trial;              /* blocks left of the trial that an alarm starts; 0: there is none */
    uint32_t scored;        /* blocks in `usual` */
} tu_change;

void tu_change_carve(tu_change *change, tu_arena *arena, int columns);

/* Forgets what was usual. */
void tu_change_clear(tu_change *change);

/* One window, as tu_library_add has it. */
void tu_change_add(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target);

/* A search for a neighbour that is under way; all 0 at first. */
typedef struct {
    uint32_t next;    /* entry to be looked at */
    uint32_t nearest; /* one more than the nearest so far; 0: none is near */
    tu_real least;    /* its squared distance */
} tu_search;

/* The stored entry nearest to `here` in columns first .. first + columns - 1, of which those count that config->sees
 * names: a state that may go anywhere has no neighbours. In slices: while they return 1. there (columns) is working
 * memory.
 */
int tu_change_nearest_slice(tu_search *search, const tu_reservoir *store, const tu_real *here, int first, int columns,
                            const tu_config *config, tu_real *there);

/* A window of the trial against its stored neighbour. difference: of their remainders, by residual state; NULL: none.
 */
void tu_change_compare(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target,
                       const tu_real *difference);

/* Closes a part of a block: in a trial each part counts as one observation. */
void tu_change_end_part(tu_change *change);

/* Closes a block; `solved`: there is a model to contradict. 1: the dynamics have changed. */
int tu_change_end_block(tu_change *change, int solved);

#endif
