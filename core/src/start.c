/* Starts a learner from a fitted model, or returns it to its last good one. */
#include "network/network_part.h"
#include "numeric/finite.h"
#include "regression/last_good.h"
#include "regression/targets.h"

#include <string.h>

static const tu_real LEAST = TU_R(1e-30); /* of a scale: numbers divided by it must stay finite */

static int all_positive(const tu_real *values, int count)
{
    int positive = 1;
    for (int i = 0; i < count; i++) {
        positive &= tu_usable(values[i]) && values[i] > LEAST;
    }
    return positive;
}

static int fits(const tu_config *config, const tu_model *model)
{
    int32_t half = model->window_half, spacing = model->window_spacing;
    int window = half >= 1 && half <= config->max_half && spacing >= 1 && spacing <= config->max_half / half &&
                 2 * half > config->poly && (config->dense ? spacing == 1 : half == config->taps);
    return window && all_positive(&model->sigma_scale, 1) && all_positive(model->x_scale, config->states) &&
           all_positive(model->u_scale, config->inputs) && all_positive(model->dx_scale, config->states);
}

static int all_usable(const tu_real *values, int count)
{
    int usable = 1;
    for (int i = 0; i < count; i++) {
        usable &= tu_usable(values[i]);
    }
    return usable;
}

int tu_learner_fits(const tu_learner *l, const tu_model *model)
{
    return fits(l->config, model) && all_usable(model->weights, l->adam.count) &&
           all_usable(model->coefficients, l->library.columns) && all_usable(model->errors, l->library.columns);
}

static void copy(tu_real *to, const tu_real *from, int count)
{
    if (count) {
        memcpy(to, from, (size_t)count * sizeof *to);
    }
}

enum { PRIOR_A_SLICE = 8 }; /* windows per slice */

/* Windows of the prior: half a block per group, as the model predicts them, in the range it was fitted in. Without
 * them, a stream that starts without motion would erase the model.
 */
void tu_learner_prior_begin(tu_learner *l)
{
    uint32_t blocks = l->library.blocks; /* stored windows are tagged with it */
    tu_library_clear(&l->library);
    l->library.blocks = blocks;
    l->job.prior = l->library.columns ? (uint32_t)(l->library.groups * (l->config->block / 2)) : 0;
    l->library.blocks += l->library.columns && !l->job.prior ? (uint32_t)l->library.groups : 0;
}

void tu_learner_prior_slice(tu_learner *l)
{
    const tu_config *config = l->config;
    for (int i = 0; i < PRIOR_A_SLICE && l->job.prior; i++) {
        for (int k = 0; k < config->states + config->inputs; k++) {
            l->targets.node[k] = l->setup.scales.x[k] * tu_rng_normal(&l->rng);
        }
        tu_targets_add_prior(l);
        l->library.blocks += --l->job.prior % (uint32_t)(config->block / 2) == 0;
    }
    l->library.windows = l->job.prior ? l->library.windows : 0;
}

int tu_learner_start_begin(tu_learner *l, const tu_model *model)
{
    const tu_config *config = l->config;
    tu_setup *setup = &l->setup;
    if (!tu_learner_fits(l, model)) {
        return TU_BAD_CONFIG;
    }
    tu_window_make(&setup->window, model->window_half, model->window_spacing, config->poly, config->sample_period);
    setup->sigma_scale = model->sigma_scale;
    copy(setup->scales.x, model->x_scale, config->states);
    copy(setup->scales.u, model->u_scale, config->inputs);
    copy(setup->scales.dx, model->dx_scale, config->states);
    for (int i = 0; i < config->states; i++) {
        setup->scales.ddx[i] = 1;
    }
    if (l->known.network) {
        l->known.network->take(l, model->weights);
    }
    memcpy(l->network_on, model->network_on, (size_t)config->on_count * sizeof *l->network_on);
    copy(l->library.coefficients, model->coefficients, l->library.columns);
    copy(l->library.errors, model->errors, l->library.columns);
    l->since_change = (uint32_t)config->updates;
    tu_learner_apply_setup_begin(l);
    l->library.solved = l->library.columns > 0;
    tu_learner_prior_begin(l);
    tu_last_good_trust(l);
    return TU_OK;
}

int tu_learner_start(tu_learner *l, const tu_model *model)
{
    int status = tu_learner_start_begin(l, model);
    while (status == TU_OK && tu_learner_advance(l)) {
    }
    return status;
}

void tu_learner_go_back(tu_learner *l)
{
    l->job.go_back = 0;
    tu_last_good_restore(l);
    tu_targets_forget(l);
    l->since_change = (uint32_t)l->config->updates;
    tu_learner_prior_begin(l);
    tu_count(&l->counters.rolled_back);
    tu_count(&l->counters.returned);
}
