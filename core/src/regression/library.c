#include "regression/library.h"

#include "config.h"
#include "numeric/elementary.h"
#include "regression/library_sums.h"

#include <float.h>

static const tu_real ALARM = TU_R(4.0);    /* a block's score in units of its usual size, twice in a row */
static const tu_real CERTAIN = TU_R(8.0);  /* the trial's score against the past, in units of its usual size */
static const tu_real SERIOUS = TU_R(0.04); /* share of its squared target that a coefficient's change must explain, */
static const tu_real STEADY = TU_R(5.0);   /* standard errors, from the trial's parts, that the change must exceed */
static const tu_real PARTS_HEARD = TU_R(4.0); /* parts, or as many as many unequal ones are worth, that have a say */
static const tu_real MATCHED = TU_R(0.25); /* on this share of its windows: else nobody can tell */
enum { ALARM_BLOCKS = 8 };                 /* blocks that define what is usual */
enum { TRIAL_BLOCKS = 6 };                 /* blocks after an alarm that decide whether it was one */

void tu_library_carve(tu_library *library, tu_arena *arena, const tu_config *config)
{
    library->groups = config->groups;
    library->outputs = config->on_count;
    library->parameters = config->parameters;
    library->terms = config->library_terms;
    library->columns = tu_config_columns(config);
    library->size = library->columns ? tu_sums_size(library) : 0;
    library->sums = tu_arena_reals(arena, library->groups * library->size);
    tu_real **vectors[] = {&library->coefficients, &library->errors, &library->change, &library->score,
                           &library->usual,        &library->last,   &library->part,   &library->energy,
                           &library->moments[0],   &library->moments[1], &library->moments[2]};
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i] = tu_arena_reals(arena, library->columns);
    }
    library->matched_target = 0;
    library->matched = library->compared = 0;
    library->trial = 0;
    library->scored = 0;
    library->blocks = 0;
    library->windows = 0;
    library->deficient = 0;
    library->solved = 0;
}

tu_real tu_library_dot(const tu_library *library, int output, const tu_real *row, const tu_real *coefficients)
{
    tu_real sum = 0;
    for (int a = 0; a < library->parameters + library->terms; a++) {
        sum += row[a] * coefficients[tu_library_column(library, output, a)];
    }
    return sum;
}

void tu_library_add(tu_library *library, const tu_real *design, const tu_real *target)
{
    int width = library->parameters + library->terms;
    tu_real *sums = library->sums + (int)(library->blocks % (uint32_t)library->groups) * library->size;
    tu_real *products = sums + tu_sums_row(library, library->columns);
    for (int output = 0; output < library->outputs; output++, design += width) {
        tu_real goal = target[output];
        tu_real known = tu_library_dot(library, output, design, library->coefficients);
        tu_real innovation = library->trial ? 0 : goal - known; /* a trial has scores of its own */
        for (int a = 0; a < width; a++) {
            int column = tu_library_column(library, output, a);
            tu_real *row = sums + tu_sums_row(library, column);
            for (int b = 0; b <= a; b++) {
                row[b] += design[a] * design[b];
            }
            products[column] += design[a] * goal;
            library->score[column] += design[a] * innovation;
        }
        products[library->columns] += goal * goal;
    }
    library->windows++;
}

/* Scores the block; 1 when it and the one before lie beyond the alarm on the same side. */
static int alarm(tu_library *library)
{
    int raised = 0;
    for (int j = 0; j < library->columns; j++) {
        tu_real now = library->score[j] / tu_sqrt(library->usual[j] + (tu_real)FLT_MIN), before = library->last[j];
        raised |= (now > ALARM && before > ALARM) || (now < -ALARM && before < -ALARM);
        library->last[j] = now;
    }
    return raised;
}

/* What is odd may be new: it must not pass for the past. */
static int is_odd(const tu_library *library)
{
    int odd = 0;
    for (int j = 0; j < library->columns; j++) {
        odd |= tu_abs(library->last[j]) > ALARM;
    }
    return odd;
}

/* Lets the block say what is usual. */
static void learn_usual(tu_library *library)
{
    library->scored++;
    for (int j = 0; j < library->columns; j++) {
        tu_real score = library->score[j];
        library->usual[j] += (score * score - library->usual[j]) / (tu_real)library->scored;
    }
}

void tu_library_compare(tu_library *library, const tu_real *design, const tu_real *target, const tu_real *difference)
{
    int width = library->parameters + library->terms;
    library->compared++;
    library->matched += difference != NULL;
    for (int i = 0; difference && i < library->outputs; i++, design += width) {
        for (int a = 0; a < width; a++) {
            int column = tu_library_column(library, i, a);
            library->score[column] += design[a] * difference[i];
            library->part[column] += design[a] * design[a];
        }
        library->matched_target += target[i] * target[i];
    }
}

void tu_library_end_part(tu_library *library)
{
    for (int j = 0; library->trial && j < library->columns; j++) {
        tu_real score = library->score[j], part = library->part[j];
        library->last[j] += score;
        library->energy[j] += part;
        library->moments[0][j] += score * score;
        library->moments[1][j] += score * part;
        library->moments[2][j] += part * part;
        library->score[j] = library->part[j] = 0;
    }
}

/* Whether a column's coefficient has changed by about as much in every part of the trial, by least squares. */
static int steady(const tu_library *library, int j)
{
    tu_real energy = library->energy[j], score = library->last[j], energies = library->moments[2][j];
    tu_real change = score / (energy > (tu_real)FLT_MIN ? energy : (tu_real)FLT_MIN);
    tu_real scatter = library->moments[0][j] - 2 * change * library->moments[1][j] + change * change * energies;
    return score * score > STEADY * STEADY * scatter && energy * energy > PARTS_HEARD * energies;
}

/* Whether the trial differs from what was seen before at the same states, the same way all along. */
static int contradicted(const tu_library *library)
{
    tu_real share = library->compared ? (tu_real)library->matched / (tu_real)library->compared : 0;
    int changed = 0;
    for (int j = 0; j < library->columns; j++) {
        tu_real usual = tu_sqrt(library->usual[j] * (TRIAL_BLOCKS * share) + (tu_real)FLT_MIN), score = library->last[j];
        int serious = score * score > SERIOUS * library->matched_target * library->energy[j];
        changed |= serious && tu_abs(score) > CERTAIN * usual && steady(library, j);
    }
    return changed && share > MATCHED;
}

static void start_trial(tu_library *library)
{
    library->trial = TRIAL_BLOCKS;
    tu_clear(library->last, library->columns);
    tu_clear(library->part, library->columns);
    tu_clear(library->energy, library->columns);
    for (int i = 0; i < 3; i++) {
        tu_clear(library->moments[i], library->columns);
    }
    library->matched_target = 0;
    library->matched = library->compared = 0;
}

int tu_library_end_block(tu_library *library)
{
    int changed = 0;
    if (library->trial) {
        tu_library_end_part(library);
        if (--library->trial == 0) {
            changed = contradicted(library);
            tu_clear(library->last, library->columns);
        }
    } else if (library->solved) {
        if (library->scored >= ALARM_BLOCKS && alarm(library)) {
            start_trial(library);
        } else if (!is_odd(library)) {
            learn_usual(library);
        }
    }
    tu_clear(library->score, library->columns);
    library->windows = 0;
    library->blocks++;
    return changed;
}

void tu_library_clear(tu_library *library)
{
    tu_clear(library->sums, library->groups * library->size);
    tu_clear(library->last, library->columns);
    tu_clear(library->usual, library->columns);
    library->trial = 0;
    library->scored = 0;
    library->blocks = 0;
    library->windows = 0;
}
