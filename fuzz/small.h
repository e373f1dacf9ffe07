/* Shared by the C fuzz targets: a check that a fuzzer detects, and small, fast learners. */
#ifndef FUZZ_SMALL_H
#define FUZZ_SMALL_H

#include "tinyude.h"

#include <stdlib.h>

#define REQUIRE(condition)                                                                                             \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static const tu_config SMALL = {
    .channels = 2,
    .states = 2,
    .inputs = 1,
    .channel = {0, 1},
    .sample_period = (tu_real)0.01,
    .on_count = 1,
    .on = {1},
    .sees_count = 2,
    .sees = {0, 1},
    .hidden_count = 1,
    .hidden = {2},
    .parameters = 1,
    .library_terms = 2,
    .forced = 1,
    .dense = 1,
    .taps = 5,
    .poly = 4,
    .stride = 5,
    .max_half = 6,
    .spacing = 1,
    .adaptive = 1,
    .gated = 1,
    .repair = 1,
    .physics_nodes = 3,
    .network_nodes = 3,
    .calibration = 60,
    .snr_gate = 12,
    .reservoir = 12,
    .holdout = 4,
    .batch = 2,
    .updates = 100,
    .train_every = 10,
    .adam = 1,
    .rate = (tu_real)0.02,
    .rate_floor = (tu_real)0.02,
    .decay = (tu_real)0.99,
    .last_layer = 1,
    .groups = 6,
    .block = 8,
    .threshold = (tu_real)4.5,
    .follow = 1,
    .recalibrate = 1,
};

enum { SMALL_CONFIGS = 4 };

/* A learner with all features; one without a network; one that tests its network in the stream, with compact entries
 * and angle/rate fusion; one with the paper's windows.
 */
static inline tu_config small_config(int which)
{
    tu_config c = SMALL;
    if (which == 1) {
        c.hidden_count = c.reservoir = c.holdout = 0;
        c.judged = 1;
    } else if (which == 2) {
        c.judged = c.compact = c.rolling = c.network_nodes = 1;
        c.rate_channel[0] = 2;
    } else if (which == 3) {
        c.dense = c.parameters = c.library_terms = c.forced = 0;
        c.physics_nodes = c.network_nodes = 1;
        c.taps = 3;
        c.on_count = 2;
        c.on[0] = 0;
        c.on[1] = 1;
        c.second_order = (tu_real)0.1;
    }
    return c;
}

#endif
