#include "signal/repair.h"

#include "numeric/elementary.h"
#include "numeric/finite.h"

enum { REACH = 4, ROWS = 2 * REACH + 1 };
static const tu_real OUTLIER = TU_R(7.0); /* sigmas; a pair median is itself uncertain by about half a sigma */
static const tu_real BENT = TU_R(3.0);    /* times the spread of the middle pairs: allowance for curvature */

static const tu_real ALONE = TU_R(0.6); /* share of that limit by which it must differ from both neighbours */

void tu_repair_carve(tu_repair *repair, tu_arena *arena, int columns)
{
    repair->rows = tu_arena_reals(arena, ROWS * columns);
    repair->columns = columns;
    tu_repair_clear(repair);
}

void tu_repair_clear(tu_repair *repair) { repair->held = 0; }

static tu_real pair_mean(const tu_real *column, int j) { return TU_R(0.5) * (column[REACH - j] + column[REACH + j]); }

/* Median over the complete pairs, and the distance of the middle two. Returns 0 if there is none. */
static int pair_median(const tu_real *column, int held, tu_real *median, tu_real *spread)
{
    tu_real pairs[REACH];
    int count = 0;
    for (int j = 1; j <= REACH && REACH - j >= ROWS - held; j++) {
        if (tu_usable(column[REACH - j]) && tu_usable(column[REACH + j])) {
            tu_real mean = pair_mean(column, j);
            int place = count++;
            for (; place > 0 && pairs[place - 1] > mean; place--) {
                pairs[place] = pairs[place - 1];
            }
            pairs[place] = mean;
        }
    }
    if (count > 0) {
        tu_real low = pairs[(count - 1) / 2], high = pairs[count / 2];
        *median = TU_R(0.5) * (low + high);
        *spread = high - low;
    }
    return count > 0;
}

/* Within the limit of every pair, hence of their median: the usual case, found without sorting. */
static int near_all(const tu_real *column, tu_real limit)
{
    for (int j = 1; j <= REACH; j++) {
        if (!(tu_abs(column[REACH] - pair_mean(column, j)) <= limit)) {
            return 0;
        }
    }
    return 1;
}

/* Whether the middle differs from both neighbours in the same direction: a level shift agrees with one of them. */
static int stands_out(const tu_real *column, tu_real limit)
{
    tu_real before = column[REACH] - column[REACH - 1], after = column[REACH] - column[REACH + 1];
    int high = (before > limit || !tu_usable(column[REACH - 1])) && (after > limit || !tu_usable(column[REACH + 1]));
    int low = (before < -limit || !tu_usable(column[REACH - 1])) && (after < -limit || !tu_usable(column[REACH + 1]));
    return high || low;
}

/* Decides the middle of a column; limit < 0 while outliers cannot be detected. */
static int decide(tu_real *column, int held, tu_real limit)
{
    tu_real median, spread;
    int usable = tu_usable(column[REACH]);
    if (usable && (limit < 0 || (held == ROWS && near_all(column, limit)))) {
        return 0;
    }
    if (!pair_median(column, held, &median, &spread) ||
        (usable && !(tu_abs(column[REACH] - median) > limit + BENT * spread && stands_out(column, ALONE * limit)))) {
        return 0;
    }
    column[REACH] = median;
    return usable ? TU_REPLACED : TU_FILLED;
}

int tu_repair_push(tu_repair *repair, const tu_real *sigma, tu_real scale, int channels, tu_real *row)
{
    int done = TU_DECIDED;
    repair->held += repair->held < ROWS;
    for (int c = 0; c < repair->columns; c++) {
        tu_real *column = repair->rows + c * ROWS;
        for (int i = 1; i < ROWS; i++) {
            column[i - 1] = column[i];
        }
        column[ROWS - 1] = row[c];
        if (repair->held > REACH) {
            done |= decide(column, repair->held, sigma && c < channels ? OUTLIER * (sigma[c] * scale) : -1);
            row[c] = column[REACH];
        }
    }
    return repair->held > REACH ? done : TU_WAITING;
}
