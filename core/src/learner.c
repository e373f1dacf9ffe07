/* Algorithm 1 of the paper, first half: tu_learner_push takes a sample. (Second half: tu_learner_step in training.c.)
 */
#include "config.h"
#include "network/network_part.h"
#include "numeric/finite.h"
#include "regression/targets.h"
#include "signal/angle.h"

#include <string.h>

enum { STILL_WINDOWS = 64, MOVED = 4 };      /* windows without motion, half of which are used; a moving one undoes 4 */
enum { SUSPECT = 16, MOST_SUSPICION = 256 }; /* windows that must agree after one that does not, and at most */
enum { CHECKED = 256, AGREED = 192 };        /* windows that tell whether angles agree with rates, and how many must */
static const tu_real QUIET = TU_R(0.1);      /* of the misfit that the noise explains: it has fallen to a third */

/* Puts the last sample in the place of what cannot be used. 0: there was something. */
static int hold_last(tu_learner *l)
{
    int usable = 1;
    for (int i = 0; i < l->ring.columns; i++) {
        if (!tu_usable(l->row[i])) {
            l->row[i] = l->ring.held ? tu_ring_at(&l->ring, i, 0) : 0;
            usable = 0;
        }
    }
    return usable;
}

/* Whether a channel repeats itself where its noise should have moved it. */
static int is_stuck(tu_learner *l)
{
    int stuck = 0;
    if (!l->config->repair || !l->ring.held) {
        return 0;
    }
    for (int c = 0; c < l->config->channels; c++) {
        int same = l->row[c] == tu_ring_at(&l->ring, c, 0);
        l->run[c] = !same ? 0 : l->run[c] < TU_STUCK_RUN ? l->run[c] + 1 : TU_STUCK_RUN;
        if (l->run[c] == TU_STUCK_RUN) {
            tu_real step = l->noise.step[c];
            stuck |= !tu_finite(step) || step < l->noise.sigma[c];
        }
    }
    return stuck;
}

/* Whether angles agree with their rates. Sensors that never did (another gain, a delay) are not held to it: the first
 * windows tell.
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

/* Whether the stream has stood still for so long that its windows say nothing new. */
static int is_still(tu_learner *l)
{
    l->still += tu_gates_still(&l->setup.window, &l->targets.fit, &l->noise, l->setup.sigma_scale) ? 1 : -MOVED;
    l->still = l->still < 0 ? 0 : l->still > STILL_WINDOWS ? STILL_WINDOWS : l->still;
    return l->still >= STILL_WINDOWS / 2;
}

/* Whether the fit leaves far less than the noise explains. */
static int is_quiet(const tu_learner *l)
{
    tu_real freedom = tu_window_freedom(&l->setup.window), scale = l->setup.sigma_scale;
    int quiet = 1;
    for (int c = 0; c < l->config->channels; c++) {
        tu_real sigma = l->noise.sigma[c] * scale;
        quiet &= l->targets.fit.misfit[c] < QUIET * sigma * sigma * freedom;
    }
    return quiet;
}

/* Fits the newest window and, where it passes the acceptance test, adds its regression target. quiet: it leaves far
 * less than the noise explains.
 */
static int try_window(tu_learner *l, int *quiet)
{
    const tu_config *config = l->config;
    const tu_setup *setup = &l->setup;
    const tu_fit *fit = &l->targets.fit;
    int reach = 2 * tu_window_reach(&setup->window), reason = TU_ACCEPTED;
    if (l->ring.held <= reach) {
        return TU_GAP;
    }
    if (l->clean <= reach) {
        return l->bad_reason;
    }
    tu_window_fit(&setup->window, &l->ring, config->channels, fit);
    *quiet = l->counters.recalibrations && is_quiet(l);
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
    if (config->dense && config->repair && is_still(l)) {
        return TU_STILL;
    }
    if (l->known.fusion) {
        l->known.fusion->fuse(&l->kinematics, config, &setup->window, l->noise.sigma, fit);
    }
    tu_angle_wrap_window(config->wrap, config->channels, config->poly, fit);
    return tu_targets_add(l) ? TU_ACCEPTED : TU_NONFINITE;
}

static void process_window(tu_learner *l)
{
    tu_count(&l->counters.windows);
    int quiet = 0, reason = try_window(l, &quiet);
    if (reason == TU_ACCEPTED) {
        tu_count(&l->counters.accepted);
    } else {
        tu_count(&l->counters.rejected[reason]);
    }
    l->doubted = l->config->dense && reason >= TU_MISFIT;
    if (reason == TU_MISFIT || reason == TU_JUMP) { /* a kick: the angle carried so far is of another motion */
        tu_kinematics_clear(&l->kinematics, l->config);
    }
    if (l->job.astray) {
        tu_learner_go_back(l);
    }
    if (tu_calibrate_watch(&l->calibration, reason, quiet) && l->config->dense) {
        tu_learner_recalibrate(l);
    }
}

