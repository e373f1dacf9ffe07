/* Repair of single bad samples: a dropout is filled, an outlier replaced, from the pairs around it.
 *
 * (y[-j] + y[+j]) / 2 predicts y[0] exactly for a straight line; the median of several such pairs is robust to a bad
 * one. The cost is a delay of REACH ticks. Longer outages are marked, and no window includes them.
 */
#ifndef TU_REPAIR_H
#define TU_REPAIR_H

#include "numeric/arena.h"

typedef struct {
    tu_real *rows; /* columns x (2 REACH + 1): oldest first, the middle one is decided next */
    int columns;
    int held; /* rows in use */
} tu_repair;

enum tu_repaired { TU_WAITING = 0, TU_DECIDED = 1, TU_FILLED = 2, TU_REPLACED = 4 }; /* flags */

void tu_repair_carve(tu_repair *repair, tu_arena *arena, int columns);

void tu_repair_clear(tu_repair *repair);

/* Stores `row`, and replaces it by the row REACH ticks old. Returns flags: whether there was one, and how it was
 * repaired.
 *
 * A column that cannot be filled is unchanged. sigma x scale is the noise of the first `channels` columns; sigma is
 * NULL until the noise is known.
 */
int tu_repair_push(tu_repair *repair, const tu_real *sigma, tu_real scale, int channels, tu_real *row);

#endif
