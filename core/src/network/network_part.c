#include "network/network_part.h"

#include "config.h"
#include "network/holdout.h"
#include "network/last_layer.h"
#include "signal/angle.h"

#include <string.h>

static void start(tu_learner *l)
{
    tu_mlp_init(&l->net, &l->rng, l->params);
    tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
}

static void add_answer(tu_learner *l, const tu_real *x, const tu_real *u, tu_real *residual)
{
    const tu_config *config = l->config;
    tu_real *acts = l->loss_scratch;
    const tu_real *answer = acts + tu_mlp_offset(&l->net, l->net.layers);
    for (int i = 0; i < config->sees_count; i++) {
        int column = config->sees[i];
        acts[i * TU_UNIT_STEP] = tu_angle_wrap_state(config, x, u, column) / l->setup.scales.x[column];
    }
    tu_mlp_pad(1, config->sees_count, acts);
    tu_mlp_forward(&l->net, tu_mlp_weights(&l->net, l->good), 1, acts);
    for (int i = 0; i < config->on_count; i++) {
        residual[i] += l->network_on[i] ? answer[i * TU_UNIT_STEP] : 0;
    }
}

/* Subtracts the network's output at an entry from `left`. */
static void take_out_at(tu_learner *l, const tu_real *entry, const tu_real *weights, const int32_t *on, tu_real *left)
{
    const tu_config *config = l->config;
    tu_real *in = l->targets.acts, *out = in + tu_mlp_widest(&l->net);
    if (!tu_any(on, config->on_count)) {
        return;
    }
    for (int i = 0; i < config->sees_count; i++) {
        in[i] = entry[config->sees[i]];
    }
    const tu_real *answer = tu_mlp_run(&l->net, weights, in, out);
    for (int i = 0; i < config->on_count; i++) {
        left[i] -= on[i] ? answer[i] : 0;
    }
}

static void take_out(tu_learner *l, const tu_real *weights, const int32_t *on, tu_real *left)
{
    take_out_at(l, l->targets.entry, weights, on, left);
}

static int is_wider(const tu_learner *l)
{
    int wider = 0;
    for (int i = 0; i < l->config->on_count; i++) {
        wider |= l->network_on[i] && !l->last_good.network_on[i];
    }
    return wider;
}

static int is_beside(const tu_learner *l)
{
    const tu_config *config = l->config;
    size_t bytes = (size_t)l->adam.count * sizeof *l->good;
    if (!l->last_good.given || !tu_any(l->network_on, config->on_count)) {
        return config->frozen_network;
    }
    return memcmp(l->last_good.weights, l->good, bytes) ? -1 : config->frozen_network || !config->forget;
}

static void solve(tu_learner *l)
{
    l->job.judge = tu_config_watched(l->config);
    if (l->job.judge && tu_last_layer_relearns(l)) {
        l->job.solve = TU_SOLVED; /* the terms are solved with the last layer */
    }
}

/* Whether library and network are fitted together. */
static int learns_beside(const tu_config *config) { return tu_config_watched(config) && tu_config_keeps_good(config); }

static void leave(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    int width = config->parameters + config->library_terms;
    memcpy(targets->left, targets->target, (size_t)config->on_count * sizeof *targets->left);
    if (learns_beside(config)) {
        take_out(l, l->good, l->network_on, targets->left);
    }
    for (int i = 0; width && !l->change.trial && i < config->on_count; i++) {
        tu_real terms = tu_library_dot(&l->library, i, targets->design + i * width, l->library.coefficients);
        l->change.score[l->library.columns + i] += (targets->target[i] - targets->left[i]) * (targets->left[i] - terms);
    }
}

static void compare(tu_learner *l, uint32_t nearest, tu_real *difference)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    tu_change *change = &l->change;
    tu_real there[TU_MAX_STATES] = {0}, entry[TU_MAX_STATES + TU_MAX_INPUTS];
    if (!learns_beside(config)) {
        return;
    }
    tu_reservoir_gather(&l->reservoir, &nearest, 1, 0, config->states + config->inputs, entry);
    take_out_at(l, entry, l->good, l->network_on, there);
    for (int i = 0; i < config->on_count; i++) {
        int column = l->library.columns + i;
        tu_real answer = targets->target[i] - targets->left[i];
        difference[i] -= answer + there[i];
        change->score[column] += answer * difference[i];
        change->part[column] += answer * answer;
    }
}

static void take(tu_learner *l, const tu_real *weights)
{
    size_t bytes = (size_t)l->adam.count * sizeof *weights;
    memcpy(l->params, weights, bytes);
    memcpy(l->average, weights, bytes);
    memcpy(l->good, weights, bytes);
    tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
}

static void add_answer_of(const tu_config *config, const tu_mlp *net, const tu_real *weights, const tu_real *x_scale,
                          const tu_real *on, const tu_real *x, const tu_real *u, tu_real *work, tu_real *residual)
{
    for (int i = 0; i < config->sees_count; i++) {
        int column = config->sees[i];
        work[i] = (column < config->states ? x[column] : u[column - config->states]) / x_scale[column];
    }
    const tu_real *answer = tu_mlp_run(net, weights, work, work + tu_mlp_widest(net));
    for (int i = 0; i < config->on_count; i++) {
        residual[i] += on[i] > 0 ? answer[i] : 0;
    }
}

const tu_network_part tu_network = {
    .start = start,
    .train_slice = tu_learner_train_slice,
    .watch_slice = tu_holdout_watch_slice,
    .judge = tu_holdout_judge,
    .solve = solve,
    .finish_layer = tu_last_layer_finish,
    .add_answer = add_answer,
    .take_out = take_out,
    .is_wider = is_wider,
    .is_beside = is_beside,
    .leave = leave,
    .compare = compare,
    .take = take,
    .add_answer_of = add_answer_of,
};
