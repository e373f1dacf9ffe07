#include "network/adam.h"

#include "numeric/elementary.h"

static const tu_real BETA1 = TU_R(0.9), BETA2 = TU_R(0.999), EPSILON = TU_R(1e-8);

void tu_adam_init(tu_adam *adam, tu_real *first, tu_real *second, int count)
{
    adam->first = first;
    adam->second = second;
    adam->count = count;
    adam->power1 = 1;
    adam->power2 = 1;
    for (int i = 0; i < count; i++) {
        first[i] = 0;
        second[i] = 0;
    }
}

tu_real tu_clip(tu_real *grad, int count, tu_real limit)
{
    tu_real norm = tu_sqrt(tu_sum_squares(grad, count));
    if (norm > limit) {
        tu_real scale = limit / norm;
        TU_LANES
        for (int i = 0; i < count; i++) {
            grad[i] *= scale;
        }
    }
    return norm;
}

void tu_adam_step(tu_adam *adam, tu_real *params, const tu_real *grad, tu_real rate)
{
    tu_real *first = adam->first, *second = adam->second;
    adam->power1 *= BETA1;
    adam->power2 *= BETA2;
    tu_real unbias = tu_sqrt(1 - adam->power2);
    tu_real step = rate * unbias / (1 - adam->power1), epsilon = EPSILON * unbias;
    TU_LANES
    for (int i = 0; i < adam->count; i++) {
        tu_real g = grad[i];
        tu_real mean = first[i] + (1 - BETA1) * (g - first[i]);
        tu_real square = second[i] + (1 - BETA2) * (g * g - second[i]);
        params[i] -= step * mean / (tu_sqrt(square) + epsilon);
        first[i] = mean;
        second[i] = square;
    }
}

void tu_sgd_step(tu_real *params, const tu_real *grad, int count, tu_real rate)
{
    TU_LANES
    for (int i = 0; i < count; i++) {
        params[i] -= rate * grad[i];
    }
}

tu_real tu_cosine_rate(uint32_t step, uint32_t steps, tu_real rate, tu_real floor)
{
    tu_real phase = step < steps ? (tu_real)step / (tu_real)steps : 1;
    return rate * (floor + (1 - floor) * (TU_R(0.5) * (1 + tu_cos(TU_PI * phase))));
}

void tu_ema_update(tu_real *average, const tu_real *params, int count, uint32_t step, tu_real decay)
{
    tu_real done = (tu_real)step;
    tu_real warm = (1 + done) / (10 + done);
    tu_real share = 1 - (warm < decay ? warm : decay);
    TU_LANES
    for (int i = 0; i < count; i++) {
        average[i] += share * (params[i] - average[i]);
    }
}
