#include "signal/kinematics.h"

#include "config.h"
#include "numeric/elementary.h"

static const tu_real LONGEST = TU_R(4.0);  /* maximum memory in windows: limits the effect of a bias of the rate */
static const tu_real BETTER = TU_R(0.5);   /* variance, relative to the window's mean, below which it is used */
static const tu_real DIVERGED = TU_R(5.0); /* standard errors from the window's mean at which it is dropped */

static const tu_real DISAGREE = TU_R(6.0); /* standard errors between an angle's slope and its rate */
static const tu_real SHARE = TU_R(0.1);    /* plus this share of the rate: the sensors contradict each other */

void tu_kinematics_carve(tu_kinematics *kinematics, tu_arena *arena, const tu_config *config)
{
    int rates = tu_config_fused(config);
    kinematics->angle = tu_arena_reals(arena, rates ? config->channels : 0);
    kinematics->count = tu_arena_reals(arena, rates ? config->channels : 0);
    kinematics->rate = tu_arena_reals(arena, rates ? config->channels : 0);
}

void tu_kinematics_clear(tu_kinematics *kinematics, const tu_config *config)
{
    for (int c = 0; c < config->channels; c++) {
        if (config->rate_channel[c]) {
            kinematics->count[c] = 0;
        }
    }
}

static tu_real samples_of(const tu_window *window) { return (tu_real)(2 * window->half + 1); }

/* The gain at which both noises balance, limited by the longest memory. */
static tu_real least_gain(const tu_config *config, const tu_window *window, const tu_real *sigma, int c)
{
    tu_real balance = sigma[config->rate_channel[c] - 1] * config->sample_period / sigma[c];
    return tu_larger(balance, TU_R(1.0) / (LONGEST * samples_of(window)));
}

static void carry(tu_kinematics *kinematics, const tu_config *config, int c, tu_real least, const tu_ring *ring,
                  int count)
{
    tu_real angle = kinematics->angle[c], rate = kinematics->rate[c], known = kinematics->count[c];
    const tu_real half = TU_R(0.5) * config->sample_period;
    const tu_real *angles = ring->values + c * ring->span;
    const tu_real *rates = ring->values + (config->rate_channel[c] - 1) * ring->span;
    int slot = tu_ring_slot(ring, count - 1);
    if (count > 0 && known == 0) { /* the first step is 0 */
        angle = angles[slot];
        rate = -rates[slot];
    }
    for (; count > 0; count--, slot = slot + 1 < ring->span ? slot + 1 : 0) {
        angle += half * (rates[slot] + rate);
        rate = rates[slot];
        known += 1;
        angle += tu_larger(least, TU_R(1.0) / known) * (angles[slot] - angle);
    }
    kinematics->angle[c] = angle;
    kinematics->rate[c] = rate;
    kinematics->count[c] = known;
}

void tu_kinematics_push(tu_kinematics *kinematics, const tu_config *config, const tu_window *window,
                        const tu_real *sigma, const tu_ring *ring, int count)
{
    for (int c = 0; c < config->channels; c++) {
        if (config->rate_channel[c]) {
            carry(kinematics, config, c, least_gain(config, window, sigma, c), ring, count);
        }
    }
}

/* The angle's polynomial without its mean: its own coefficients and the integrated rate's, weighted by their noise. */
static void fuse_shape(const tu_window *window, tu_real own_sigma, tu_real rate_sigma, const tu_real *rate,
                       tu_real *angle)
{
    tu_real own_variance = own_sigma * own_sigma, reach = rate_sigma * window->seconds, rate_variance = reach * reach;
    for (int k = 1; k <= window->poly; k++) {
        tu_real below = TU_R(1.0) / (tu_real)(2 * k - 1);
        tu_real above = k < window->poly ? TU_R(1.0) / (tu_real)(2 * k + 3) : 0;
        tu_real integral = window->seconds * (rate[k - 1] * below - (k < window->poly ? rate[k + 1] * above : 0));
        tu_real own = own_variance * (tu_real)(2 * k + 1), theirs = rate_variance * (below + above);
        angle[k] += own / (own + theirs) * (integral - angle[k]);
    }
}

/* The angle's mean: the carried angle if it is more precise than the window's own mean. */
static void fuse_mean(tu_kinematics *kinematics, const tu_config *config, const tu_window *window, const tu_real *sigma,
                      int c, const tu_real *rate, tu_real *mean)
{
    tu_real samples = samples_of(window), known = kinematics->count[c];
    if (known == 0 || tu_larger(least_gain(config, window, sigma, c), TU_R(1.0) / known) * samples > BETTER) {
        return;
    }
    tu_real carried = kinematics->angle[c] - window->seconds * (rate[0] + rate[1] / TU_R(3.0));
    if (tu_abs(carried - *mean) > DIVERGED * sigma[c] / tu_sqrt(samples)) {
        kinematics->count[c] = 0;
    } else {
        *mean = carried;
    }
}

int tu_kinematics_consistent(const tu_config *config, const tu_window *window, const tu_real *sigma, tu_real scale,
                             const tu_fit *fit)
{
    int terms = window->poly + 1;
    tu_real samples = samples_of(window);
    for (int c = 0; c < config->channels; c++) {
        int r = config->rate_channel[c] - 1;
        if (r < 0) {
            continue;
        }
        const tu_real *angle = fit->coefficients + c * terms, *rate = fit->coefficients + r * terms;
        /* coefficient 1 of the angle is the half width times the rate's mean, minus a fifth of its curvature */
        tu_real expected = window->seconds * (rate[0] - (terms > 2 ? rate[2] / TU_R(5.0) : 0));
        tu_real own = sigma[c] * sigma[c] * TU_R(3.0), theirs = window->seconds * sigma[r];
        tu_real noise = scale * tu_sqrt((own + theirs * theirs * TU_R(1.2)) / samples);
        if (tu_abs(angle[1] - expected) > DISAGREE * noise + SHARE * tu_abs(expected)) {
            return 0;
        }
    }
    return 1;
}

void tu_kinematics_fuse(tu_kinematics *kinematics, const tu_config *config, const tu_window *window,
                        const tu_real *sigma, const tu_fit *fit)
{
    int terms = window->poly + 1;
    for (int c = 0; c < config->channels; c++) { /* all shapes first: a rate may itself have a sensed rate */
        int rate = config->rate_channel[c] - 1;
        if (rate >= 0) {
            fuse_shape(window, sigma[c], sigma[rate], fit->coefficients + rate * terms, fit->coefficients + c * terms);
        }
    }
    for (int c = 0; c < config->channels; c++) {
        int rate = config->rate_channel[c] - 1;
        if (rate >= 0) {
            const tu_real *rates = fit->coefficients + rate * terms;
            fuse_mean(kinematics, config, window, sigma, c, rates, fit->coefficients + c * terms);
        }
    }
}

const tu_fusion_part tu_fusion = {tu_kinematics_push, tu_kinematics_fuse, tu_kinematics_consistent};
