/* What callers do wrong: models, configurations and windows that are rejected. */
#include "plant.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

static void rejected_starts(void)
{
    tu_config config = base_config(), second = paper_config(), wrong = config;
    tu_known known = known_of(&config), none = {0}, half = known;
    tu_memory memory;
    tu_learner *learner = NULL;
    size_t bytes = tu_learner_bytes(&config);
    unsigned char *arena = malloc(bytes + 8);
    CHECK(arena != NULL);
    wrong.channels = 0;
    CHECK(tu_learner_bytes(&wrong) == 0);
    CHECK(tu_learner_memory(&wrong, &memory) == TU_BAD_CONFIG);
    CHECK(tu_learner_init(&learner, &wrong, &known, arena, bytes) == TU_BAD_CONFIG);
    CHECK(tu_learner_init(&learner, &config, &known, NULL, bytes) == TU_BAD_ARENA);
    CHECK(tu_learner_init(&learner, &config, &known, arena + 4, bytes) == TU_BAD_ARENA);
    CHECK(tu_learner_init(&learner, &config, &known, arena, bytes - 1) == TU_BAD_ARENA);
    CHECK(tu_learner_init(&learner, &config, NULL, arena, bytes) == TU_BAD_FUNCTION);
    CHECK(tu_learner_init(&learner, &config, &none, arena, bytes) == TU_BAD_FUNCTION);
    half.terms = NULL;
    CHECK(tu_learner_init(&learner, &config, &half, arena, bytes) == TU_BAD_FUNCTION);
    free(arena);
    arena = malloc(tu_learner_bytes(&second));
    half = known;
    half.jacobian = NULL;
    CHECK(tu_learner_init(&learner, &second, &half, arena, tu_learner_bytes(&second)) == TU_BAD_FUNCTION);
    CHECK(learner == NULL);
    CHECK(tu_learner_memory(&config, &memory) == TU_OK && memory.total + memory.host == bytes);
    free(arena);
}

/* One field out of its range at a time. */
static void rejected_configurations(void)
{
#define INT(name, value) {offsetof(tu_config, name), value, 0}
#define REAL(name, value) {offsetof(tu_config, name), value, 1}
    static const struct {
        size_t offset;
        double value;
        int is_real;
    } wrong[] = {
        INT(channels, 0),
        INT(channels, 13),
        INT(states, 0),
        INT(states, 13),
        INT(inputs, -1),
        INT(inputs, 9),
        INT(poly, 0),
        INT(poly, 7),
        INT(channel, 2),
        INT(channel, -1),
        INT(order, 4),
        INT(on_count, 0),
        INT(on_count, 3),
        INT(on, 2),
        INT(on, -1),
        INT(hidden_count, -1),
        INT(hidden_count, 4),
        INT(hidden, 0),
        INT(hidden, 5000),
        INT(sees_count, 0),
        INT(sees_count, 3),
        INT(sees, 2),
        INT(parameters, -1),
        INT(parameters, 600),
        INT(library_terms, -1),
        INT(library_terms, 600),
        INT(forced, -1),
        INT(forced, 5),
        INT(max_half, 4),
        INT(max_half, 10000),
        INT(stride, 0),
        INT(physics_nodes, 0),
        INT(physics_nodes, 10),
        INT(network_nodes, 0),
        INT(network_nodes, 10),
        INT(calibration, 0),
        INT(reservoir, 0),
        INT(reservoir, 2000000),
        INT(holdout, -1),
        INT(holdout, 2000000),
        INT(batch, 0),
        INT(batch, 100000),
        INT(updates, 0),
        INT(train_every, -1),
        INT(groups, 5),
        INT(groups, 65),
        INT(block, 0),
        INT(forget, 1),
        INT(forget, -1),
        REAL(sample_period, 0),
        REAL(sample_period, 1e-38),
        REAL(sample_period, 1e7),
        REAL(sample_period, -1),
        REAL(sample_period, INFINITY),
        REAL(sample_period, NAN),
        REAL(second_order, -1),
        REAL(second_order, NAN),
        REAL(second_order, 0.1),
        REAL(snr_gate, -1),
        REAL(rate, -1),
        REAL(rate_floor, 2),
        REAL(decay, 1.5),
        REAL(threshold, NAN),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        tu_config config = base_config();
        int32_t whole = wrong[i].is_real ? 0 : (int32_t)wrong[i].value;
        tu_real real = (tu_real)wrong[i].value;
        memcpy((char *)&config + wrong[i].offset, wrong[i].is_real ? (void *)&real : (void *)&whole,
               wrong[i].is_real ? sizeof real : sizeof whole);
        CHECK(tu_config_check(&config) == TU_BAD_CONFIG);
    }
    tu_config config = base_config();
    CHECK(tu_config_check(&config) == TU_OK);
}

/* Spaced taps must fit the ring and determine the polynomial; input nodes need dense windows. */
static void rejected_windows(void)
{
    tu_config paper = paper_config(), config;
    CHECK(tu_config_check(&paper) == TU_OK);
    for (int i = 0; i < 6; i++) {
        config = paper;
        config.taps = i == 0 ? 0 : i == 1 ? 2 : config.taps;
        config.spacing = i == 2 ? 0 : i == 3 ? 9 : config.spacing;
        config.inputs = i == 4;
        config.physics_nodes = i == 4 ? 9 : 1;
        config.network_nodes = i == 5 ? 2 : 1; /* second order knows the centre only */
        CHECK(tu_config_check(&config) == TU_BAD_CONFIG);
    }
    config = paper;
    config.sees[0] = 1;
    CHECK(tu_config_check(&config) == TU_BAD_CONFIG);
    config = paper;
    config.on[0] = 1;
    CHECK(tu_config_check(&config) == TU_BAD_CONFIG);
    config = paper;
    config.on_count = 1;
    CHECK(tu_config_check(&config) == TU_BAD_CONFIG);
}

int main(void)
{
    rejected_starts();
    rejected_configurations();
    rejected_windows();
    return 0;
}
