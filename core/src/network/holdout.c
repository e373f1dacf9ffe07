#include "network/holdout.h"

#include "numeric/statistics.h"

static const tu_real EARNED = TU_R(1.0); /* standard errors by which the network must improve held-out parts */

static tu_real column_of(const tu_learner *l, uint32_t index, int column)
{
    tu_real value = 0;
    tu_reservoir_gather(&l->holdout, &index, 1, column, 1, &value);
    return value;
}

/* Adds what the network gains on one entry: squared remainder without it minus squared remainder with it. */
static void add_gain(const tu_learner *l, const tu_real *weights, uint32_t index, tu_real *gain)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    int columns = config->states + config->inputs, on = config->on_count;
    tu_real *acts = l->loss_scratch;
    const tu_real *answer = acts + tu_mlp_offset(&l->net, l->net.layers);
    for (int q = 0; q < nodes->count; q++) {
        for (int i = 0; i < config->sees_count; i++) {
            acts[q * TU_ROW_STEP(config->sees_count) + i * TU_UNIT_STEP] =
                column_of(l, index, q * columns + config->sees[i]);
        }
    }
    tu_mlp_pad(nodes->count, config->sees_count, acts);
    tu_mlp_forward(&l->net, weights, nodes->count, acts);
    for (int i = 0; i < on; i++) {
        tu_real rest = column_of(l, index, nodes->count * columns + i), left = rest;
        for (int q = 0; q < nodes->count; q++) {
            left -= nodes->weights[q * on + i] * answer[q * TU_ROW_STEP(on) + i * TU_UNIT_STEP];
        }
        gain[i] += rest * rest - left * left;
    }
}

/* Whether an earlier entry is of the same part of a held-out block. */
static int is_counted(const tu_learner *l, uint32_t index, tu_real part, int tag)
{
    for (uint32_t other = 0; other < index; other++) {
        if (column_of(l, other, tag) == part) {
            return 1;
        }
    }
    return 0;
}

/* Mean gain over the entries of a part, from the first of them on. */
static void part_gain(const tu_learner *l, const tu_real *weights, uint32_t first, tu_real part, int tag, tu_real *gain)
{
    tu_real entries = 0;
    tu_clear(gain, l->config->on_count);
    for (uint32_t index = first; index < tu_reservoir_count(&l->holdout); index++) {
        if (column_of(l, index, tag) == part) {
            add_gain(l, weights, index, gain);
            entries += 1;
        }
    }
    for (int i = 0; i < l->config->on_count; i++) {
        gain[i] /= entries;
    }
}

void tu_holdout_judge(tu_learner *l)
{
    const int on = l->config->on_count, tag = (int)l->holdout.width - 1;
    tu_statistics gains[TU_MAX_STATES] = {{0, 0, 0}};
    tu_real gain[TU_MAX_STATES];
    if (!l->config->hidden_count || !l->library.columns || tu_reservoir_count(&l->holdout) == 0) {
        return;
    }
    const tu_real *weights = tu_mlp_weights(&l->net, l->average);
    for (uint32_t index = 0; index < tu_reservoir_count(&l->holdout); index++) {
        tu_real part = column_of(l, index, tag);
        if (!is_counted(l, index, part, tag)) {
            part_gain(l, weights, index, part, tag, gain);
            for (int i = 0; i < on; i++) {
                tu_statistics_add(&gains[i], gain[i]);
            }
        }
    }
    for (int i = 0; i < on; i++) {
        tu_real error = tu_statistics_error(&gains[i]);
        l->network_on[i] = error > 0 && gains[i].mean > EARNED * error;
    }
}
