#include "network/holdout.h"

#include "network/last_layer.h"
#include "numeric/statistics.h"

#include <string.h>

static const tu_real LEAST_GAIN = TU_R(1.0); /* minimum gain on held-out parts, in standard errors, */
static const tu_real CLEARLY = TU_R(2.0);    /* and in a stream, where the test is repeated */
/* Minimum squared gain, in units of the derivative's scale: a gain of half a percent. Below it, a systematic error of
 * the windows would count as a gain.
 */
static const tu_real WORTH = TU_R(5e-5);
/* Share of the squared held-out remainder of the model's network that a replacement must explain. */
static const tu_real REPLACED = TU_R(0.5);
enum { LEAST_PARTS = 8 };           /* minimum for a test in the stream, */
enum { LEAST_PARTS_RELEARNED = 4 }; /* and soon after a change: the parts of the first held-out block */
enum { EVALUATED = 2 };             /* entries per slice */

static tu_real column_of(const tu_learner *l, uint32_t index, int column)
{
    tu_real value = 0;
    tu_reservoir_gather(&l->holdout, &index, 1, column, 1, &value);
    return value;
}

/* The library's correction of an entry with the current weights, by residual state. */
static void moved_at(tu_learner *l, uint32_t index, tu_real *beside)
{
    const int on = l->config->on_count, width = l->config->parameters + l->config->library_terms;
    tu_last_layer_terms(l, &l->holdout, index, l->library.moved);
    for (int i = 0; i < on; i++) {
        beside[i] = 0;
        for (int k = l->config->parameters; k < width; k++) {
            beside[i] += l->targets.design[i * width + k];
        }
    }
}

/* Adds the network's gain on one entry: squared remainder without it minus squared remainder with it. Returns the sum
 * of the latter. beside: the library's correction, or NULL.
 */
static tu_real add_gain(const tu_learner *l, const tu_real *weights, uint32_t index, const tu_real *beside,
                        tu_real *gain)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    int columns = config->states + config->inputs, on = config->on_count;
    tu_real *acts = l->loss_scratch, squares = 0;
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
        tu_real rest = column_of(l, index, nodes->count * columns + i) - (beside ? beside[i] : 0), left = rest;
        for (int q = 0; q < nodes->count; q++) {
            left -= nodes->weights[q * on + i] * answer[q * TU_ROW_STEP(on) + i * TU_UNIT_STEP];
        }
        gain[i] += rest * rest - left * left;
        squares += left * left;
    }
    return squares;
}

/* Whether an earlier entry belongs to the same part of a held-out block. */
static int is_counted(const tu_learner *l, uint32_t index, tu_real part, int tag)
{
    for (uint32_t other = 0; other < index; other++) {
        if (column_of(l, other, tag) == part) {
            return 1;
        }
    }
    return 0;
}

