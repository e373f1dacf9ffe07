#include "reckon.h"

#include "elementary.h"

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

static tu_real gain(const tu_reckon *reckon, const tu_config *config, const tu_real *sigma, int c)
{
    tu_real balance = sigma[config->rate_channel[c] - 1] * config->sample_period / sigma[c];
    tu_real young = TU_R(1.0) / reckon->count[c];
    return balance > young ? balance : young;
}

void tu_reckon_push(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                    const tu_ring *ring)
{
    for (int c = 0; c < config->channels; c++) {
        int rate = config->rate_channel[c] - 1;
        if (rate < 0) {
            continue;
        }
        tu_real sensed = tu_ring_at(ring, c, 0);
        if (reckon->count[c] == 0) {
            reckon->angle[c] = sensed;
        } else {
            reckon->angle[c] += TU_R(0.5) * (tu_ring_at(ring, rate, 0) + tu_ring_at(ring, rate, 1)) * config->sample_period;
        }
        tu_real most = LONGEST * samples_of(window), next = reckon->count[c] + 1;
        reckon->count[c] = next < most ? next : most;
        reckon->angle[c] += gain(reckon, config, sigma, c) * (sensed - reckon->angle[c]);
    }
}

void tu_reckon_window(tu_reckon *reckon, const tu_config *config, const tu_window *window, const tu_real *sigma,
                      const tu_fit *fit)
{
    tu_real samples = samples_of(window);
    for (int c = 0; c < config->channels; c++) {
        if (!config->rate_channel[c] || reckon->count[c] == 0 || gain(reckon, config, sigma, c) * samples > BETTER) {
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
