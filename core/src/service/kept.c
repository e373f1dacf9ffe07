#include "service/kept.h"

#include "config.h"
#include "paper/paper_part.h"

#include <string.h>

/* Numbers kept unchanged: name in tu_kept, and member of the learner. Counts are at least 0 and below MANY. */
#define COUNTS(KEEP)                                                                                                   \
    KEEP(gate_kept, median_gate.kept)                                                                                  \
    KEEP(gate_next, median_gate.next)                                                                                  \
    KEEP(noise_seen, noise.seen)                                                                                       \
    KEEP(candidate, calibration.next)                                                                                  \
    KEEP(watched, calibration.watched)                                                                                 \
    KEEP(watched_rejected, calibration.rejected)                                                                       \
    KEEP(quiet, calibration.quiet)                                                                                     \
    KEEP(still, still)                                                                                                 \
    KEEP(checked, checked)                                                                                             \
    KEEP(agreed, agreed)                                                                                               \
    KEEP(doubted, doubted)                                                                                             \
    KEEP(suspicion, suspicion)                                                                                         \
    KEEP(bad_reason, bad_reason)                                                                                       \
    KEEP(trial, change.trial)                                                                                          \
    KEEP(windows, library.windows)                                                                                     \
    KEEP(deficient, library.deficient)                                                                                 \
    KEEP(solved, library.solved)                                                                                       \
    KEEP(credit, last_good.credit)                                                                                     \
    KEEP(given, last_good.given)                                                                                       \
    KEEP(calibrating, calibrating)

#define SIGNAL(KEEP)                                                                                                   \
    KEEP(noise_samples, noise.samples)                                                                                 \
    KEEP(level_windows, calibration.level_windows)                                                                     \
    KEEP(excess, calibration.excess)                                                                                   \
    KEEP(level, calibration.level)                                                                                     \
    KEEP(second_order, setup.second_order)                                                                             \
    KEEP(sigma_scale, setup.sigma_scale)                                                                               \
    KEEP(snr2, setup.snr2)

#define REGRESSION(KEEP)                                                                                               \
    KEEP(matched, change.matched)                                                                                      \
    KEEP(compared, change.compared)                                                                                    \
    KEEP(matched_target, change.matched_target)                                                                        \
    KEEP(scored, change.scored)                                                                                        \
    KEEP(blocks, library.blocks)                                                                                       \
    KEEP(held, library.held)                                                                                           \
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
    KEEP(until, until)                                                                                                 \
    KEEP(tick, tick)                                                                                                   \
    KEEP(since_change, since_change)                                                                                   \
    KEEP(rate, rate)                                                                                                   \
    KEEP(loss, loss)                                                                                                   \
    KEEP(loss_sum, loss_sum)                                                                                           \
    KEEP(loss_count, loss_count)

enum { MANY = 1 << 20 };

#define READ(name, place) k->name = l->place;
#define RESTORE(name, place) l->place = k->name;
#define JOIN(name, place) any |= (uint32_t)k->name;

void tu_kept_read(const tu_learner *l, tu_kept *k)
{
    memset(k, 0, sizeof *k);
    COUNTS(READ)
    SIGNAL(READ)
    REGRESSION(READ)
    TRAINING(READ)
    k->window_half = l->calibrated ? l->setup.window.half : 0;
    k->window_spacing = l->calibrated ? l->setup.window.spacing : 0;
}

/* Whether numbers that select a memory location or a function are in range. */
static int places_exist(const tu_learner *l, const tu_kept *k)
{
    uint32_t any = 0;
    COUNTS(JOIN)
    return any < MANY && k->candidate < l->calibration.candidates && k->bad_reason < TU_REASONS &&
           (tu_config_keeps_good(l->config) || (k->credit | k->given) == 0) &&
           (l->config->second_order > 0 || !(k->second_order > 0)) &&
           (!l->median_gate.accept || l->known.paper->in_order(&l->median_gate, k->gate_kept, k->gate_next));
}

/* Whether the model, if there is one, is one that a learner can start from. */
static int model_fits(const tu_learner *l, const tu_kept *k)
{
    const tu_scales *scales = &l->setup.scales;
    const tu_model model = {
        k->window_half, k->window_spacing, k->sigma_scale,          scales->x,        scales->u, scales->dx,
        l->good,        l->network_on,     l->library.coefficients, l->library.errors};
    return k->window_half ? tu_learner_fits(l, &model) : k->calibrating;
}

int tu_kept_restore(tu_learner *l, const tu_kept *k)
{
    if (!places_exist(l, k) || !model_fits(l, k)) {
        return 0;
    }
    SIGNAL(RESTORE)
    l->calibrated = 0;
    if (k->window_half) {
        tu_window_make(&l->setup.window, k->window_half, k->window_spacing, l->config->poly, l->config->sample_period);
        tu_learner_apply_setup(l);
    }
    COUNTS(RESTORE)
    REGRESSION(RESTORE)
    TRAINING(RESTORE)
    memset(&l->job, 0, sizeof l->job);
    tu_learner_gap(l);
    return 1;
}

/* In the order in which tu_learner_init carves them: small arrays and the network, samples, what was learned from them,
 * working memory.
 */
void tu_kept_stretches(tu_learner *l, unsigned char *start[2], unsigned char *end[2])
{
    size_t samples = ((size_t)l->ring.span * (size_t)l->ring.columns * sizeof(tu_real) + 7) / 8 * 8;
    start[0] = (unsigned char *)l->row;
    end[0] = (unsigned char *)l->ring.values;
    start[1] = end[0] + samples;
    end[1] = (unsigned char *)l->targets.fit.coefficients;
}
