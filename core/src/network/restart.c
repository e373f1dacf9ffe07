#include "network/restart.h"

#include "numeric/elementary.h"
#include "regression/targets.h"

#include <string.h>

static const tu_real ELSEWHERE = TU_R(0.1); /* of the usual slope, along everything but the angles */

void tu_around_init(const tu_mlp *net, const int32_t *columns, const tu_real *scales, int angles, tu_rng *rng,
                    tu_real *params)
{
    const int inputs = net->sizes[0], units = net->sizes[1];
    tu_real *bias = params + inputs * units;
    tu_mlp_init(net, rng, params);
    for (int i = 0; i < inputs * units; i++) {
        params[i] *= ELSEWHERE;
    }
    for (int unit = 0; unit < units; unit++) {
        int place = unit / angles, turn = unit % angles, steps = (units - turn + angles - 1) / angles;
        tu_real sign = place % 2 ? TU_R(-1.0) : TU_R(1.0);
        params[unit * inputs + columns[turn]] = sign * (tu_real)steps * scales[turn] / (2 * TU_PI);
        bias[unit] = TU_R(-0.5) * sign * (tu_real)(2 * place + 1 - steps);
    }
}

/* Network columns that hold an angle on a circle, and their scales: how many. */
static int find_angles(const tu_learner *l, int32_t *columns, tu_real *scales)
{
    const tu_config *config = l->config;
    int count = 0;
    for (int column = 0; column < config->sees_count; column++) {
        int state = config->sees[column];
        if (state < config->states && config->order[state] == 0 && config->circular[config->channel[state]]) {
            columns[count] = column;
            scales[count++] = l->settled.scales.x[state];
        }
    }
    return count;
}

/* Makes a network answer 0 where it did not earn its keep: that is what the second one must beat. */
static void silence(const tu_learner *l, tu_real *params)
{
    const int outputs = l->config->on_count, units = l->net.sizes[l->net.layers - 1];
    tu_real *last = params + l->adam.count - outputs * (units + 1);
    for (int i = 0; i < outputs; i++) {
        if (!l->network_on[i]) {
            tu_clear(last + i * units, units);
            last[outputs * units + i] = 0;
        }
    }
}

/* Where the network of the first start is laid. */
static tu_real *aside(const tu_learner *l) { return l->average + l->adam.count; }

int tu_around_begin(tu_learner *l)
{
    const tu_config *config = l->config;
    size_t bytes = (size_t)l->adam.count * sizeof(tu_real);
    int32_t columns[sizeof config->sees / sizeof config->sees[0]];
    tu_real scales[sizeof config->sees / sizeof config->sees[0]];
    int angles = config->around && config->hidden_count ? find_angles(l, columns, scales) : 0;
    if (!angles || !tu_reservoir_count(&l->holdout) || tu_reservoir_count(&l->reservoir) < (uint32_t)config->batch) {
        return 0;
    }
    memcpy(aside(l), l->average, bytes);
    silence(l, aside(l));
    tu_around_init(&l->net, columns, scales, angles, &l->rng, l->params);
    memcpy(l->average, l->params, bytes);
    tu_adam_init(&l->adam, l->adam.first, l->adam.second, l->adam.count);
    for (int i = 0; i < config->on_count; i++) {
        l->network_on[i] = 1;
    }
    l->since_change = 0;
    l->around = 1;
    return 1;
}

void tu_around_end(tu_learner *l)
{
    size_t bytes = (size_t)l->adam.count * sizeof(tu_real);
    if (!tu_teach_better(l, aside(l))) {
        memcpy(l->average, aside(l), bytes);
        memcpy(l->params, aside(l), bytes);
    }
    l->around = 0;
}
