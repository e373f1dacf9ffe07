#include "signal/calibrate.h"

#include "numeric/elementary.h"
#include "signal/angle.h"

enum { SMALLEST = 5 };                        /* half width in samples of the shortest dense window */
static const tu_real NEARLY_ALL = TU_R(0.95); /* of the windows must pass, relative to the best candidate; */
static const tu_real MOST =
    TU_R(0.85); /* this share where a rate is not measured: second derivatives gain more from length */
static const tu_real LEAST_SHARE = TU_R(0.05); /* of a mean square counts as signal for any noise */

enum { SHORT = 2 };          /* candidate short enough for any motion; its misfit measures the noise's scatter */
enum { LEVEL_WINDOWS = 16 }; /* windows for a rough level: the log of the upper decile of misfit over noise */
static const tu_real UNEVEN = TU_R(0.8); /* level above which noise is uneven (for example, grows with speed) */
static const tu_real MOTION = TU_R(3.5); /* level above which the misfit is motion, not noise */

static const tu_real MOST_NOISE =
    TU_R(0.5);           /* sigma over a state's RMS beyond which there is no signal to calibrate on; for its rate, 1 */
enum { WATCHED = 800 };  /* windows counted together */
enum { REJECTED = 600 }; /* rejected ones among them that cause a recalibration */

/* The next half width, sqrt(2) times as long. */
static int longer(int half) { return (int)((tu_real)half * tu_sqrt(TU_R(2.0)) + TU_R(0.5)); }

static int count_candidates(const tu_config *config)
{
    int count = 1;
    for (int half = longer(SMALLEST); config->dense && half <= config->max_half; half = longer(half)) {
        count++;
    }
    return count;
}

void tu_calibrate_candidate(const tu_calibration *cal, const tu_config *config, int index, tu_candidate *candidate)
{
    int half = config->dense ? SMALLEST : config->taps;
    candidate->index = index < 0 ? cal->candidates - 1 : index;
    candidate->made = 0;
    for (int i = 0; i < candidate->index; i++) {
        half = longer(half);
    }
    tu_window_begin(&candidate->window, &candidate->work, half, config->dense ? 1 : config->spacing, config->poly,
                    config->sample_period);
}

void tu_calibrate_carve(tu_calibration *cal, tu_setup *setup, tu_arena *arena, const tu_config *config)
{
    int count = count_candidates(config), states = config->states;
    cal->candidates = count;
    cal->tried = tu_arena_take(arena, (size_t)count * sizeof(uint32_t));
    cal->passed = tu_arena_take(arena, (size_t)count * sizeof(uint32_t));
    cal->squares = tu_arena_reals(arena, count * 3 * states);
    cal->input_squares = tu_arena_reals(arena, config->inputs);
    cal->excess = 0;
    cal->level = 0;
    cal->level_windows = 0;
    cal->next = 0;
    cal->watched = cal->rejected = cal->quiet = 0;
    setup->scales.x = tu_arena_reals(arena, states + config->inputs);
    setup->scales.u = setup->scales.x ? setup->scales.x + states : NULL;
    setup->scales.dx = tu_arena_reals(arena, states);
    setup->scales.ddx = tu_arena_reals(arena, states);
    setup->second_order = 0;
    setup->sigma_scale = 1;
    setup->snr2 = 0;
}

static void forget(tu_calibration *cal, const tu_config *config)
{
    for (int i = 0; i < cal->candidates; i++) {
        cal->tried[i] = cal->passed[i] = 0;
    }
    tu_clear(cal->squares, cal->candidates * 3 * config->states);
    tu_clear(cal->input_squares, config->inputs);
}

void tu_calibrate_clear(tu_calibration *cal, const tu_config *config)
{
    forget(cal, config);
    cal->excess = cal->level = 0;
    cal->level_windows = 0;
    cal->next = 0;
    cal->watched = cal->rejected = cal->quiet = 0;
}

void tu_window_jets(const tu_config *config, const tu_window *window, const tu_real *coefficients, tu_real *jets)
{
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < config->states; i++) {
            const tu_real *own = coefficients + config->channel[i] * (window->poly + 1);
            *jets++ = tu_window_at(window, own, 0, config->order[i] + d);
        }
    }
}

/* Log of the worst channel's ratio of misfit to its expected value from noise. */
static tu_real excess(const tu_window *window, const tu_noise *noise, const tu_fit *fit)
{
    tu_real worst = TU_R(1e-3);
    for (int c = 0; c < noise->channels; c++) {
        tu_real ratio = fit->misfit[c] / (noise->sigma[c] * noise->sigma[c] * tu_window_freedom(window));
        worst = ratio > worst ? ratio : worst;
    }
    return tu_log(worst < TU_R(1e30) ? worst : TU_R(1e30));
}

/* One update of the decile estimate. Counts made before it is roughly known are cleared. */
static void learn_level(tu_calibration *cal, const tu_config *config, tu_real now)
{
    cal->level += (now > cal->level ? TU_R(0.9) : -TU_R(0.1)) * 4 / (tu_real)(cal->level_windows + 4);
    if (++cal->level_windows == LEVEL_WINDOWS) {
        forget(cal, config);
    }
}

/* A factor on sigma for uneven noise: scatter that short windows show must not reject long ones. */
static tu_real scatter(const tu_calibration *cal)
{
    return UNEVEN < cal->level && cal->level < MOTION ? tu_exp(TU_R(0.5) * cal->level) : 1;
}

int tu_calibrate_begin(tu_calibration *cal, const tu_config *config, int clean, tu_candidate *candidate)
{
    tu_calibrate_candidate(cal, config, cal->next, candidate);
    cal->next = cal->next + 1 < cal->candidates ? cal->next + 1 : 0;
    return clean > 2 * tu_window_reach(&candidate->window);
}

