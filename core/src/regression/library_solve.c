#include "numeric/cholesky.h"
#include "numeric/elementary.h"
#include "numeric/statistics.h"
#include "regression/library_sums.h"

#include <float.h>

enum { MAX_CHOSEN = 12 };                    /* beyond the forced ones */
enum { MIN_GROUPS = 6 };                     /* minimum number of filled groups for a jackknife error */
static const tu_real WORTH = TU_R(1e-8);     /* share of the squared target below which a term is not chosen */
static const tu_real COLLINEAR = TU_R(1e-3); /* share of a column that must be new for it to be chosen */
#ifdef TU_REAL_DOUBLE
static const tu_real DEPENDENT = TU_R(1e-7); /* the same for forced columns */
#else
static const tu_real DEPENDENT = TU_R(1e-5); /* limited by float32 sums */
#endif

void tu_library_work_carve(tu_library_work *work, tu_arena *arena, const tu_library *library, int forced)
{
    int most = forced + MAX_CHOSEN < library->columns ? forced + MAX_CHOSEN : library->columns;
    int packed = tu_packed(most);
    work->count = 0;
    work->chosen = tu_arena_ints(arena, most);
    work->total = tu_arena_reals(arena, library->size);
    work->factor = tu_arena_reals(arena, packed);
    work->answer = tu_arena_reals(arena, most);
    work->row = tu_arena_reals(arena, most);
    work->rest = tu_arena_reals(arena, packed);
    work->left_out = tu_arena_reals(arena, library->groups * most);
    work->solution = tu_arena_reals(arena, most);
    work->errors = tu_arena_reals(arena, most);
}

static int group_filled(const tu_library *library, int group)
{
    return library->sums[(group + 1) * library->size - 1] > 0;
}

/* Sums over all groups. Returns how many are filled. */
static int add_groups(const tu_library *library, tu_real *total)
{
    int filled = 0;
    for (int i = 0; i < library->size; i++) {
        total[i] = 0;
        for (int group = 0; group < library->groups; group++) {
            total[i] += library->sums[group * library->size + i];
        }
    }
    for (int group = 0; group < library->groups; group++) {
        filled += group_filled(library, group);
    }
    return filled;
}

/* What a column adds to the chosen ones: its new part, that of its product with the target, and work->row. */
typedef struct {
    tu_real left;
    tu_real cross;
    int is_new;
} addition;

static addition consider(const tu_library *library, const tu_library_work *work, int column, tu_real novelty)
{
    tu_real norm = tu_sums_at(library, work->total, column, column);
    addition add = {norm, tu_sums_at(library, work->total, column, library->columns), 0};
    for (int i = 0; i < work->count; i++) {
        work->row[i] = tu_sums_at(library, work->total, column, work->chosen[i]);
    }
    tu_cholesky_forward(work->count, work->factor, work->row);
    for (int i = 0; i < work->count; i++) {
        add.left -= work->row[i] * work->row[i];
        add.cross -= work->row[i] * work->answer[i];
    }
    add.is_new = add.left > novelty * norm;
    return add;
}

/* Appends the column just considered. */
static void choose(tu_library_work *work, int column, const addition *add)
{
    tu_real *row = work->factor + tu_packed(work->count);
    for (int i = 0; i < work->count; i++) {
        row[i] = work->row[i];
    }
    row[work->count] = tu_sqrt(add->left);
    work->answer[work->count] = add->cross / row[work->count];
    work->chosen[work->count++] = column;
}

/* The unchosen column that explains most of the target; -1: none explains enough. */
static int best_column(const tu_library *library, const tu_library_work *work, int forced)
{
    tu_real most = WORTH * work->total[library->size - 1];
    int best = -1;
    for (int column = forced; column < library->columns; column++) {
        int out = 1;
        for (int i = 0; i < work->count; i++) {
            out &= work->chosen[i] != column;
        }
        addition add = {0, 0, 0};
        if (out) {
            add = consider(library, work, column, COLLINEAR);
        }
        if (add.is_new && add.cross * add.cross / add.left > most) {
            most = add.cross * add.cross / add.left;
            best = column;
        }
    }
    return best;
}

/* Least squares on the chosen columns, one group left out (NULL: none); 0 where the remaining data cannot distinguish
 * them.
 */
static void solve_without(const tu_library *library, const tu_library_work *work, const tu_real *group,
                          tu_real *solution)
{
    int n = work->count;
    for (int i = 0; i < n; i++) {
        int column = work->chosen[i];
        for (int j = 0; j <= i; j++) {
            tu_real out = group ? tu_sums_at(library, group, column, work->chosen[j]) : 0;
            work->rest[tu_packed(i) + j] = tu_sums_at(library, work->total, column, work->chosen[j]) - out;
        }
        tu_real out = group ? tu_sums_at(library, group, column, library->columns) : 0;
        solution[i] = tu_sums_at(library, work->total, column, library->columns) - out;
    }
    if (tu_cholesky_factor(n, work->rest)) {
        tu_cholesky_forward(n, work->rest, solution);
        tu_cholesky_backward(n, work->rest, solution);
        return;
    }
    for (int i = 0; i < n; i++) {
        solution[i] = 0;
    }
}