/* Carries angles on to the newest sample, or starts anew where samples are missing since the last window. */
static void carry_angles(tu_learner *l)
{
    int fresh = l->clean < l->config->stride ? l->clean : l->config->stride;
    if (fresh < l->config->stride) {
        tu_kinematics_clear(&l->kinematics, l->config);
    }
    if (l->calibrated && l->known.fusion) {
        l->known.fusion->push(&l->kinematics, l->config, &l->setup.window, l->noise.sigma, &l->ring, fresh);
    }
}

/* Algorithm 1, lines 3 to 14, for a repaired sample: learner->row. */
static void process_sample(tu_learner *l)
{
    const tu_config *config = l->config;
    int usable = hold_last(l), stuck = is_stuck(l);
    tu_ring_push(&l->ring, l->row);
    l->clean = usable && !stuck ? l->clean + (l->clean < l->ring.span) : 0;
    if (!usable || stuck) {
        l->bad_reason = usable ? TU_STUCK : TU_NONFINITE;
    }
    tu_noise_update(&l->noise, &l->ring, l->calibrating || !l->doubted || !tu_noise_ready(&l->noise));
    l->tick++;
    if (l->tick % (uint32_t)config->stride == 0) {
        carry_angles(l);
        if (!l->calibrating) {
            process_window(l);
        } else {
            tu_calibrate_window(&l->calibration, config, &l->ring, &l->noise, &l->median_gate, l->clean,
                                &l->targets.fit, l->targets.jets);
        }
    }
    if (l->calibrating && (int32_t)(l->tick - l->until) >= 0) {
        l->job.setup = TU_FIND_WINDOW;
    } else if (l->calibrated && config->train_every && l->tick % (uint32_t)config->train_every == 0) {
        l->job.update = 1;
    }
}

void tu_learner_begin(tu_learner *l, const tu_real *row)
{
    tu_count(&l->counters.samples);
    memcpy(l->row, row, (size_t)l->ring.columns * sizeof(tu_real));
    l->job.sample = 1;
}

/* A sample as far as its window: repair holds it back for some ticks. */
static void advance_sample(tu_learner *l)
{
    l->job.sample = 0;
    if (l->config->repair) {
        const tu_real *sigma = tu_noise_ready(&l->noise) ? l->noise.sigma : NULL;
        int done = tu_repair_push(&l->repair, sigma, l->setup.sigma_scale, l->config->channels, l->row);
        if (done == TU_WAITING) {
            return;
        }
        if (done & TU_FILLED) {
            tu_count(&l->counters.filled);
        }
        if (done & TU_REPLACED) {
            tu_count(&l->counters.replaced);
        }
    }
    process_sample(l);
}

int tu_learner_advance(tu_learner *l)
{
    if (l->job.sample) {
        advance_sample(l);
    } else if (l->job.compare) {
        l->job.compare = tu_targets_compare_slice(l);
    } else if (l->job.setup != TU_SET_UP) {
        tu_learner_setup_slice(l);
    } else if (l->job.solve != TU_SOLVED) {
        tu_targets_solve_slice(l);
    } else if (l->job.judge) {
        l->job.judge = l->known.network->watch_slice(l);
    } else if (l->job.update) {
        l->job.update = tu_learner_update_slice(l);
    }
    return l->job.compare || l->job.setup != TU_SET_UP || l->job.solve != TU_SOLVED || l->job.judge || l->job.update;
}

/* By operations that dominate a slice; instructions on a Cortex-M4F, measured: about 8 a weight and row of a block, 5 a
 * sample, channel and coefficient of a window.
 */
int32_t tu_learner_cost(const tu_learner *l)
{
    const tu_config *config = l->config;
    int32_t window = (2 * config->max_half + 1) * config->channels * (config->poly + 1) * 5;
    int32_t block = TU_CHIP_BLOCK * (l->adam.count * 8 + 500);
    if (l->job.sample) {
        return (l->tick + 1) % (uint32_t)config->stride == 0 ? window / 1000 : 1;
    }
    return l->job.compare ? 20 : l->job.setup != TU_SET_UP ? 32 : l->job.solve != TU_SOLVED ? 8 : block / 1000;
}

void tu_learner_push(tu_learner *l, const tu_real *row)
{
    tu_learner_begin(l, row);
    while (tu_learner_advance(l)) {
    }
}

void tu_learner_push_many(tu_learner *l, const tu_real *rows, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        tu_learner_push(l, rows + i * (size_t)l->ring.columns);
    }
}

void tu_learner_gap(tu_learner *l)
{
    tu_ring_clear(&l->ring);
    tu_repair_clear(&l->repair);
    tu_kinematics_clear(&l->kinematics, l->config);
    l->clean = 0;
    memset(l->run, 0, (size_t)l->config->channels * sizeof(int32_t));
}

void tu_learner_rewind(tu_learner *l)
{
    tu_learner_gap(l);
    l->tick = 0;
    l->calibration.watched = l->calibration.rejected = l->calibration.quiet = 0;
    memset(&l->counters, 0, sizeof l->counters);
}