/* Counts whether a candidate's fit passes. */
static void judge(tu_calibration *cal, const tu_config *config, const tu_ring *ring, const tu_noise *noise,
                  tu_median_gate *gate, int index, const tu_window *window, const tu_fit *fit, tu_real *jets)
{
    int rejected = 0;
    if (config->dense) {
        rejected = tu_gates_accept(window, fit, noise, scatter(cal)) != TU_ACCEPTED;
        tu_real now = excess(window, noise, fit);
        if (index == 0) {
            cal->excess += (now - cal->excess) / (tu_real)(cal->tried[0] + 1);
        }
        if (index == SHORT && tu_noise_ready(noise)) {
            learn_level(cal, config, now);
        }
    } else if (config->gated) {
        rejected = gate->accept(gate, window, ring, fit, noise, 1) != TU_ACCEPTED;
    }
    for (int i = 0; i < config->inputs; i++) {
        tu_real input = tu_ring_at(ring, config->channels + i, 0);
        cal->input_squares[i] += input * input;
    }
    cal->tried[index]++;
    if (!rejected) {
        cal->passed[index]++;
        tu_angle_wrap_window(config->wrap, config->channels, config->poly, fit);
        tu_window_jets(config, window, fit->coefficients, jets);
        for (int i = 0; i < 3 * config->states; i++) {
            cal->squares[index * 3 * config->states + i] += jets[i] * jets[i];
        }
    }
}

int tu_calibrate_window_slice(tu_calibration *cal, const tu_config *config, const tu_ring *ring, const tu_noise *noise,
                              tu_median_gate *gate, tu_candidate *candidate, const tu_fit *fit, tu_real *jets)
{
    const tu_window *window = &candidate->window;
    if (!candidate->made) {
        candidate->made = !tu_window_make_slice(&candidate->window, &candidate->work);
        tu_window_fit_begin(fit);
        return 1;
    }
    if (tu_window_fit_slice(window, ring, config->channels, fit)) {
        return 1;
    }
    judge(cal, config, ring, noise, gate, candidate->index, window, fit, jets);
    return 0;
}

static tu_real share(uint32_t part, uint32_t whole) { return (tu_real)part / (tu_real)(whole > 1 ? whole : 1); }

/* Root mean squares with the noise's contribution subtracted. */
static void find_scales(const tu_calibration *cal, const tu_config *config, const tu_noise *noise, int index,
                        const tu_window *window, const tu_scales *scales)
{
    tu_real *rms[3] = {scales->x, scales->dx, scales->ddx};
    tu_real passed = (tu_real)(cal->passed[index] > 1 ? cal->passed[index] : 1), tried = 0;
    const tu_real *squares = cal->squares + index * 3 * config->states;
    for (int d = 0; d < 3; d++) {
        for (int i = 0; i < config->states; i++) {
            tu_real mean = *squares++ / passed, sigma = noise->sigma[config->channel[i]];
            tu_real own = sigma * sigma * tu_window_derivative_gain(window, config->order[i] + d);
            tu_real signal = mean - own > LEAST_SHARE * mean ? mean - own : LEAST_SHARE * mean;
            rms[d][i] = signal > 0 ? tu_sqrt(signal) : 1;
        }
    }
    for (int i = 0; i < cal->candidates; i++) {
        tried += (tu_real)cal->tried[i];
    }
    for (int i = 0; i < config->inputs; i++) {
        tu_real mean = cal->input_squares[i] / (tried > 1 ? tried : 1);
        scales->u[i] = mean > 0 ? tu_sqrt(mean) : 1;
    }
}

int tu_calibrate_choose(const tu_calibration *cal, const tu_config *config, tu_real *sigma_scale)
{
    tu_real best = 0, wanted = NEARLY_ALL;
    int index = 0;
    for (int i = 0; i < config->states; i++) {
        wanted = config->order[i] ? MOST : wanted;
    }
    for (int i = 0; i < cal->candidates; i++) {
        tu_real rate = share(cal->passed[i], cal->tried[i]);
        best = rate > best ? rate : best;
    }
    for (int i = 0; best > 0 && i < cal->candidates; i++) {
        index = share(cal->passed[i], cal->tried[i]) >= wanted * best ? i : index;
    }
    int coloured = config->dense && best < TU_R(0.5) && cal->excess > 0;
    *sigma_scale = coloured ? tu_exp(TU_R(0.5) * cal->excess) : scatter(cal);
    return index;
}

void tu_calibrate_finish(const tu_calibration *cal, const tu_config *config, const tu_noise *noise, int index,
                         tu_taps_rule rule, tu_setup *setup)
{
    find_scales(cal, config, noise, index, &setup->window, &setup->scales);
    tu_taps_finish(config, noise, rule, setup);
}

int tu_calibrate_watch(tu_calibration *cal, int reason, int quiet)
{
    cal->rejected += reason == TU_MISFIT || reason == TU_JUMP;
    cal->quiet += quiet;
    if (++cal->watched < WATCHED) {
        return 0;
    }
    int wrong = cal->rejected > REJECTED || cal->quiet > REJECTED;
    cal->watched = cal->rejected = cal->quiet = 0;
    return wrong;
}

int tu_calibrate_signal(const tu_config *config, const tu_noise *noise, const tu_scales *scales,
                        const tu_window *longest)
{
    int signal = 1;
    for (int i = 0; i < config->states; i++) {
        int order = config->order[i];
        tu_real sigma = noise->sigma[config->channel[i]], rate = scales->dx[i];
        signal &= order > 0 || sigma < MOST_NOISE * scales->x[i];
        signal &= !config->dense || sigma * sigma * tu_window_derivative_gain(longest, order + 1) < rate * rate;
    }
    return signal;
}
