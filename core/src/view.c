/* Access to a learner's results: its residual at a state, and its internal data. */
#include "network/network_part.h"
#include "regression/targets.h"
#include "signal/angle.h"

static void add_library(tu_learner *l, const tu_real *x, const tu_real *u, tu_real *residual)
{
    static const tu_real ones[TU_MAX_STATES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < l->config->states + l->config->inputs; i++) {
        l->targets.node[i] = tu_angle_wrap_state(l->config, x, u, i);
    }
    tu_targets_library_at(l, l->library.coefficients, ones, residual);
}

int tu_learner_residual(tu_learner *l, const tu_real *x, const tu_real *u, tu_real *residual)
{
    const tu_config *config = l->config;
    for (int i = 0; i < config->on_count; i++) {
        residual[i] = 0;
    }
    if (!l->calibrated) {
        return TU_NOT_READY;
    }
    if (l->known.network) {
        l->known.network->add_answer(l, x, u, residual);
    }
    if (l->library.columns) {
        add_library(l, x, u, residual);
    }
    for (int i = 0; i < config->on_count; i++) {
        residual[i] *= l->setup.scales.dx[config->on[i]];
    }
    return TU_OK;
}

static void view_model(const tu_learner *l, tu_view *view)
{
    view->calibrated = l->calibrated;
    view->window_half = l->calibrated ? l->setup.window.half : 0;
    view->window_spacing = l->calibrated ? l->setup.window.spacing : 0;
    view->second_order = l->setup.second_order;
    view->snr2 = l->setup.snr2;
    view->sigma_scale = l->setup.sigma_scale;
    view->sigma = l->noise.sigma;
    view->step = l->noise.step;
    view->x_scale = l->setup.scales.x;
    view->dx_scale = l->setup.scales.dx;
    view->ddx_scale = l->setup.scales.ddx;
    view->u_scale = l->setup.scales.u;
    view->params = l->params;
    view->average = l->good;
    view->params_count = l->adam.count;
    view->coefficients = l->library.coefficients;
    view->errors = l->library.errors;
    view->columns = l->library.columns;
    view->deficient = l->library.deficient;
    view->network_on = l->network_on;
}

void tu_learner_view(const tu_learner *l, tu_view *view)
{
    const tu_counters *counters = &l->counters;
    view_model(l, view);
    view->reservoir = l->reservoir.entries;
    view->reservoir_count = tu_reservoir_count(&l->reservoir);
    view->reservoir_width = l->reservoir.width;
    view->holdout = l->holdout.entries;
    view->holdout_count = tu_reservoir_count(&l->holdout);
    view->holdout_width = l->holdout.width;
    view->samples = counters->samples;
    view->filled = counters->filled;
    view->replaced = counters->replaced;
    view->windows = counters->windows;
    view->accepted = counters->accepted;
    for (int i = 0; i < TU_REASONS; i++) {
        view->rejected[i] = counters->rejected[i];
    }
    view->updates = counters->updates;
    view->updates_left = tu_learner_updates_left(l);
    view->rolled_back = counters->rolled_back;
    view->recalibrations = counters->recalibrations;
    view->no_signal = counters->no_signal;
    view->returned = counters->returned;
    view->changes = counters->changes;
    for (int i = 0; i < TU_MAX_CHANGES; i++) {
        view->changed_at[i] = counters->changed_at[i];
    }
    view->loss = l->loss;
}

uint32_t tu_learner_take_losses(tu_learner *l, tu_real *sum)
{
    uint32_t count = l->loss_count;
    *sum = l->loss_sum;
    l->loss_sum = 0;
    l->loss_count = 0;
    return count;
}
