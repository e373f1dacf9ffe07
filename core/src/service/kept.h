/* The part of a learner's state that is saved: all but recent samples and working memory. */
#ifndef TU_KEPT_H
#define TU_KEPT_H

#include "state.h"

/* The learner's scalar members. 64-bit numbers come first: no padding on any processor. */
typedef struct {
    tu_rng rng;
    tu_counters counters;
    int32_t gate_kept, gate_next;
    int32_t noise_seen;
    uint32_t noise_samples;
    uint32_t level_windows;
    int32_t candidate, watched, watched_rejected, quiet, still, checked, agreed, doubted, suspicion, credit, given;
    int32_t window_half, window_spacing; /* 0: not calibrated yet */
    uint32_t matched, compared;
    int32_t trial;
    uint32_t scored, blocks, held;
    int32_t windows, deficient, solved;
    uint32_t reservoir_seen, reservoir_next, holdout_seen, holdout_next;
    int32_t calibrating;
    uint32_t until;
    int32_t bad_reason;
    uint32_t tick, since_change, loss_count;
    tu_real excess, level;
    tu_real second_order, sigma_scale, snr2;
    tu_real matched_target;
    tu_real power1, power2;
    tu_real rate;
    tu_real loss, loss_sum;
    tu_real good_gain, good_block_energy, good_energy;
    tu_statistics good_gains;
} tu_kept;

void tu_kept_read(const tu_learner *learner, tu_kept *kept);

/* Restores a learner whose arrays are already loaded; its stream continues as after a gap. Returns 0 if the state is
 * not valid for a learner: a checksum only proves that a state was written completely, not by whom.
 */
int tu_kept_restore(tu_learner *learner, const tu_kept *kept);

/* The two regions of the arena that hold its arrays. */
void tu_kept_stretches(tu_learner *learner, unsigned char *start[2], unsigned char *end[2]);

#endif
