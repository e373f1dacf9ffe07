#include "service/kept.h"

#include <string.h>

static void read_signal(const tu_learner *l, tu_kept *k)
{
    k->gate_kept = l->median_gate.kept;
    k->gate_next = l->median_gate.next;
    k->noise_seen = l->noise.seen;
    k->noise_samples = l->noise.samples;
    k->heard = l->calibration.heard;
    k->candidate = l->calibration.next;
    k->watched = l->calibration.watched;
    k->watched_rejected = l->calibration.rejected;
    k->quiet = l->calibration.quiet;
    k->still = l->still;
    k->checked = l->checked;
    k->agreed = l->agreed;
    k->doubted = l->doubted;
    k->suspicion = l->suspicion;
    k->excess = l->calibration.excess;
    k->level = l->calibration.level;
    k->window_half = l->calibrated ? l->setup.window.half : 0;
    k->window_spacing = l->calibrated ? l->setup.window.spacing : 0;
    k->second_order = l->setup.second_order;
    k->sigma_scale = l->setup.sigma_scale;
    k->snr2 = l->setup.snr2;
}

static void read_library(const tu_library *library, const tu_change *change, tu_kept *k)
{
    k->matched = change->matched;
    k->compared = change->compared;
    k->matched_target = change->matched_target;
    k->trial = change->trial;
    k->scored = change->scored;
    k->blocks = library->blocks;
    k->held = library->held;
    k->windows = library->windows;
    k->deficient = library->deficient;
    k->solved = library->solved;
}

void tu_kept_read(const tu_learner *l, tu_kept *k)
{
    memset(k, 0, sizeof *k);
    k->rng = l->rng;
    k->counters = l->counters;
    read_signal(l, k);
    read_library(&l->library, &l->change, k);
    k->power1 = l->adam.power1;
    k->power2 = l->adam.power2;
    k->reservoir_seen = l->reservoir.seen;
    k->reservoir_next = l->reservoir.next;
    k->holdout_seen = l->holdout.seen;
    k->holdout_next = l->holdout.next;
    k->calibrated = l->calibrated;
    k->calibrating = l->calibrating;
    k->until = l->until;
    k->bad_reason = l->bad_reason;
    k->tick = l->tick;
    k->since_change = l->since_change;
    k->rate = l->rate;
    k->loss = l->loss;
    k->loss_sum = l->loss_sum;
    k->loss_count = l->loss_count;
}

static void restore_signal(tu_learner *l, const tu_kept *k)
{
    l->median_gate.kept = k->gate_kept;
    l->median_gate.next = k->gate_next;
    l->noise.seen = k->noise_seen;
    l->noise.samples = k->noise_samples;
    l->calibration.heard = k->heard;
    l->calibration.next = k->candidate;
    l->calibration.watched = k->watched;
    l->calibration.rejected = k->watched_rejected;
    l->calibration.quiet = k->quiet;
    l->still = k->still;
    l->checked = k->checked;
    l->agreed = k->agreed;
    l->doubted = k->doubted;
    l->suspicion = k->suspicion;
    l->calibration.excess = k->excess;
    l->calibration.level = k->level;
    l->setup.second_order = k->second_order;
    l->setup.sigma_scale = k->sigma_scale;
    l->setup.snr2 = k->snr2;
    if (k->window_half) {
        tu_window_make(&l->setup.window, k->window_half, k->window_spacing, l->config->poly, l->config->sample_period);
        tu_learner_apply_setup(l);
    }
}

static void restore_library(tu_library *library, tu_change *change, const tu_kept *k)
{
    change->matched = k->matched;
    change->compared = k->compared;
    change->matched_target = k->matched_target;
    change->trial = k->trial;
    change->scored = k->scored;
    library->blocks = k->blocks;
    library->held = k->held;
    library->windows = k->windows;
    library->deficient = k->deficient;
    library->solved = k->solved;
}

void tu_kept_restore(tu_learner *l, const tu_kept *k)
{
    l->rng = k->rng;
    l->counters = k->counters;
    restore_signal(l, k);
    restore_library(&l->library, &l->change, k);
    l->adam.power1 = k->power1;
    l->adam.power2 = k->power2;
    l->reservoir.seen = k->reservoir_seen;
    l->reservoir.next = k->reservoir_next;
    l->holdout.seen = k->holdout_seen;
    l->holdout.next = k->holdout_next;
    l->calibrated = k->calibrated;
    l->calibrating = k->calibrating;
    l->until = k->until;
    l->bad_reason = k->bad_reason;
    l->tick = k->tick;
    l->since_change = k->since_change;
    l->rate = k->rate;
    l->loss = k->loss;
    l->loss_sum = k->loss_sum;
    l->loss_count = k->loss_count;
    tu_learner_gap(l);
}

/* In the order in which tu_learner_init carves them: small arrays and the network, the samples, all that was learned
 * from them, working memory.
 */
void tu_kept_stretches(tu_learner *l, unsigned char *start[2], unsigned char *end[2])
{
    size_t samples = ((size_t)l->ring.span * (size_t)l->ring.columns * sizeof(tu_real) + 7) / 8 * 8;
    start[0] = (unsigned char *)l->row;
    end[0] = (unsigned char *)l->ring.values;
    start[1] = end[0] + samples;
    end[1] = (unsigned char *)l->targets.fit.coefficients;
}
