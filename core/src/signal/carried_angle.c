#include "signal/carried_angle.h"

#include "numeric/elementary.h"

static const tu_real LONGEST = TU_R(4.0); /* windows remembered at most: neither a small bias nor an error may reach far */
static const tu_real BETTER = TU_R(0.5);   /* variance, in units of a window's own, below which the angle is trusted */
static const tu_real ASTRAY = TU_R(5.0);   /* standard errors from the window's own at which it is not */

void tu_reckon_carve(tu_reckon *reckon, tu_arena *arena, const tu_config *config)
{
    int rates = 0;
    for (int c = 0; c < config->channels; c++) {
        rates |= config->rate_channel[c];
    }
    reckon->angle = tu_arena_reals(arena, rates ? config->channels : 0);
    reckon->count = tu_arena_reals(arena, rates ? config->channels : 0);
    reckon->rate = tu_arena_reals(arena, rates ? config->channels : 0);
}

void tu_reckon_clear(tu_reckon *reckon, const tu_config *config)
{
    for (int c = 0; c < config->channels; c++) {
        if (config->rate_channel[c]) {
            reckon->count[c] = 0;
        }
    }
}

static tu_real samples_of(const tu_window *window) { return (tu_real)(2 * window->half + 1); }

/* Where the two noises balance, within the longest memory. */
static tu_real least_gain(const tu_config *config, const tu_window *window, const tu_real *sigma, int c)
{
    tu_real balance = sigma[config->rate_channel[c] - 1] * config->sample_period / sigma[c];
    return tu_larger(balance, TU_R(1.0) / (LONGEST * samples_of(window)));
}

static void carry(tu_reckon *reckon, const tu_config *config, int c, tu_real least, const tu_ring *ring, int count)
{
    tu_real angle = reckon->angle[c], rate = reckon->rate[c], known = reckon->count[c];
    const tu_real half = TU_R(0.5) * config->sample_period;
    const tu_real *angles = ring->values + c * ring->span;
    const tu_real *rates = ring->values + (config->rate_channel[c] - 1) * ring->span;
    int slot = tu_ring_slot(ring, count - 1);
    if (count > 0 && known == 0) { /* the first step goes nowhere */
        angle = angles[slot];
        rate = -rates[slot];
    }
    for (; count > 0; count--, slot = slot + 1 < ring->span ? slot + 1 : 0) {
        angle += half * (rates[slot] + rate);
        rate = rates[slot];
        known += 1;
        angle += tu_larger(least, TU_R(1.0) / known) * (angles[slot] - angle);
    }
    reckon->angle[c] = angle;
    reckon->rate[c] = rate;
    reckon->count[c] = known;
}

void tu_reckon_push(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                    const tu_ring *ring, int count)
{
    for (int c = 0; c < config->channels; c++) {
        if (config->rate_channel[c]) {
            carry(reckon, config, c, least_gain(config, window, sigma, c), ring, count);
        }
    }
}

void tu_reckon_window(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                      const tu_fit *fit)
{
    tu_real samples = samples_of(window);
    for (int c = 0; c < config->channels; c++) {
        if (!config->rate_channel[c] || reckon->count[c] == 0 ||
            tu_larger(least_gain(config, window, sigma, c), TU_R(1.0) / reckon->count[c]) * samples > BETTER) {
            continue;
        }
        const tu_real *rate = fit->coefficients + (config->rate_channel[c] - 1) * (window->poly + 1);
        tu_real *mean = fit->coefficients + c * (window->poly + 1);
        tu_real carried = reckon->angle[c] - window->seconds * (rate[0] + rate[1] / TU_R(3.0));
        if (tu_abs(carried - *mean) > ASTRAY * sigma[c] / tu_sqrt(samples)) {
            reckon->count[c] = 0;
        } else {
            *mean = carried;
        }
    }
}
