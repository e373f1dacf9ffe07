/* Start and end of a calibration, and the setup derived from the window and scales that it found. */
#include "config.h"
#include "paper/paper_part.h"
#include "state.h"

#include <float.h>

enum { RECALIBRATION_SHARE = 4 }; /* a recalibration takes 1 / this of the first one's length */

void tu_learner_recalibrate(tu_learner *l)
{
    tu_calibrate_clear(&l->calibration, l->config);
    tu_noise_hold(&l->noise);
    tu_noise_init(&l->noise);
    l->calibrating = 1;
    l->until = l->tick + (uint32_t)l->config->calibration / RECALIBRATION_SHARE;
}

/* Compact entries span +-8 scales of each column. */
static void set_entry_scale(tu_learner *l)
{
    const tu_config *config = l->config;
    int width = tu_config_width(config), ddx = config->second_order > 0 ? width - config->states : width;
    for (int column = 0; column < width; column++) {
        tu_real scale = column < ddx ? 1 : l->setup.scales.ddx[column - ddx];
        l->entry_scale[column] = scale * TU_R(8.0) / TU_R(32767.0);
    }
    l->entry_scale[width] = 1; /* the tag */
}

/* One slice of the physics nodes or of the network nodes. Returns 0 after the last. */
static int place_nodes(tu_learner *l, tu_nodes *nodes, int count, int intervals)
{
    const tu_config *config = l->config;
    const tu_window *window = &l->setup.window;
    int32_t orders[TU_MAX_STATES];
    for (int i = 0; i < config->on_count; i++) {
        orders[i] = config->order[config->on[i]];
    }
    if (count == 1) {
        tu_nodes_centre(nodes, window);
        return 0;
    }
    return intervals ? tu_nodes_intervals_slice(nodes, &l->job.nodes, window, orders)
                     : tu_nodes_gauss_slice(nodes, &l->job.nodes, window, count, orders);
}

static void go_on(tu_learner *l, int stage)
{
    l->job.setup = stage;
    l->job.nodes.output = l->job.nodes.done = 0;
}

/* Selects the longest candidate that nearly always passed. */
static void choose_window(tu_learner *l)
{
    int index = tu_calibrate_choose(&l->calibration, l->config, &l->setup.sigma_scale);
    tu_calibrate_candidate(&l->calibration, l->config, index, l->targets.candidate);
    go_on(l, TU_MAKE_WINDOW);
}

/* Tests with the longest candidate whether there is a signal. If there is none, an existing window is kept. */
static void detect_signal(tu_learner *l)
{
    if (tu_calibrate_signal(l->config, &l->noise, &l->setup.scales, &l->targets.candidate->window)) {
        choose_window(l);
        return;
    }
    tu_noise_restore(&l->noise);
    tu_count(&l->counters.no_signal);
    go_on(l, TU_PLACE_PHYSICS);
}

/* Ratio of the channels' noise variance, new to old, in units of the scales of the states' rates. */
static tu_real noise_growth(const tu_learner *l)
{
    tu_real now = (tu_real)FLT_MIN, before = now;
    for (int i = 0; i < l->config->states; i++) {
        int channel = l->config->channel[i];
        tu_real unit = l->setup.scales.dx[i] * l->setup.scales.dx[i];
        now += l->noise.variance[channel] / unit;
        before += l->noise.held[channel] / unit;
    }
    return now / before;
}

/* Sets the scales the first time only, because the model is in units of them. Later, windows with more noise get less
 * weight than those before: the noise of a sum is that of its samples, for any window length.
 */
static void take_window(tu_learner *l)
{
    l->setup.window = l->targets.candidate->window;
    if (l->calibrated) {
        tu_count(&l->counters.recalibrations);
        tu_library_weigh(&l->library, noise_growth(l));
    } else {
        tu_taps_rule rule = l->known.paper ? l->known.paper->spacing : NULL;
        tu_calibrate_finish(&l->calibration, l->config, &l->noise, l->targets.candidate->index, rule, &l->setup);
    }
    go_on(l, TU_PLACE_PHYSICS);
}

/* One slice of making the window that the calibration selected. */
static void window_slice(tu_learner *l)
{
    tu_candidate *candidate = l->targets.candidate;
    if (l->job.setup == TU_FIND_WINDOW && l->calibrated) {
        tu_calibrate_candidate(&l->calibration, l->config, -1, candidate);
        go_on(l, TU_MAKE_LONGEST);
    } else if (l->job.setup == TU_FIND_WINDOW) {
        choose_window(l);
    } else if (tu_window_make_slice(&candidate->window, &candidate->work)) {
        return;
    } else if (l->job.setup == TU_MAKE_LONGEST) {
        detect_signal(l);
    } else {
        take_window(l);
    }
}

int tu_learner_setup_slice(tu_learner *l)
{
    const tu_config *config = l->config;
    if (l->job.setup < TU_PLACE_PHYSICS) {
        window_slice(l);
    } else if (l->job.setup == TU_PLACE_PHYSICS) {
        if (!place_nodes(l, &l->physics_nodes, config->physics_nodes, config->inputs > 0)) {
            go_on(l, TU_PLACE_NETWORK);
        }
    } else if (!place_nodes(l, &l->network_nodes, config->network_nodes, 0)) {
        if (l->entry_scale) {
            set_entry_scale(l);
        }
        l->calibrated = 1;
        l->calibrating = 0;
        go_on(l, TU_SET_UP);
    }
    return l->job.setup != TU_SET_UP;
}

static void set_up(tu_learner *l, int stage)
{
    go_on(l, stage);
    while (tu_learner_setup_slice(l)) {
    }
}

void tu_learner_apply_setup_begin(tu_learner *l)
{
    l->calibrated = 1;
    l->calibrating = 0;
    go_on(l, TU_PLACE_PHYSICS);
}

void tu_learner_apply_setup(tu_learner *l) { set_up(l, TU_PLACE_PHYSICS); }

void tu_learner_end_calibration(tu_learner *l)
{
    if (l->calibrating) {
        set_up(l, TU_FIND_WINDOW);
    }
}