/* Mean gain over the entries of a part, starting at its first. */
static void part_gain(const tu_learner *l, const tu_real *weights, uint32_t first, tu_real part, int tag, tu_real *gain)
{
    tu_real entries = 0;
    tu_clear(gain, l->config->on_count);
    for (uint32_t index = first; index < tu_reservoir_count(&l->holdout); index++) {
        if (column_of(l, index, tag) == part) {
            add_gain(l, weights, index, NULL, gain);
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
        l->network_on[i] = error > 0 && gains[i].mean > LEAST_GAIN * error;
    }
}

/* Closes a part: its mean gains, and the reduction of the remainder by the current weights. */
static void close_part(tu_learner *l)
{
    const int on = l->config->on_count;
    tu_watch *watch = &l->watch;
    for (int i = 0; i <= 2 * on; i++) {
        tu_statistics_add(&watch->gains[i], watch->gain[i] / watch->entries);
    }
    tu_clear(watch->gain, 2 * on + 1);
    watch->entries = 0;
}

/* Minimum gain of new weights over the last good ones. Weights in use are replaced only if that explains a large share
 * of their remainder, noise included; less may be chance. Soon after a change the last good ones belong to the old
 * dynamics, or to fewer windows: the new ones must only not be clearly worse.
 */
static tu_real least_better(const tu_learner *l)
{
    const tu_watch *watch = &l->watch;
    tu_real error = tu_statistics_error(&watch->gains[2 * l->config->on_count]);
    if (!tu_any(l->network_on, l->config->on_count)) {
        return LEAST_GAIN * error;
    }
    if (tu_last_layer_relearns(l)) {
        return -CLEARLY * error;
    }
    return tu_larger(CLEARLY * error, REPLACED * watch->left.mean);
}

/* Applies the change of the library's coefficients; it is subtracted from the stored targets next. */
static void take_moved(tu_learner *l)
{
    for (int j = 0; j < l->library.columns; j++) {
        l->library.coefficients[j] += l->library.moved[j];
    }
    if (l->watch.moves) {
        l->job.solve = TU_REMOVING;
        l->job.index = 0;
    }
}

/* Acts on the gains over all parts. The library is fitted to the network's remainder, so it restarts with a new
 * network.
 */
static void conclude_watch(tu_learner *l)
{
    int moved = 0;
    const int on = l->config->on_count;
    const size_t bytes = (size_t)l->adam.count * sizeof(tu_real);
    const tu_statistics *better = &l->watch.gains[2 * on], *gains = l->watch.gains + on; /* of the last good weights */
    if (better->count < (tu_last_layer_relearns(l) ? LEAST_PARTS_RELEARNED : LEAST_PARTS)) {
        return;
    }
    if (better->mean < -LEAST_GAIN * tu_statistics_error(better) && !tu_learner_updates_left(l)) {
        memcpy(l->params, l->good, bytes);
        memcpy(l->average, l->good, bytes);
        tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
        tu_count(&l->counters.rolled_back);
        l->rate *= TU_R(0.5); /* updates made predictions worse: use smaller steps */
    } else if (better->mean > least_better(l)) {
        memcpy(l->good, l->average, bytes);
        take_moved(l);
        l->rate = l->rate < TU_R(0.5) * l->config->rate ? 2 * l->rate : l->config->rate;
        gains = l->watch.gains;
        moved = tu_any(l->network_on, on);
    }
    for (int i = 0; l->library.columns && i < on; i++) {
        tu_real least = l->network_on[i] ? 0 : tu_larger(WORTH, CLEARLY * tu_statistics_error(&gains[i]));
        int now = gains[i].mean > least;
        moved |= now != l->network_on[i];
        l->network_on[i] = now;
    }
    if (moved) {
        tu_change_clear(&l->change); /* past scores belong to another model */
        tu_learner_prior_begin(l);
    }
}

/* Adds entries of the first one's part. Returns 1 while there may be more. */
static int add_part(tu_learner *l, int tag)
{
    tu_watch *watch = &l->watch;
    const tu_real part = column_of(l, watch->first, tag);
    uint32_t found[EVALUATED];
    int count = 0;
    for (; watch->index < tu_reservoir_count(&l->holdout) && count < EVALUATED; watch->index++) {
        if (column_of(l, watch->index, tag) == part) {
            found[count++] = watch->index;
        }
    }
    const int on = l->config->on_count;
    const tu_real *weights = tu_mlp_weights(&l->net, l->average);
    tu_real now[EVALUATED], beside[TU_MAX_STATES];
    for (int i = 0; i < count; i++) {
        if (watch->moves) {
            moved_at(l, found[i], beside);
        }
        now[i] = add_gain(l, weights, found[i], watch->moves ? beside : NULL, watch->gain);
    }
    weights = tu_mlp_weights(&l->net, l->good);
    for (int i = 0; i < count; i++) {
        tu_real left = add_gain(l, weights, found[i], NULL, watch->gain + on);
        watch->gain[2 * on] += left - now[i]; /* exactly 0 for the same weights */
        tu_statistics_add(&watch->left, left);
    }
    watch->entries += (tu_real)count;
    return watch->index < tu_reservoir_count(&l->holdout);
}

int tu_holdout_watch_slice(tu_learner *l)
{
    const int tag = (int)l->holdout.width - 1;
    const uint32_t count = tu_reservoir_count(&l->holdout);
    tu_watch *watch = &l->watch;
    if (watch->first == 0 && watch->index == 0) {
        if (tu_last_layer_relearn_slice(l)) {
            return 1;
        }
        watch->moves = 0;
        for (int j = 0; j < l->library.columns; j++) {
            watch->moves |= l->library.moved[j] != 0;
        }
        memset(&watch->left, 0, sizeof watch->left);
        memset(watch->gains, 0, (size_t)(2 * l->config->on_count + 1) * sizeof *watch->gains);
    }
    if (watch->first < count) {
        int begun = watch->index > watch->first || !is_counted(l, watch->first, column_of(l, watch->first, tag), tag);
        if (begun && add_part(l, tag)) {
            return 1;
        }
        if (begun) {
            close_part(l);
        }
        watch->index = ++watch->first;
        return 1;
    }
    conclude_watch(l);
    watch->first = watch->index = 0;
    return 0;
}
