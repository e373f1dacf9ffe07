/* Algorithm 1 of the paper, second half: tu_learner_step makes updates; and the end of training. */
#include "config.h"
#include "network/loss.h"
#include "network/network_part.h"
#include "numeric/finite.h"
#include "paper/paper_part.h"
#include "regression/targets.h"

#include <string.h>

/* One slice of a minibatch's loss and gradient, to learner->job.loss and learner->grad. Returns 1 while there are more.
 */
static int loss_slice(tu_learner *l)
{
    const tu_config *config = l->config;
    tu_batch batch = {&l->reservoir, &l->rng, l->indices, config->batch, config->states + config->inputs, config->sees};
    int whole = config->sees_count == batch.columns;
    for (int i = 0; whole && i < batch.columns; i++) {
        whole = config->sees[i] == i;
    }
    batch.sees = whole ? NULL : config->sees;
    if (l->setup.second_order > 0) {
        l->job.loss = l->known.paper->gradient(l, &batch);
        return 0;
    }
    const tu_real *weights = config->network_nodes == 1 ? NULL : l->network_nodes.weights;
    l->job.first = tu_loss_first_slice(&l->net, l->params, &batch, config->network_nodes, weights, l->loss_scratch,
                                       l->grad, l->job.first, &l->job.loss);
    if (l->job.first < config->batch) {
        return 1;
    }
    l->job.loss /= (tu_real)config->batch;
    return 0;
}

/* Applies a minibatch's gradient: clip, Adam, average. */
static void apply_gradient(tu_learner *l)
{
    const tu_config *config = l->config;
    size_t bytes = (size_t)l->adam.count * sizeof(tu_real);
    tu_real loss = l->job.loss, norm = tu_clip(l->grad, l->adam.count, TU_CLIP_NORM);
    if (!tu_finite(loss) || !tu_finite(norm)) {
        memcpy(l->params, l->average, bytes);
        tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
        tu_count(&l->counters.rolled_back);
        return;
    }
    if (config->adam) {
        tu_real rate = tu_cosine_rate(l->since_change - 1, (uint32_t)config->updates, l->rate, config->rate_floor);
        tu_adam_step(&l->adam, l->params, l->grad, rate);
    } else {
        tu_sgd_step(l->params, l->grad, l->adam.count, l->rate);
    }
    if (config->decay > 0) {
        tu_ema_update(l->average, l->params, l->adam.count, l->since_change - 1, config->decay);
    } else {
        memcpy(l->average, l->params, bytes);
    }
    l->loss = loss;
    l->loss_sum += loss;
    l->loss_count++;
}

/* Whether the network's schedule is over: in the stream it trains for one schedule, and again after a change. */
static int schedule_is_over(const tu_learner *l)
{
    return tu_config_watched(l->config) && l->library.columns && tu_learner_updates_left(l) == 0;
}

enum { BEGIN = 0, APPLY = -1 }; /* of learner->job.first */

/* One update: a minibatch, its exact gradient, clip, Adam, average. */
int tu_learner_train_slice(tu_learner *l)
{
    if (l->job.first == APPLY) {
        apply_gradient(l);
        l->job.first = BEGIN;
        return 0;
    }
    if (!loss_slice(l)) {
        l->job.first = APPLY;
    }
    return 1;
}

/* Skipped while there is too little data, or nothing to train. */
int tu_learner_update_slice(tu_learner *l)
{
    if (l->job.first == BEGIN) {
        tu_count(&l->counters.updates);
        tu_count(&l->since_change);
        if (!l->known.network || tu_reservoir_count(&l->reservoir) < (uint32_t)l->config->batch ||
            schedule_is_over(l)) {
            return 0;
        }
    }
    return l->known.network->train_slice(l);
}

void tu_learner_step(tu_learner *l, uint32_t count)
{
    for (; count > 0; count--) {
        while (tu_learner_update_slice(l)) {
        }
    }
}

uint32_t tu_learner_updates_left(const tu_learner *l)
{
    uint32_t all = (uint32_t)l->config->updates;
    return l->since_change < all ? all - l->since_change : 0;
}

void tu_learner_solve(tu_learner *l)
{
    if (l->calibrated) {
        tu_targets_solve(l);
    }
}

void tu_learner_judge(tu_learner *l)
{
    if (l->calibrated && l->known.network) {
        l->known.network->judge(l);
    }
}

void tu_learner_conclude(tu_learner *l)
{
    if (l->calibrated && l->known.network) {
        l->known.network->finish_layer(l);
        memmove(l->good, l->average, (size_t)l->adam.count * sizeof(tu_real));
        l->known.network->judge(l);
    }
}

void tu_learner_finish(tu_learner *l)
{
    tu_learner_solve(l);
    tu_learner_step(l, l->calibrated ? tu_learner_updates_left(l) : 0);
    tu_learner_conclude(l);
}

int tu_learner_set_network(tu_learner *l, const tu_real *weights, tu_real rate)
{
    int usable = tu_usable(rate) && rate >= 0;
    for (int i = 0; i < l->adam.count; i++) {
        usable &= tu_usable(weights[i]);
    }
    if (!usable || !l->adam.count) {
        return TU_BAD_CONFIG;
    }
    l->known.network->take(l, weights);
    for (int i = 0; i < l->config->on_count; i++) {
        l->network_on[i] = 1;
    }
    l->since_change = 0;
    l->rate = rate;
    return TU_OK;
}
