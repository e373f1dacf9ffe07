#include "paper/taps.h"

#include "numeric/elementary.h"

int tu_taps_spacing(const tu_config *config, const tu_scales *scales, const tu_noise *noise)
{
    tu_real relative = 0, dx = 0, ddx = 0;
    for (int i = 0; i < config->states; i++) {
        relative += noise->sigma[config->channel[i]] / scales->x[i] / (tu_real)config->states;
        dx += scales->dx[i] * scales->dx[i];
        ddx += scales->ddx[i] * scales->ddx[i];
    }
    tu_real fifth_root = tu_exp(TU_R(0.2) * tu_log(relative / TU_R(0.01)));
    tu_real ticks = TU_R(0.09) / tu_sqrt(ddx / dx) * fifth_root / config->sample_period;
    int most = config->max_half / config->taps;
    if (!(ticks < (tu_real)most)) {
        return most;
    }
    int whole = (int)ticks;
    tu_real left = ticks - (tu_real)whole; /* round to nearest, halves to even */
    whole += left > TU_R(0.5) || (left == TU_R(0.5) && whole % 2 == 1);
    return whole > 1 ? whole : 1;
}

static tu_real snr2_of(const tu_config *config, const tu_window *window, const tu_scales *scales, const tu_noise *noise)
{
    tu_real row = tu_sqrt(tu_window_derivative_gain(window, 2)), worst = 0;
    for (int i = 0; i < config->states; i++) {
        tu_real ratio = scales->ddx[i] / (row * noise->sigma[config->channel[i]]);
        worst = i == 0 || ratio < worst ? ratio : worst;
    }
    return worst;
}

void tu_taps_finish(const tu_config *config, const tu_noise *noise, tu_taps_rule rule, tu_setup *setup)
{
    int adaptive = !config->dense && config->adaptive;
    if (adaptive) {
        int spacing = rule(config, &setup->scales, noise);
        tu_window_make(&setup->window, config->taps, spacing, config->poly, config->sample_period);
    }
    setup->snr2 = snr2_of(config, &setup->window, &setup->scales, noise);
    setup->second_order = adaptive && !(setup->snr2 >= config->snr_gate) ? 0 : config->second_order;
}