static void begin_jackknife(tu_library_work *work)
{
    work->group = -1;
    work->filled = 0;
}

/* One least-squares fit: of all data, or without one group. Returns 0 after the last, when the errors are set. */
static int jackknife(const tu_library *library, tu_library_work *work)
{
    int n = work->count, group = work->group++;
    if (group < 0) {
        solve_without(library, work, NULL, work->solution);
        return 1;
    }
    if (group < library->groups) {
        if (group_filled(library, group)) {
            solve_without(library, work, library->sums + group * library->size, work->left_out + work->filled++ * n);
        }
        return 1;
    }
    for (int i = 0; i < n; i++) {
        tu_statistics spread = {0, 0, 0};
        for (int g = 0; g < work->filled; g++) {
            tu_statistics_add(&spread, work->left_out[g * n + i]);
        }
        work->errors[i] = (tu_real)(work->filled - 1) * tu_statistics_error(&spread) + (tu_real)FLT_MIN;
    }
    return 0;
}

/* Drops the least certain term beyond the first `kept`. Returns 0 if all exceed the threshold. */
static int drop_worst(tu_library_work *work, tu_real threshold)
{
    int worst = work->kept;
    for (int i = work->kept; i < work->count; i++) {
        tu_real ratio = tu_abs(work->solution[i]) / work->errors[i];
        worst = ratio < tu_abs(work->solution[worst]) / work->errors[worst] ? i : worst;
    }
    if (work->count <= work->kept || tu_abs(work->solution[worst]) / work->errors[worst] > threshold) {
        return 0;
    }
    work->count--;
    for (int i = worst; i < work->count; i++) {
        work->chosen[i] = work->chosen[i + 1];
    }
    return 1;
}

static void write_solution(tu_library *library, const tu_library_work *work)
{
    for (int j = 0; j < library->columns; j++) {
        library->moved[j] = library->coefficients[j];
        library->coefficients[j] = 0;
        library->errors[j] = 0;
    }
    for (int i = 0; i < work->count; i++) {
        library->coefficients[work->chosen[i]] = work->solution[i];
        library->errors[work->chosen[i]] = work->errors[i];
    }
    library->solved = 1;
}

enum stage { SUMS, CHOOSE, TRY, PRUNE };

static void go_on(tu_library_work *work, enum stage stage)
{
    work->stage = (int)stage;
    begin_jackknife(work);
}

/* Starts with the forced columns. Returns 0 if there is too little data. */
static int start_solution(tu_library *library, tu_library_work *work, int forced)
{
    work->count = 0;
    if (add_groups(library, work->total) < MIN_GROUPS) {
        return 0;
    }
    for (int column = 0; column < forced; column++) {
        addition add = consider(library, work, column, DEPENDENT);
        if (add.is_new) {
            choose(work, column, &add);
        }
    }
    work->kept = work->count;
    library->deficient = forced - work->kept;
    return 1;
}

/* Appends the best further column. Returns 0 if there is none. */
static int choose_best(const tu_library *library, tu_library_work *work, int forced)
{
    int best = work->count < work->kept + MAX_CHOSEN ? best_column(library, work, forced) : -1;
    if (best >= 0) {
        addition add = consider(library, work, best, COLLINEAR);
        choose(work, best, &add);
    }
    return best >= 0;
}

void tu_library_solve_begin(tu_library_work *work) { go_on(work, SUMS); }

int tu_library_solve_slice(tu_library *library, tu_library_work *work, int forced, tu_real threshold)
{
    int last = work->count - 1;
    if (work->stage == SUMS) {
        int enough = start_solution(library, work, forced);
        go_on(work, CHOOSE);
        return enough ? 1 : -1;
    }
    if (work->stage == CHOOSE) {
        go_on(work, choose_best(library, work, forced) ? TRY : PRUNE);
        return 1;
    }
    if (jackknife(library, work)) {
        return 1;
    }
    if (work->stage == TRY) { /* a term that does not exceed its error ends the selection */
        int out = tu_abs(work->solution[last]) <= threshold * work->errors[last];
        work->count -= out;
        go_on(work, out ? PRUNE : CHOOSE);
        return 1;
    }
    if (drop_worst(work, threshold)) {
        go_on(work, PRUNE);
        return 1;
    }
    write_solution(library, work);
    return 0;
}

int tu_library_solve(tu_library *library, tu_library_work *work, int forced, tu_real threshold)
{
    int more = 1;
    tu_library_solve_begin(work);
    while (more > 0) {
        more = tu_library_solve_slice(library, work, forced, threshold);
    }
    return more == 0;
}
