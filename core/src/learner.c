/* Algorithm 1 of the paper as two functions: tu_learner_push takes a sample, tu_learner_step makes updates. */
#include "network/restart.h"
#include "config.h"
#include "numeric/elementary.h"
#include "signal/fusion.h"
#include "network/loss.h"
#include "signal/recalibrate.h"
#include "network/last_layer.h"
#include "regression/targets.h"
#include "signal/angle.h"
#include "numeric/finite.h"

#include <string.h>

/* Puts the last sample in the place of what cannot be used. 0: there was something. */
static int hold_last(tu_learner *l)
{
    int usable = 1;
    for (int i = 0; i < l->ring.columns; i++) {
        if (!tu_usable(l->row[i])) {
            l->row[i] = l->ring.held ? tu_ring_at(&l->ring, i, 0) : 0;
            usable = 0;
        }
    }
    return usable;
}

/* Whether a channel repeats itself where its noise should have moved it. */
static int is_stuck(tu_learner *l)
{
    int stuck = 0;
    if (!l->config->repair || !l->ring.held) {
        return 0;
    }
    for (int c = 0; c < l->config->channels; c++) {
        int same = l->row[c] == tu_ring_at(&l->ring, c, 0);
        l->run[c] = !same ? 0 : l->run[c] < TU_STUCK_RUN ? l->run[c] + 1 : TU_STUCK_RUN;
        if (l->run[c] == TU_STUCK_RUN) {
            tu_real step = l->noise.step[c];
            stuck |= !tu_finite(step) || step < l->noise.sigma[c];
        }
    }
    return stuck;
}

/* Estimates the newest window and, where it passes the gates, lets it teach library and network. */
static int try_window(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_settled *settled = &l->settled;
    const tu_fit *fit = &l->lesson.fit;
    int reach = 2 * tu_window_reach(&settled->window), reason = TU_ACCEPTED;
    if (l->ring.held <= reach) {
        return TU_GAP;
    }
    if (l->clean <= reach) {
        return l->bad_reason;
    }
    tu_window_fit(&settled->window, &l->ring, config->channels, fit);
    if (config->dense) {
        reason = tu_gates_noise(&settled->window, fit, &l->noise, settled->sigma_scale);
    } else if (config->gated) {
        reason = tu_gates_median(&l->gates, &settled->window, &l->ring, fit, &l->noise, settled->sigma_scale);
    }
    if (reason != TU_ACCEPTED) {
        return reason;
    }
    tu_fuse_rates(&settled->window, config->rate_channel, l->noise.sigma, config->channels, fit);
    tu_reckon_window(&l->reckon, config, &settled->window, l->noise.sigma, fit);
    tu_turn_window(config->circular, config->channels, config->poly, fit);
    return tu_teach_window(l) ? TU_ACCEPTED : TU_NONFINITE;
}

static void window(tu_learner *l)
{
    l->counters.windows++;
    int reason = try_window(l);
    if (reason == TU_ACCEPTED) {
        l->counters.accepted++;
    } else {
        l->gates.rejected[reason]++;
    }
    tu_revise_watch(l, reason);
}

/* Carries angles on to the newest sample, or starts anew where samples are missing since the last window. */
static void carry_angles(tu_learner *l)
{
    int fresh = l->clean < l->config->stride ? l->clean : l->config->stride;
    if (fresh < l->config->stride) {
        tu_reckon_clear(&l->reckon, l->config);
    }
    if (l->calibrated) {
        tu_reckon_push(&l->reckon, l->config, &l->settled.window, l->noise.sigma, &l->ring, fresh);
    }
}

