#include "regression/change_detection.h"

#include "numeric/elementary.h"

#include <float.h>

enum { SEARCHED = 128 };                    /* entries per slice: about 20,000 instructions on a Cortex-M4F */
static const tu_real ALARM = TU_R(4.0);     /* a block's score in units of its usual size, twice in a row */
static const tu_real CERTAIN = TU_R(8.0);   /* the trial's score against the past, in units of its usual size */
static const tu_real SERIOUS = TU_R(0.005); /* share of its squared target that a coefficient's change must explain, */
static const tu_real STEADY = TU_R(5.0);    /* standard errors, from the trial's parts, that the change must exceed */
static const tu_real LEAST_PARTS = TU_R(4.0); /* minimum effective number of parts */
static const tu_real MATCHED = TU_R(0.25);    /* minimum share of its windows that have a stored neighbour */
/* Distance, in scales per state or input, below which two windows saw the same state. */
static const tu_real NEAR = TU_R(0.15);
enum { ALARM_BLOCKS = 8 }; /* blocks that define the usual score */
enum { TRIAL_BLOCKS = 6 }; /* blocks of the trial after an alarm */

void tu_change_carve(tu_change *change, tu_arena *arena, int columns)
{
    tu_real **vectors[] = {&change->score,  &change->usual,      &change->last,       &change->part,
                           &change->energy, &change->moments[0], &change->moments[1], &change->moments[2]};
    change->columns = columns;
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i] = tu_arena_reals(arena, columns);
    }
}

void tu_change_clear(tu_change *change)
{
    tu_clear(change->last, change->columns);
    tu_clear(change->usual, change->columns);
    change->trial = 0;
    change->scored = 0;
}

void tu_change_add(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target)
{
    int width = library->parameters + library->terms;
    for (int i = 0; !change->trial && i < library->outputs; i++, design += width) { /* a trial keeps separate scores */
        tu_real innovation = target[i] - tu_library_dot(library, i, design, library->coefficients);
        for (int a = 0; a < width; a++) {
            change->score[tu_library_column(library, i, a)] += design[a] * innovation;
        }
    }
}

int tu_change_nearest_slice(tu_search *search, const tu_reservoir *store, const tu_real *here, int first, int columns,
                            const tu_config *config, tu_real *there)
{
    uint32_t stored = tu_reservoir_count(store), end = search->next + SEARCHED;
    search->least = search->nearest ? search->least : NEAR * NEAR * (tu_real)config->sees_count;
    for (; search->next < stored && search->next < end; search->next++) {
        tu_real distance = 0;
        tu_reservoir_gather(store, &search->next, 1, first, columns, there);
        for (int i = 0; i < config->sees_count; i++) {
            int k = config->sees[i];
            distance += (there[k] - here[k]) * (there[k] - here[k]);
        }
        if (distance < search->least && !tu_reservoir_is_fresh(store, search->next)) {
            search->least = distance;
            search->nearest = search->next + 1;
        }
    }
    return search->next < stored;
}

/* Scores the block. Returns 1 if it and the previous one exceed the alarm limit with the same sign. */
static int alarm(tu_change *change)
{
    int raised = 0;
    for (int j = 0; j < change->columns; j++) {
        tu_real now = change->score[j] / tu_sqrt(change->usual[j] + (tu_real)FLT_MIN), before = change->last[j];
        raised |= (now > ALARM && before > ALARM) || (now < -ALARM && before < -ALARM);
        change->last[j] = now;
    }
    return raised;
}

/* An unusual block may be a change: it must not enter the usual scores. */
static int is_odd(const tu_change *change)
{
    int odd = 0;
    for (int j = 0; j < change->columns; j++) {
        odd |= tu_abs(change->last[j]) > ALARM;
    }
    return odd;
}

/* Adds the block to the usual scores. */
static void learn_usual(tu_change *change)
{
    change->scored++;
    for (int j = 0; j < change->columns; j++) {
        tu_real score = change->score[j];
        change->usual[j] += (score * score - change->usual[j]) / (tu_real)change->scored;
    }
}

void tu_change_compare(tu_change *change, const tu_library *library, const tu_real *design, const tu_real *target,
                       const tu_real *difference)
{
    int width = library->parameters + library->terms;
    change->compared++;
    change->matched += difference != NULL;
    for (int i = 0; difference && i < library->outputs; i++, design += width) {
        for (int a = 0; a < width; a++) {
            int column = tu_library_column(library, i, a);
            change->score[column] += design[a] * difference[i];
            change->part[column] += design[a] * design[a];
        }
        change->matched_target += target[i] * target[i];
    }
}

void tu_change_end_part(tu_change *change)
{
    for (int j = 0; change->trial && j < change->columns; j++) {
        tu_real score = change->score[j], part = change->part[j];
        change->last[j] += score;
        change->energy[j] += part;
        change->moments[0][j] += score * score;
        change->moments[1][j] += score * part;
        change->moments[2][j] += part * part;
        change->score[j] = change->part[j] = 0;
    }
}

/* Whether a column's coefficient has changed by a similar amount in every part of the trial, by least squares. */
static int steady(const tu_change *change, int j)
{
    tu_real energy = change->energy[j], score = change->last[j], energies = change->moments[2][j];
    tu_real moved = score / (energy > (tu_real)FLT_MIN ? energy : (tu_real)FLT_MIN);
    tu_real scatter = change->moments[0][j] - 2 * moved * change->moments[1][j] + moved * moved * energies;
    return score * score > STEADY * STEADY * scatter && energy * energy > LEAST_PARTS * energies;
}

/* Whether the trial differs consistently from earlier windows at the same states. */
static int contradicted(const tu_change *change)
{
    tu_real share = change->compared ? (tu_real)change->matched / (tu_real)change->compared : 0;
    int changed = 0;
    for (int j = 0; j < change->columns; j++) {
        tu_real usual = tu_sqrt(change->usual[j] * (TRIAL_BLOCKS * share) + (tu_real)FLT_MIN);
        tu_real score = change->last[j];
        int serious = score * score > SERIOUS * change->matched_target * change->energy[j];
        changed |= serious && tu_abs(score) > CERTAIN * usual && steady(change, j);
    }
    return changed && share > MATCHED;
}

static void start_trial(tu_change *change)
{
    change->trial = TRIAL_BLOCKS;
    tu_clear(change->last, change->columns);
    tu_clear(change->part, change->columns);
    tu_clear(change->energy, change->columns);
    for (int i = 0; i < 3; i++) {
        tu_clear(change->moments[i], change->columns);
    }
    change->matched_target = 0;
    change->matched = change->compared = 0;
}

int tu_change_end_block(tu_change *change, int solved)
{
    int changed = 0;
    change->settled = 0;
    if (change->trial) {
        tu_change_end_part(change);
        if (--change->trial == 0) {
            changed = contradicted(change);
            tu_clear(change->last, change->columns);
        }
    } else if (solved && change->scored >= ALARM_BLOCKS && alarm(change)) {
        start_trial(change);
    } else {
        change->settled = !is_odd(change);
        if (solved && change->settled) {
            learn_usual(change);
        }
    }
    tu_clear(change->score, change->columns);
    return changed;
}
