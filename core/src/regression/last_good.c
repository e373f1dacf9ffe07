#include "regression/last_good.h"

#include "config.h"
#include "network/network_part.h"
#include "regression/library_sums.h"

#include <string.h>

enum { COMPARED = 8 };       /* blocks over which two models are compared */
enum { MOST_CREDIT = 1024 }; /* maximum number of blocks for which a model must be contradicted: half an hour or more */
static const tu_real CLEARLY = TU_R(2.0); /* standard errors, over blocks, by which one must be better, */
static const tu_real WORTH = TU_R(0.005); /* and share of the squared residual: 7 % of its size */

/* Systematic error of a solution, as a share of the target's RMS: curvature within windows, held inputs. */
static const tu_real SYSTEMATIC = TU_R(0.005);
static const tu_real BESIDE_NETWORK = TU_R(0.03); /* the same with a network, whose own error is as large */
/* Standard errors by which a solution must differ from the model that the learner started from. */
static const tu_real CONTRADICTED = TU_R(2.0);

void tu_last_good_carve(tu_last_good *good, tu_arena *arena, const tu_config *config)
{
    int keeps = tu_config_keeps_good(config), columns = tu_config_columns(config);
    tu_mlp net = tu_config_net(config);
    good->coefficients = tu_arena_reals(arena, keeps ? columns : 0);
    good->errors = tu_arena_reals(arena, keeps ? columns : 0);
    good->weights = tu_arena_reals(arena, keeps && config->hidden_count ? (int)tu_mlp_count(&net) : 0);
    good->network_on = tu_arena_ints(arena, keeps ? config->on_count : 0);
}

static void clear_comparison(tu_last_good *good)
{
    good->gain = good->block_energy = good->energy = 0;
    memset(&good->gains, 0, sizeof good->gains);
}

static void copy(tu_real *to, const tu_real *from, int count)
{
    if (count) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
}

void tu_last_good_keep(tu_learner *l, int credit)
{
    tu_last_good *good = &l->last_good;
    if (tu_config_keeps_good(l->config)) {
        copy(good->coefficients, l->library.coefficients, l->library.columns);
        copy(good->errors, l->library.errors, l->library.columns);
        copy(good->weights, l->good, l->adam.count);
        memcpy(good->network_on, l->network_on, (size_t)l->config->on_count * sizeof *good->network_on);
        good->credit = credit;
        good->given = 0;
        clear_comparison(good);
    }
}

void tu_last_good_trust(tu_learner *l)
{
    tu_last_good_keep(l, MOST_CREDIT);
    l->last_good.given = tu_config_keeps_good(l->config);
}

void tu_last_good_hold(tu_learner *l)
{
    const tu_last_good *good = &l->last_good;
    const tu_real *total = l->library_work.total;
    tu_library *library = &l->library;
    int columns = library->columns;
    int beside = l->known.network ? l->known.network->is_beside(l) : l->config->frozen_network;
    if (!good->given || beside < 0) {
        return;
    }
    tu_real apart = 0, own = 0; /* squared, summed over the windows */
    tu_real share = beside ? BESIDE_NETWORK * BESIDE_NETWORK : SYSTEMATIC * SYSTEMATIC;
    tu_real error = share * total[library->size - 1]; /* of the solution */
    for (int a = 0; a < columns; a++) {
        tu_real step = library->coefficients[a] - good->coefficients[a];
        for (int b = 0; b < columns; b++) {
            tu_real product = tu_sums_at(library, total, a, b);
            apart += step * (library->coefficients[b] - good->coefficients[b]) * product;
            if (a == b) {
                error += library->errors[a] * library->errors[a] * product;
                own += good->errors[a] * good->errors[a] * product;
            }
        }
    }
    if ((own <= error || beside) && apart <= CONTRADICTED * CONTRADICTED * error) {
        copy(library->coefficients, good->coefficients, columns);
        copy(library->errors, good->errors, columns);
    }
}

void tu_last_good_restore(tu_learner *l)
{
    const tu_last_good *good = &l->last_good;
    copy(l->library.coefficients, good->coefficients, l->library.columns);
    copy(l->library.errors, good->errors, l->library.columns);
    if (l->known.network) {
        l->known.network->take(l, good->weights);
    }
    memcpy(l->network_on, good->network_on, (size_t)l->config->on_count * sizeof *l->network_on);
    clear_comparison(&l->last_good);
}

void tu_last_good_add(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    tu_last_good *good = &l->last_good;
    int width = config->parameters + config->library_terms;
    tu_real kept[TU_MAX_STATES];
    if (!good->credit) {
        return;
    }
    for (int i = 0; i < config->on_count; i++) {
        kept[i] = targets->target[i] - tu_library_dot(&l->library, i, targets->design + i * width, good->coefficients);
    }
    if (l->known.network) {
        l->known.network->take_out(l, good->weights, good->network_on, kept);
    }
    for (int i = 0; i < config->on_count; i++) {
        const tu_real *row = targets->design + i * width;
        tu_real now = targets->left[i] - tu_library_dot(&l->library, i, row, l->library.coefficients);
        tu_real residual = targets->target[i] - kept[i];
        good->gain += now * now - kept[i] * kept[i];
        good->block_energy += residual * residual;
    }
}

int tu_last_good_end_block(tu_learner *l)
{
    tu_last_good *good = &l->last_good;
    if (!good->credit) {
        if (l->library.solved) {
            tu_last_good_keep(l, COMPARED);
        }
        return 0;
    }
    tu_statistics_add(&good->gains, good->gain);
    good->energy += good->block_energy;
    good->gain = good->block_energy = 0;
    if (good->gains.count < COMPARED) {
        return 0;
    }
    tu_real mean = good->gains.mean, least = CLEARLY * tu_statistics_error(&good->gains);
    least = tu_larger(least, WORTH * good->energy / (tu_real)COMPARED);
    clear_comparison(good);
    if (mean < -least) {
        good->credit -= COMPARED;
    } else if (good->credit < MOST_CREDIT) {
        good->credit += COMPARED;
    }
    if (good->credit <= 0) {
        tu_last_good_keep(l, COMPARED);
    }
    if (l->known.network && l->known.network->is_wider(l)) {
        least = 0; /* do not keep a network that only compensates for wrong terms */
    }
    return mean > least;
}