/* Algorithm 1, lines 3 to 14, for a sample that has been looked after: learner->row. */
static void take(tu_learner *l)
{
    const tu_config *config = l->config;
    int usable = hold_last(l), stuck = is_stuck(l);
    tu_ring_push(&l->ring, l->row);
    l->clean = usable && !stuck ? l->clean + (l->clean < l->ring.span) : 0;
    if (!usable || stuck) {
        l->bad_reason = usable ? TU_STUCK : TU_NONFINITE;
    }
    tu_noise_update(&l->noise, &l->ring);
    l->tick++;
    if (l->tick % (uint32_t)config->stride == 0) {
        carry_angles(l);
        if (!l->calibrating) {
            window(l);
        } else {
            tu_calibrate_window(&l->calibration, config, &l->ring, &l->noise, &l->gates, l->clean, &l->lesson.fit,
                                l->lesson.jets);
        }
    }
    if (l->calibrating && l->tick >= l->until) {
        tu_learner_calibrated(l);
    } else if (l->calibrated && config->train_every && l->tick % (uint32_t)config->train_every == 0) {
        tu_learner_step(l, 1);
    }
}

void tu_learner_begin(tu_learner *l, const tu_real *row)
{
    l->counters.samples++;
    memcpy(l->row, row, (size_t)l->ring.columns * sizeof(tu_real));
}

int32_t tu_learner_cost(const tu_learner *l) { return l->calibrated; }

int tu_learner_advance(tu_learner *l)
{
    if (l->config->repair) {
        const tu_real *sigma = tu_noise_ready(&l->noise) ? l->noise.sigma : NULL;
        int done = tu_repair_push(&l->repair, sigma, l->settled.sigma_scale, l->config->channels, l->row);
        if (done == TU_WAITING) {
            return 0;
        }
        l->counters.filled += (done & TU_FILLED) != 0;
        l->counters.replaced += (done & TU_REPLACED) != 0;
    }
    take(l);
    return 0;
}

void tu_learner_push(tu_learner *l, const tu_real *row)
{
    tu_learner_begin(l, row);
    while (tu_learner_advance(l)) {
    }
}

void tu_learner_push_many(tu_learner *l, const tu_real *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tu_learner_push(l, rows + i * (size_t)l->ring.columns);
    }
}

void tu_learner_gap(tu_learner *l)
{
    tu_ring_clear(&l->ring);
    tu_repair_clear(&l->repair);
    tu_reckon_clear(&l->reckon, l->config);
    l->clean = 0;
    memset(l->run, 0, (size_t)l->config->channels * sizeof(int32_t));
}

void tu_learner_rewind(tu_learner *l)
{
    tu_learner_gap(l);
    l->tick = 0;
    l->stretch = l->refused = 0;
    memset(&l->counters, 0, sizeof l->counters);
    memset(l->gates.rejected, 0, sizeof l->gates.rejected);
}

/* Compact entries span +-8 scales of each column. */
static void set_entry_scale(tu_learner *l)
{
    const tu_config *config = l->config;
    int width = tu_config_width(config), ddx = config->second_order > 0 ? width - config->states : width;
    for (int column = 0; column < width; column++) {
        tu_real scale = column < ddx ? 1 : l->settled.scales.ddx[column - ddx];
        l->entry_scale[column] = scale * TU_R(8.0) / TU_R(32767.0);
    }
    l->entry_scale[width] = 1; /* the tag */
}

void tu_learner_settle(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_window *settled = &l->settled.window;
    int32_t orders[TU_MAX_STATES];
    l->calibrated = 1;
    l->calibrating = 0;
    for (int i = 0; i < config->on_count; i++) {
        orders[i] = config->order[config->on[i]];
    }
    if (config->physics_nodes == 1) {
        tu_nodes_centre(&l->physics_nodes, settled);
    } else if (config->inputs) {
        tu_nodes_intervals(&l->physics_nodes, settled, orders);
    } else {
        tu_nodes_gauss(&l->physics_nodes, settled, config->physics_nodes, orders);
    }
    if (config->network_nodes == 1) {
        tu_nodes_centre(&l->network_nodes, settled);
    } else {
        tu_nodes_gauss(&l->network_nodes, settled, config->network_nodes, orders);
    }
    if (l->entry_scale) {
        set_entry_scale(l);
    }
}

