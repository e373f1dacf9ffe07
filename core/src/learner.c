/* Algorithm 1 of the paper, first half: tu_learner_push takes a sample. (Second half: tu_learner_step in training.c.)
 */
#include "config.h"
#include "network/network_part.h"
#include "numeric/finite.h"
#include "regression/targets.h"
#include "signal/angle.h"

#include <string.h>

/* Replaces unusable values by those of the last sample. Returns 0 if there were any. */
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

/* Whether a channel repeats a value although its noise should have changed it. */
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
            stuck |= l->noise.smallest[c] < l->noise.sigma[c];
        }
    }
    return stuck;
}

/* Work that a sample triggers besides its window. */
static void end_sample(tu_learner *l)
{
    uint32_t every = (uint32_t)l->config->train_every;
    l->job.sample = TU_SAMPLED;
    if (l->calibrating && (int32_t)(l->tick - l->until) >= 0) {
        l->job.setup = TU_FIND_WINDOW;
    } else if (l->calibrated && every && l->tick % every == 0) {
        l->job.update = 1;
    }
}

/* Reasons that lie in the samples: such windows say nothing of the noise. */
enum { DOUBTED = 1 << TU_MISFIT | 1 << TU_JUMP | 1 << TU_INCONSISTENT | 1 << TU_STILL };

/* Counts the outcome of a window. */
static void end_window(tu_learner *l, int reason)
{
    tu_count(reason == TU_ACCEPTED ? &l->counters.accepted : &l->counters.rejected[reason]);
    l->doubted = l->config->dense && reason != TU_ACCEPTED && (DOUBTED >> reason & 1);
    if (reason == TU_MISFIT || reason == TU_JUMP) { /* a jump: the carried angle belongs to the motion before it */
        tu_kinematics_clear(&l->kinematics, l->config);
    }
    if (tu_calibrate_watch(&l->calibration, reason, l->job.quiet) && l->config->dense && l->config->recalibrate) {
        tu_learner_recalibrate(l);
    }
    end_sample(l);
}

/* Fits the newest window. If it is accepted, filtering its physics is next. */
static void fit_slice(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_fit *fit = &l->targets.fit;
    if (tu_window_fit_slice(&l->setup.window, &l->ring, config->channels, fit)) {
        return;
    }
    l->job.quiet = l->counters.recalibrations && tu_learner_is_quiet(l);
    int reason = tu_learner_accept_window(l);
    if (reason != TU_ACCEPTED) {
        end_window(l, reason);
        return;
    }
    if (l->known.fusion) {
        l->known.fusion->fuse(&l->kinematics, config, &l->setup.window, l->noise.sigma, fit);
    }
    tu_angle_wrap_window(config->wrap, config->channels, config->poly, fit);
    tu_targets_filter_begin(l);
    l->job.sample = TU_FILTERING;
}

/* Starts work on the newest window: a calibration candidate, or a window to learn from. */
static void begin_window(tu_learner *l)
{
    int reach = 2 * tu_window_reach(&l->setup.window);
    l->job.quiet = 0;
    if (l->calibrating) {
        if (tu_calibrate_begin(&l->calibration, l->config, l->clean, l->targets.candidate)) {
            l->job.sample = TU_TRYING;
        } else {
            end_sample(l);
        }
        return;
    }
    tu_count(&l->counters.windows);
    if (l->ring.held <= reach || l->clean <= reach) {
        end_window(l, l->ring.held <= reach ? TU_GAP : l->bad_reason);
        return;
    }
    tu_window_fit_begin(&l->targets.fit);
    l->job.sample = TU_FITTING;
}

/* Propagates the angles to the newest sample; restarts them if samples are missing since the last window. */
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

/* Algorithm 1, lines 3 to 14, for a repaired sample, learner->row, up to its window. */
static void process_sample(tu_learner *l)
{
    int usable = hold_last(l), stuck = is_stuck(l);
    tu_ring_push(&l->ring, l->row);
    l->clean = usable && !stuck ? l->clean + (l->clean < l->ring.span) : 0;
    if (!usable || stuck) {
        l->bad_reason = usable ? TU_STUCK : TU_NONFINITE;
    }
    tu_noise_update(&l->noise, &l->ring, l->calibrating || !l->doubted || !tu_noise_ready(&l->noise));
    l->tick++;
    if (l->tick % (uint32_t)l->config->stride == 0) {
        carry_angles(l);
        begin_window(l);
    } else {
        end_sample(l);
    }
}

void tu_learner_begin(tu_learner *l, const tu_real *row)
{
    tu_count(&l->counters.samples);
    memcpy(l->row, row, (size_t)l->ring.columns * sizeof(tu_real));
    l->job.sample = TU_TAKEN;
}

/* Repair delays each sample by some ticks. */
static void take_sample(tu_learner *l)
{
    l->job.sample = TU_SAMPLED;
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

static void sample_slice(tu_learner *l)
{
    tu_targets *targets = &l->targets;
    if (l->job.sample == TU_TAKEN) {
        take_sample(l);
    } else if (l->job.sample == TU_FITTING) {
        fit_slice(l);
    } else if (l->job.sample == TU_FILTERING) {
        if (!tu_targets_filter_slice(l)) {
            end_window(l, tu_targets_add(l));
        }
    } else if (!tu_calibrate_window_slice(&l->calibration, l->config, &l->ring, &l->noise, &l->median_gate,
                                          targets->candidate, &targets->fit, targets->jets)) {
        end_sample(l);
    }
}

int tu_learner_advance(tu_learner *l)
{
    tu_job *job = &l->job;
    if (job->sample) {
        sample_slice(l);
    } else if (job->compare) {
        job->compare = tu_targets_compare_slice(l);
    } else if (job->go_back) {
        tu_learner_go_back(l);
    } else if (job->prior) {
        tu_learner_prior_slice(l);
    } else if (job->setup != TU_SET_UP) {
        tu_learner_setup_slice(l);
    } else if (job->solve != TU_SOLVED) {
        tu_targets_solve_slice(l);
    } else if (job->judge) {
        job->judge = l->known.network->watch_slice(l);
    } else if (job->update) {
        job->update = tu_learner_update_slice(l);
    }
    return job->sample || job->compare || job->go_back || job->prior || job->setup || job->solve || job->judge ||
           job->update;
}

enum { FROZEN = 16 }; /* a node with a kernel network of 60 units, of three to five inputs: 12 to 16 */

/* Counts the dominant work of a slice. Fitted to instruction counts on an emulated Cortex-M4F, by kind of slice, with 2
 * and 26 columns, half widths of 14 to 250 samples, with and without a network.
 */
int32_t tu_learner_cost(const tu_learner *l)
{
    const tu_job *job = &l->job;
    int32_t columns = l->library.columns, fit = 1 + l->setup.window.half / 5;
    if (job->sample == TU_FILTERING) {
        return l->known.outside ? FROZEN : 4 + columns / 3;
    }
    if (job->sample) {
        return job->sample == TU_TAKEN ? 2 : job->sample == TU_TRYING ? 12 : fit < 20 ? fit : 20;
    }
    if (job->compare || job->go_back || job->prior) {
        return 14;
    }
    if (job->setup) {
        return job->setup == TU_PLACE_PHYSICS ? 65 : 28;
    }
    if (job->solve) {
        return job->solve == TU_REMOVING ? 5 + columns : 2;
    }
    return job->judge ? 11 : 1 + TU_CHIP_BLOCK * l->adam.count / 125;
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
