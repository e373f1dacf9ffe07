#include "elementary.h"
#include "teach.h"

static const tu_real EARNED = TU_R(1.0); /* standard errors by which the network must improve held-back parts */

/* Working memory, behind the network's own in the loss's. */
typedef struct {
    const tu_real *weights; /* the averaged ones */
    tu_real *acts;          /* a block of activations */
    tu_real *gain;          /* summed over a part of a held-back block; then its mean */
    tu_real *mean;          /* over the parts so far */
    tu_real *spread;        /* sum of squared deviations from it */
} judgement;

static judgement place(const tu_learner *l)
{
    judgement j;
    j.weights = tu_mlp_weights(&l->net, l->average);
    j.acts = l->loss_scratch;
    j.gain = j.acts + tu_mlp_block(&l->net);
    j.mean = j.gain + l->config->on_count;
    j.spread = j.mean + l->config->on_count;
    return j;
}

static tu_real column_of(const tu_learner *l, uint32_t index, int column)
{
    tu_real value = 0;
    tu_reservoir_gather(&l->holdout, &index, 1, column, 1, &value);
    return value;
}

/* Adds what the network gains on one entry: squared rest without it minus squared rest with it. */
static void add_gain(const tu_learner *l, const judgement *j, uint32_t index)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    int columns = config->states + config->inputs, on = config->on_count;
    const tu_real *answer = j->acts + tu_mlp_offset(&l->net, l->net.layers);
    for (int q = 0; q < nodes->count; q++) {
        for (int i = 0; i < config->sees_count; i++) {
            j->acts[q * TU_ROW_STEP(config->sees_count) + i * TU_UNIT_STEP] =
                column_of(l, index, q * columns + config->sees[i]);
        }
    }
    tu_mlp_pad(nodes->count, config->sees_count, j->acts);
    tu_mlp_forward(&l->net, j->weights, nodes->count, j->acts);
    for (int i = 0; i < on; i++) {
        tu_real rest = column_of(l, index, nodes->count * columns + i), left = rest;
        for (int q = 0; q < nodes->count; q++) {
            left -= nodes->weights[q * on + i] * answer[q * TU_ROW_STEP(on) + i * TU_UNIT_STEP];
        }
        j->gain[i] += rest * rest - left * left;
    }
}

/* Mean gain over the entries with this one's tag, which must not have come up before. 0: it has. */
static int part_gain(const tu_learner *l, const judgement *j, uint32_t index)
{
    int tag = (int)l->holdout.width - 1;
    tu_real part = column_of(l, index, tag), entries = 0;
    for (uint32_t other = 0; other < index; other++) {
        if (column_of(l, other, tag) == part) {
            return 0;
        }
    }
    for (int i = 0; i < l->config->on_count; i++) {
        j->gain[i] = 0;
    }
    for (uint32_t other = index; other < tu_reservoir_count(&l->holdout); other++) {
        if (column_of(l, other, tag) == part) {
            add_gain(l, j, other);
            entries += 1;
        }
    }
    for (int i = 0; i < l->config->on_count; i++) {
        j->gain[i] /= entries;
    }
    return 1;
}

void tu_teach_judge(tu_learner *l)
{
    const tu_config *config = l->config;
    uint32_t count = tu_reservoir_count(&l->holdout);
    if (!config->hidden_count || !l->library.columns || count == 0) {
        return;
    }
    judgement j = place(l);
    tu_real parts = 0;
    for (int i = 0; i < 2 * config->on_count; i++) {
        j.mean[i] = 0; /* and the spread */
    }
    for (uint32_t index = 0; index < count; index++) {
        if (!part_gain(l, &j, index)) {
            continue;
        }
        parts += 1;
        for (int i = 0; i < config->on_count; i++) { /* Welford's running mean and spread */
            tu_real off = j.gain[i] - j.mean[i];
            j.mean[i] += off / parts;
            j.spread[i] += off * (j.gain[i] - j.mean[i]);
        }
    }
    for (int i = 0; i < config->on_count; i++) {
        tu_real error = parts > 1 ? tu_sqrt(j.spread[i] / (parts - 1) / parts) : (tu_real)INFINITY;
        l->network_on[i] = j.mean[i] > EARNED * error;
    }
}
