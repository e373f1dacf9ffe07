#include "config.h"

#include "numeric/finite.h"

/* Bounds that keep every size within 32 bits; far above what any plant needs. */
enum { MAX_UNITS = 1024, MAX_COLUMNS = 512, MAX_ENTRIES = 1000000, MAX_HALF = 8192, MAX_COUNT = 1000000000 };
enum { SMALLEST_HALF = 5, MIN_GROUPS = 6, MAX_GROUPS = 64, MAX_BATCH = 65536 };

/* In seconds: powers of a window's length must fit in float32. */
static const tu_real SHORTEST_PERIOD = TU_R(1e-7), LONGEST_PERIOD = TU_R(1e6);

tu_mlp tu_config_net(const tu_config *config)
{
    tu_mlp net;
    net.layers = config->hidden_count + 1;
    net.sizes[0] = config->sees_count;
    for (int i = 0; i < config->hidden_count; i++) {
        net.sizes[i + 1] = config->hidden[i];
    }
    net.sizes[net.layers] = config->on_count;
    net.transposed = NULL;
    return net;
}

int tu_config_columns(const tu_config *config) { return config->parameters + config->library_terms * config->on_count; }

int tu_config_span(const tu_config *config) { return 2 * config->max_half + 1; }

int tu_config_physics_nodes(const tu_config *config)
{
    return config->inputs > 0 && config->physics_nodes > 1 ? 2 * config->max_half : config->physics_nodes;
}

int tu_config_fused(const tu_config *config)
{
    int rates = 0;
    for (int c = 0; c < config->channels; c++) {
        rates |= config->rate_channel[c];
    }
    return rates != 0;
}

int tu_config_watched(const tu_config *config) { return config->judged && config->hidden_count && config->holdout; }

int tu_config_keeps_good(const tu_config *config)
{
    return config->judged && (!config->hidden_count || config->network_nodes == 1);
}

int tu_config_width(const tu_config *config)
{
    int nodes = config->network_nodes * (config->states + config->inputs);
    return nodes + config->on_count + (config->second_order > 0 ? config->states : 0);
}

static int within(int32_t value, int32_t low, int32_t high) { return low <= value && value <= high; }

static int all_within(const int32_t *values, int count, int32_t low, int32_t high)
{
    for (int i = 0; i < count; i++) {
        if (!within(values[i], low, high)) {
            return 0;
        }
    }
    return 1;
}

/* Range check of a rate, weight or threshold; NaN fails. */
static int fraction(tu_real value, tu_real high) { return value >= 0 && value <= high; }

static int system_valid(const tu_config *c)
{
    return within(c->channels, 1, TU_MAX_STATES) && within(c->states, 1, TU_MAX_STATES) &&
           within(c->inputs, 0, TU_MAX_INPUTS) && within(c->poly, 1, TU_MAX_POLY) &&
           all_within(c->channel, c->states, 0, c->channels - 1) && all_within(c->order, c->states, 0, c->poly - 1) &&
           all_within(c->rate_channel, c->channels, 0, c->channels) && all_within(c->wrap, c->channels, 0, 1) &&
           all_within(c->linear, c->inputs, 0, 1) && all_within(c->shift, c->inputs, -1, 1) &&
           c->sample_period >= SHORTEST_PERIOD && c->sample_period <= LONGEST_PERIOD &&
           within(c->on_count, 1, c->states) && all_within(c->on, c->on_count, 0, c->states - 1);
}

static int model_valid(const tu_config *c)
{
    if (!within(c->hidden_count, 0, TU_MAX_HIDDEN) || !all_within(c->hidden, c->hidden_count, 1, MAX_UNITS)) {
        return 0;
    }
    int seen = c->states + c->inputs;
    if (!within(c->sees_count, 1, seen) || !all_within(c->sees, c->sees_count, 0, seen - 1)) {
        return 0;
    }
    return within(c->parameters, 0, MAX_COLUMNS) && within(c->library_terms, 0, MAX_COLUMNS) &&
           tu_config_columns(c) <= MAX_COLUMNS && within(c->forced, 0, tu_config_columns(c));
}

static int windows_valid(const tu_config *c)
{
    int taps = c->dense || (within(c->taps, 1, MAX_HALF) && within(c->spacing, 1, MAX_HALF) && 2 * c->taps > c->poly &&
                            c->taps * c->spacing <= c->max_half);
    int spread = c->dense || c->inputs == 0 || c->physics_nodes == 1; /* inputs: nodes in every sampling interval */
    return taps && spread && within(c->max_half, c->dense ? SMALLEST_HALF : 1, MAX_HALF) &&
           within(c->stride, 1, MAX_COUNT) && within(c->physics_nodes, 1, TU_MAX_NODES) &&
           within(c->network_nodes, 1, TU_MAX_NODES) && within(c->calibration, 1, MAX_COUNT);
}

/* The second-order term requires matching at the window's centre and a network from all states to all states. */
static int second_order_valid(const tu_config *c)
{
    if (!fraction(c->second_order, TU_LIMIT)) {
        return 0;
    }
    int whole = c->network_nodes == 1 && c->on_count == c->states && c->sees_count == c->states;
    for (int i = 0; whole && i < c->states; i++) {
        whole = c->on[i] == i && c->sees[i] == i;
    }
    return whole || !(c->second_order > 0);
}

static int learning_valid(const tu_config *c)
{
    return second_order_valid(c) && fraction(c->snr_gate, TU_LIMIT) &&
           within(c->reservoir, c->hidden_count ? 1 : 0, MAX_ENTRIES) && within(c->holdout, 0, MAX_ENTRIES) &&
           within(c->batch, 1, MAX_BATCH) && within(c->updates, 1, MAX_COUNT) && within(c->train_every, 0, MAX_COUNT) &&
           fraction(c->rate, TU_LIMIT) && fraction(c->rate_floor, 1) && fraction(c->decay, 1) &&
           within(c->groups, MIN_GROUPS, MAX_GROUPS) && within(c->block, 1, MAX_ENTRIES) &&
           fraction(c->threshold, TU_LIMIT) && (c->forget == 0 || within(c->forget, c->block, MAX_COUNT));
}

int tu_config_check(const tu_config *config)
{
    int valid = system_valid(config) && model_valid(config) && windows_valid(config) && learning_valid(config);
    return valid ? TU_OK : TU_BAD_CONFIG;
}
