#include "service/kept.h"

#include <string.h>

/* What is kept as it is: the name in tu_kept, and where it is in the learner. */
#define SIGNAL(KEEP)                                                                                                   \
    KEEP(gate_kept, median_gate.kept)                                                                                  \
    KEEP(gate_next, median_gate.next)                                                                                  \
    KEEP(noise_seen, noise.seen)                                                                                       \
    KEEP(noise_samples, noise.samples)                                                                                 \
    KEEP(level_windows, calibration.level_windows)                                                                     \
    KEEP(candidate, calibration.next)                                                                                  \
    KEEP(watched, calibration.watched)                                                                                 \
    KEEP(watched_rejected, calibration.rejected)                                                                       \
    KEEP(quiet, calibration.quiet)                                                                                     \
    KEEP(excess, calibration.excess)                                                                                   \
    KEEP(level, calibration.level)                                                                                     \
    KEEP(still, still)                                                                                                 \
    KEEP(checked, checked)                                                                                             \
    KEEP(agreed, agreed)                                                                                               \
    KEEP(doubted, doubted)                                                                                             \
    KEEP(suspicion, suspicion)                                                                                         \
    KEEP(second_order, setup.second_order)                                                                             \
    KEEP(sigma_scale, setup.sigma_scale)                                                                               \
    KEEP(snr2, setup.snr2)

#define REGRESSION(KEEP)                                                                                               \
    KEEP(matched, change.matched)                                                                                      \
    KEEP(compared, change.compared)                                                                                    \
    KEEP(matched_target, change.matched_target)                                                                        \
    KEEP(trial, change.trial)                                                                                          \
    KEEP(scored, change.scored)                                                                                        \
    KEEP(blocks, library.blocks)                                                                                       \
    KEEP(held, library.held)                                                                                           \
    KEEP(windows, library.windows)                                                                                     \
    KEEP(deficient, library.deficient)                                                                                 \
    KEEP(solved, library.solved)                                                                                       \
    KEEP(credit, last_good.credit)                                                                                     \
    KEEP(given, last_good.given)                                                                                       \
    KEEP(good_gain, last_good.gain)                                                                                    \
    KEEP(good_block_energy, last_good.block_energy)                                                                    \
    KEEP(good_energy, last_good.energy)                                                                                \
    KEEP(good_gains, last_good.gains)

#define TRAINING(KEEP)                                                                                                 \
    KEEP(rng, rng)                                                                                                     \
    KEEP(counters, counters)                                                                                           \
    KEEP(power1, adam.power1)                                                                                          \
    KEEP(power2, adam.power2)                                                                                          \
    KEEP(reservoir_seen, reservoir.seen)                                                                               \
    KEEP(reservoir_next, reservoir.next)                                                                               \
    KEEP(holdout_seen, holdout.seen)                                                                                   \
    KEEP(holdout_next, holdout.next)                                                                                   \
    KEEP(calibrated, calibrated)                                                                                       \
    KEEP(calibrating, calibrating)                                                                                     \
    KEEP(until, until)                                                                                                 \
    KEEP(bad_reason, bad_reason)                                                                                       \
    KEEP(tick, tick)                                                                                                   \
    KEEP(since_change, since_change)                                                                                   \
    KEEP(rate, rate)                                                                                                   \
    KEEP(loss, loss)                                                                                                   \
    KEEP(loss_sum, loss_sum)                                                                                           \
    KEEP(loss_count, loss_count)

#define READ(name, place) k->name = l->place;
#define RESTORE(name, place) l->place = k->name;

void tu_kept_read(const tu_learner *l, tu_kept *k)
{
    memset(k, 0, sizeof *k);
    SIGNAL(READ)
    REGRESSION(READ)
    TRAINING(READ)
    k->window_half = l->calibrated ? l->setup.window.half : 0;
    k->window_spacing = l->calibrated ? l->setup.window.spacing : 0;
}

void tu_kept_restore(tu_learner *l, const tu_kept *k)
{
    SIGNAL(RESTORE)
    if (k->window_half) {
        tu_window_make(&l->setup.window, k->window_half, k->window_spacing, l->config->poly, l->config->sample_period);
        tu_learner_apply_setup(l);
    }
    REGRESSION(RESTORE)
    TRAINING(RESTORE)
    memset(&l->job, 0, sizeof l->job);
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
