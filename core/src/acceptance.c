/* Acceptance test of a window: noise gates, contradicting sensors, a stream without motion. */
#include "state.h"

enum { STILL_WINDOWS = 64, MOVED = 4 }; /* still windows counted at most; rejected from half on; motion subtracts 4 */
enum { SUSPECT = 16, MOST_SUSPICION = 256 }; /* agreeing windows required after a contradiction; upper limit */
enum { CHECKED = 256, AGREED = 192 };        /* windows that decide whether angles agree with rates; minimum */
static const tu_real QUIET = TU_R(0.1);      /* share of the expected squared misfit: the noise has fallen to a third */

/* Whether angles agree with their rates. Not enforced if the first windows show that the sensors never agree (different
 * gain, delay).
 */
static int is_consistent(tu_learner *l)
{
    const tu_setup *setup = &l->setup;
    const tu_fusion_part *fusion = l->known.fusion;
    int agree =
        !fusion || fusion->consistent(l->config, &setup->window, l->noise.sigma, setup->sigma_scale, &l->targets.fit);
    if (l->checked < CHECKED) {
        l->checked++;
        l->agreed += agree;
        return 1;
    }
    if (l->agreed < AGREED) {
        return 1;
    }
    l->suspicion += agree ? -1 : SUSPECT;
    l->suspicion = l->suspicion < 0 ? 0 : l->suspicion > MOST_SUSPICION ? MOST_SUSPICION : l->suspicion;
    return agree && l->suspicion < 4 * SUSPECT;
}

/* Whether the stream has been still for so long that its windows add no information. */
static int is_still(tu_learner *l)
{
    l->still += tu_gates_still(&l->setup.window, &l->targets.fit, &l->noise, l->setup.sigma_scale) ? 1 : -MOVED;
    l->still = l->still < 0 ? 0 : l->still > STILL_WINDOWS ? STILL_WINDOWS : l->still;
    return l->still >= STILL_WINDOWS / 2;
}

int tu_learner_is_quiet(const tu_learner *l)
{
    tu_real freedom = tu_window_freedom(&l->setup.window), scale = l->setup.sigma_scale;
    int quiet = 1;
    for (int c = 0; c < l->config->channels; c++) {
        tu_real sigma = l->noise.sigma[c] * scale;
        quiet &= l->targets.fit.misfit[c] < QUIET * sigma * sigma * freedom;
    }
    return quiet;
}

int tu_learner_accept_window(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_setup *setup = &l->setup;
    const tu_fit *fit = &l->targets.fit;
    int reason = TU_ACCEPTED;
    if (config->dense) {
        reason = tu_gates_accept(&setup->window, fit, &l->noise, setup->sigma_scale);
    } else if (config->gated) {
        reason = l->median_gate.accept(&l->median_gate, &setup->window, &l->ring, fit, &l->noise, setup->sigma_scale);
    }
    if (reason != TU_ACCEPTED) {
        return reason;
    }
    if (config->repair && !is_consistent(l)) {
        return TU_INCONSISTENT;
    }
    return config->dense && config->repair && is_still(l) ? TU_STILL : TU_ACCEPTED;
}
