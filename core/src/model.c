/* What a learner has learned: its answer to a state, and a look inside. */
#include "numeric/elementary.h"
#include "regression/targets.h"

/* A state or input as windows teach it: angles on the turn around 0. */
static tu_real seen(const tu_config *config, const tu_real *x, const tu_real *u, int column)
{
    if (column >= config->states) {
        return u[column - config->states];
    }
    int angle = config->order[column] == 0 && config->circular[config->channel[column]];
    return angle ? x[column] - tu_whole_turns(x[column]) : x[column];
}

/* Adds the averaged network's answer, where it is on, in units of dx_scale. */
static void add_network(tu_learner *l, const tu_real *x, const tu_real *u, tu_real *residual)
{
    const tu_config *config = l->config;
    tu_real *acts = l->loss_scratch;
    const tu_real *answer = acts + tu_mlp_offset(&l->net, l->net.layers);
    for (int i = 0; i < config->sees_count; i++) {
        int column = config->sees[i];
        acts[i * TU_UNIT_STEP] = seen(config, x, u, column) / l->settled.scales.x[column];
    }
    tu_mlp_pad(1, config->sees_count, acts);
    tu_mlp_forward(&l->net, tu_mlp_weights(&l->net, l->average), 1, acts);
    for (int i = 0; i < config->on_count; i++) {
        residual[i] += l->network_on[i] ? answer[i * TU_UNIT_STEP] : 0;
    }
}

static void add_library(tu_learner *l, const tu_real *x, const tu_real *u, tu_real *residual)
{
    static const tu_real ones[TU_MAX_STATES] = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (int i = 0; i < l->config->states + l->config->inputs; i++) {
        l->lesson.node[i] = seen(l->config, x, u, i);
    }
    tu_teach_library_at(l, l->library.coefficients, ones, residual);
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
    if (config->hidden_count) {
        add_network(l, x, u, residual);
    }
    if (l->library.columns) {
        add_library(l, x, u, residual);
    }
    for (int i = 0; i < config->on_count; i++) {
        residual[i] *= l->settled.scales.dx[config->on[i]];
    }
    return TU_OK;
}

static void view_model(const tu_learner *l, tu_view *view)
{
    view->calibrated = l->calibrated;
    view->window_half = l->calibrated ? l->settled.window.half : 0;
    view->window_spacing = l->calibrated ? l->settled.window.spacing : 0;
    view->second_order = l->settled.second_order;
    view->snr2 = l->settled.snr2;
    view->sigma_scale = l->settled.sigma_scale;
    view->sigma = l->noise.sigma;
    view->step = l->noise.step;
    view->x_scale = l->settled.scales.x;
    view->dx_scale = l->settled.scales.dx;
    view->ddx_scale = l->settled.scales.ddx;
    view->u_scale = l->settled.scales.u;
    view->params = l->params;
    view->average = l->average;
    view->params_count = l->adam.count;
    view->coefficients = l->library.coefficients;
    view->errors = l->library.errors;
    view->columns = l->library.columns;
    view->deficient = l->library.deficient;
    view->network_on = l->network_on;
}

void tu_learner_view(tu_learner *l, tu_view *view)
{
    const tu_counters *counters = &l->counters;
    view_model(l, view);
    view->reservoir = l->reservoir.entries;
    view->reservoir_count = tu_reservoir_count(&l->reservoir);
    view->reservoir_width = l->reservoir.width;
    view->samples = counters->samples;
    view->filled = counters->filled;
    view->replaced = counters->replaced;
    view->windows = counters->windows;
    view->accepted = counters->accepted;
    for (int i = 0; i < TU_REASONS; i++) {
        view->rejected[i] = l->gates.rejected[i];
    }
    view->updates = counters->updates;
    view->rolled_back = counters->rolled_back;
    view->revisions = counters->revisions;
    view->changes = counters->changes;
    for (int i = 0; i < TU_MAX_CHANGES; i++) {
        view->changed_at[i] = counters->changed_at[i];
    }
    view->loss = l->loss;
    view->loss_sum = l->loss_sum;
    view->loss_count = l->loss_count;
    l->loss_sum = 0;
    l->loss_count = 0;
}
