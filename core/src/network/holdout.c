#include "numeric/elementary.h"
#include "regression/targets.h"

static const tu_real EARNED = TU_R(1.0); /* standard errors by which the network must improve held-back parts */

/* Working memory, behind the network's own in the loss's. */
typedef struct {
    int columns;     /* the residual states, and the sum of them all */
    tu_real *acts;   /* a block of activations */
    tu_real *gain;   /* summed over a part of a held-back block; then its mean */
    tu_real *mean;   /* over the parts so far; then in standard errors */
    tu_real *spread; /* sum of squared deviations from it */
} judgement;

static judgement place(const tu_learner *l)
{
    judgement j;
    j.columns = l->config->on_count + 1;
    j.acts = l->loss_scratch;
    j.gain = j.acts + tu_mlp_block(&l->net);
    j.mean = j.gain + j.columns;
    j.spread = j.mean + j.columns;
    return j;
}

static tu_real column_of(const tu_learner *l, uint32_t index, int column)
{
    tu_real value = 0;
    tu_reservoir_gather(&l->holdout, &index, 1, column, 1, &value);
    return value;
}

/* Adds what a network gains on one entry: squared rest without it minus squared rest with it, times the sign. */
static void add_gain(const tu_learner *l, const judgement *j, const tu_real *weights, tu_real sign, uint32_t index)
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
    tu_mlp_forward(&l->net, weights, nodes->count, j->acts);
    for (int i = 0; i < on; i++) {
        tu_real rest = column_of(l, index, nodes->count * columns + i), left = rest;
        for (int q = 0; q < nodes->count; q++) {
            left -= nodes->weights[q * on + i] * answer[q * TU_ROW_STEP(on) + i * TU_UNIT_STEP];
        }
        j->gain[i] += sign * (rest * rest - left * left);
        j->gain[on] += sign * (rest * rest - left * left);
    }
}

/* Adds what the network with these weights gains on the entries of a part, from the first of them: how many. */
static tu_real add_part(const tu_learner *l, const judgement *j, const tu_real *params, tu_real sign, uint32_t first)
{
    int tag = (int)l->holdout.width - 1;
    const tu_real *weights = tu_mlp_weights(&l->net, params);
    tu_real part = column_of(l, first, tag), entries = 0;
    for (uint32_t index = first; index < tu_reservoir_count(&l->holdout); index++) {
        if (column_of(l, index, tag) == part) {
            add_gain(l, j, weights, sign, index);
            entries += 1;
        }
    }
    return entries;
}

/* Mean gain over the entries with this one's tag, which must not have come up before. 0: it has. */
static int part_gain(const tu_learner *l, const judgement *j, const tu_real *before, uint32_t index)
{
    int tag = (int)l->holdout.width - 1;
    tu_real part = column_of(l, index, tag);
    for (uint32_t other = 0; other < index; other++) {
        if (column_of(l, other, tag) == part) {
            return 0;
        }
    }
    tu_clear(j->gain, j->columns);
    tu_real entries = add_part(l, j, l->average, TU_R(1.0), index);
    if (before) {
        add_part(l, j, before, TU_R(-1.0), index);
    }
    for (int i = 0; i < j->columns; i++) {
        j->gain[i] /= entries;
    }
    return 1;
}

/* What the averaged network gains on held-back parts over another one, or over none: the mean in standard errors. */
static judgement weigh(const tu_learner *l, const tu_real *before)
{
    judgement j = place(l);
    tu_real parts = 0;
    tu_clear(j.mean, 2 * j.columns); /* and the spread */
    for (uint32_t index = 0; index < tu_reservoir_count(&l->holdout); index++) {
        if (!part_gain(l, &j, before, index)) {
            continue;
        }
        parts += 1;
        for (int i = 0; i < j.columns; i++) { /* Welford's running mean and spread */
            tu_real off = j.gain[i] - j.mean[i];
            j.mean[i] += off / parts;
            j.spread[i] += off * (j.gain[i] - j.mean[i]);
        }
    }
    for (int i = 0; i < j.columns; i++) {
        tu_real error = parts > 1 ? tu_sqrt(j.spread[i] / (parts - 1) / parts) : 0;
        j.mean[i] = error > 0 ? j.mean[i] / error : 0;
    }
    return j;
}

void tu_teach_judge(tu_learner *l)
{
    if (!l->config->hidden_count || !l->library.columns || tu_reservoir_count(&l->holdout) == 0) {
        return;
    }
    judgement j = weigh(l, NULL);
    for (int i = 0; i < l->config->on_count; i++) {
        l->network_on[i] = j.mean[i] > EARNED;
    }
}

int tu_teach_better(const tu_learner *l, const tu_real *before)
{
    judgement j = weigh(l, before);
    return j.mean[l->config->on_count] > EARNED;
}
