#include "network/network_part.h"

#include "network/holdout.h"
#include "network/last_layer.h"
#include "signal/angle.h"

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

const tu_network_part tu_network = {
    start,      tu_learner_train_slice, tu_holdout_watch_slice, tu_holdout_judge, tu_last_layer_finish, add_answer,
    tu_mlp_run,
};