void tu_learner_calibrated(tu_learner *l)
{
    if (!l->calibrating) {
        return;
    }
    if (l->calibrated) {
        tu_revise_finish(l);
    } else {
        tu_calibrate_finish(&l->calibration, l->config, &l->noise, &l->settled);
    }
    tu_learner_settle(l);
}

/* The known part at a node, as the second-order loss asks for it. */
static void known_at(void *context, const tu_real *node, tu_real *field, tu_real *jacobian)
{
    const tu_learner *l = context;
    const tu_real *inputs = node + l->config->states;
    l->known.field(l->known.context, node, inputs, field);
    l->known.jacobian(l->known.context, node, inputs, jacobian);
}

/* Loss and gradient of a minibatch. */
static tu_real loss(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_scales *scales = &l->settled.scales;
    tu_batch batch = {&l->reservoir, &l->rng, l->indices, config->batch, config->states + config->inputs, config->sees};
    int whole = config->sees_count == batch.columns;
    for (int i = 0; whole && i < batch.columns; i++) {
        whole = config->sees[i] == i;
    }
    batch.sees = whole ? NULL : config->sees;
    if (l->settled.second_order > 0) {
        tu_second_order second = {known_at, l, scales->x, scales->dx, scales->ddx, l->settled.second_order};
        return tu_loss_second(&l->net, l->params, &batch, &second, l->loss_scratch, l->grad);
    }
    const tu_real *weights = config->network_nodes == 1 ? NULL : l->network_nodes.weights;
    return tu_loss_first(&l->net, l->params, &batch, config->network_nodes, weights, l->loss_scratch, l->grad);
}

/* One update: a minibatch, its exact gradient, clip, Adam, average. Skipped while there is too little data. */
static void step(tu_learner *l)
{
    const tu_config *config = l->config;
    size_t bytes = (size_t)l->adam.count * sizeof(tu_real);
    l->counters.updates++;
    l->since_change++;
    if (!config->hidden_count || tu_reservoir_count(&l->reservoir) < (uint32_t)config->batch) {
        return;
    }
    tu_real value = loss(l);
    tu_real norm = tu_clip(l->grad, l->adam.count, TU_CLIP_NORM);
    if (!tu_finite(value) || !tu_finite(norm)) {
        memcpy(l->params, l->average, bytes);
        tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
        l->counters.rolled_back++;
        return;
    }
    tu_real rate = l->around ? TU_GENTLE * config->rate : config->rate;
    if (config->adam) {
        rate = tu_cosine_rate(l->since_change - 1, (uint32_t)config->updates, rate, config->rate_floor);
        tu_adam_step(&l->adam, l->params, l->grad, rate);
    } else {
        tu_sgd_step(l->params, l->grad, l->adam.count, rate);
    }
    if (config->decay > 0) {
        tu_ema_update(l->average, l->params, l->adam.count, l->since_change - 1, config->decay);
    } else {
        memcpy(l->average, l->params, bytes);
    }
    l->loss = value;
    l->loss_sum += value;
    l->loss_count++;
}

void tu_learner_step(tu_learner *l, uint32_t count)
{
    for (; count > 0; count--) {
        step(l);
    }
}

void tu_learner_solve(tu_learner *l)
{
    if (l->calibrated) {
        tu_teach_solve(l);
    }
}

void tu_learner_judge(tu_learner *l)
{
    if (l->calibrated) {
        tu_teach_judge(l);
    }
}

void tu_learner_conclude(tu_learner *l)
{
    if (l->calibrated) {
        tu_settle_network(l);
        tu_teach_judge(l);
    }
}

void tu_learner_finish(tu_learner *l)
{
    if (!l->calibrated) {
        return;
    }
    tu_teach_solve(l);
    while (l->since_change < (uint32_t)l->config->updates) {
        step(l);
    }
    tu_learner_conclude(l);
}

int tu_learner_around(tu_learner *l) { return l->calibrated && tu_around_begin(l); }

void tu_learner_choose(tu_learner *l)
{
    if (l->around) {
        tu_settle_network(l);
        tu_around_end(l);
        tu_teach_judge(l);
    }
}
