#include "service/kept.h"

#include <string.h>

static void read_signal(const tu_learner *l, tu_kept *k)
{
    for (int i = 0; i < TU_REASONS; i++) {
        k->rejected[i] = l->gates.rejected[i];
    }
    k->gates_kept = l->gates.kept;
    k->gates_next = l->gates.next;
    k->noise_seen = l->noise.seen;
    k->noise_samples = l->noise.samples;
    k->heard = l->calibration.heard;
    k->turn = l->calibration.turn;
    k->excess = l->calibration.excess;
    k->level = l->calibration.level;
    k->window_half = l->calibrated ? l->settled.window.half : 0;
    k->window_spacing = l->calibrated ? l->settled.window.spacing : 0;
    k->second_order = l->settled.second_order;
    k->sigma_scale = l->settled.sigma_scale;
    k->snr2 = l->settled.snr2;
}

static void read_library(const tu_library *library, tu_kept *k)
{
    k->matched = library->matched;
    k->compared = library->compared;
    k->matched_target = library->matched_target;
    k->trial = library->trial;
    k->scored = library->scored;
    k->blocks = library->blocks;
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
    read_library(&l->library, k);
    k->power1 = l->adam.power1;
    k->power2 = l->adam.power2;
    k->reservoir_seen = l->reservoir.seen;
    k->reservoir_next = l->reservoir.next;
    k->holdout_seen = l->holdout.seen;
    k->holdout_next = l->holdout.next;
    k->calibrated = l->calibrated;
    k->calibrating = l->calibrating;
    k->until = l->until;
    k->stretch = l->stretch;
    k->refused = l->refused;
    k->bad_reason = l->bad_reason;
    k->tick = l->tick;
    k->since_change = l->since_change;
    k->loss = l->loss;
    k->loss_sum = l->loss_sum;
    k->loss_count = l->loss_count;
}

static void restore_signal(tu_learner *l, const tu_kept *k)
{
    for (int i = 0; i < TU_REASONS; i++) {
        l->gates.rejected[i] = k->rejected[i];
    }
    l->gates.kept = k->gates_kept;
    l->gates.next = k->gates_next;
    l->noise.seen = k->noise_seen;
    l->noise.samples = k->noise_samples;
    l->calibration.heard = k->heard;
    l->calibration.turn = k->turn;
    l->calibration.excess = k->excess;
    l->calibration.level = k->level;
    l->settled.second_order = k->second_order;
    l->settled.sigma_scale = k->sigma_scale;
    l->settled.snr2 = k->snr2;
    if (k->window_half) {
        tu_window_make(&l->settled.window, k->window_half, k->window_spacing, l->config->poly, l->config->sample_period);
        tu_learner_settle(l);
    }
}

static void restore_library(tu_library *library, const tu_kept *k)
{
    library->matched = k->matched;
    library->compared = k->compared;
    library->matched_target = k->matched_target;
    library->trial = k->trial;
    library->scored = k->scored;
    library->blocks = k->blocks;
    library->windows = k->windows;
    library->deficient = k->deficient;
    library->solved = k->solved;
}

void tu_kept_restore(tu_learner *l, const tu_kept *k)
{
    l->rng = k->rng;
    l->counters = k->counters;
    restore_signal(l, k);
    restore_library(&l->library, k);
    l->adam.power1 = k->power1;
    l->adam.power2 = k->power2;
    l->reservoir.seen = k->reservoir_seen;
    l->reservoir.next = k->reservoir_next;
    l->holdout.seen = k->holdout_seen;
    l->holdout.next = k->holdout_next;
    l->calibrated = k->calibrated;
    l->calibrating = k->calibrating;
    l->until = k->until;
    l->stretch = k->stretch;
    l->refused = k->refused;
    l->bad_reason = k->bad_reason;
    l->tick = k->tick;
    l->since_change = k->since_change;
    l->loss = k->loss;
    l->loss_sum = k->loss_sum;
    l->loss_count = k->loss_count;
    tu_learner_gap(l);
}

/* In the order in which tu_learner_init carves them: small arrays and the network, the samples, all that was learned from
 * them, working memory.
 */
void tu_kept_stretches(tu_learner *l, unsigned char *start[2], unsigned char *end[2])
{
    size_t samples = ((size_t)l->ring.span * (size_t)l->ring.columns * sizeof(tu_real) + 7) / 8 * 8;
    start[0] = (unsigned char *)l->row;
    end[0] = (unsigned char *)l->ring.values;
    start[1] = end[0] + samples;
    end[1] = (unsigned char *)l->lesson.fit.coefficients;
}
