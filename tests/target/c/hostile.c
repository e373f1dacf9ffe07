/* Feeds hostile samples to every setup: no weight may become non-finite, no byte outside the arena may change. */
#include "../../../fuzz/any_operation.h"
#include "plant.h"

#include <float.h>
#include <math.h>

enum { MODES = 12, LONGEST = 300, CHECK_EVERY = 2000, DISTURB_EVERY = 4000 };

typedef struct {
    plant plant;
    uint32_t random;
    int mode;
    int left; /* samples of this mode */
    tu_real held[MAX_ROW];
} attacker;

static tu_real any_bits(uint32_t *random)
{
    union {
        uint64_t bits;
        tu_real value;
    } any;
    any.bits = (uint64_t)draw(random) << 32 | draw(random);
    return any.value;
}

static tu_real bad_value(attacker *a, int column, tu_real honest)
{
    int positive = draw(&a->random) & 1;
    switch (a->mode) {
    case 1:
        return (tu_real)NAN;
    case 2:
        return positive ? (tu_real)INFINITY : -(tu_real)INFINITY;
    case 3:
        return (tu_real)FLT_MIN / (tu_real)(2 + draw(&a->random) % 1000000); /* denormal in float */
    case 4:
        return a->held[column]; /* stuck */
    case 5:
        return positive ? FLT_MAX : -FLT_MAX;
    case 6:
        return honest + (tu_real)1e6 * (tu_real)uniform(&a->random);
    case 7:
        return any_bits(&a->random);
    case 8:
        return (tu_real)0;
    case 9:
        return (tu_real)9.9e14 * (tu_real)uniform(&a->random); /* just below what is rejected */
    case 10:
        return column == 0 ? (tu_real)NAN : honest; /* one dead channel */
    case 11:
        return (tu_real)floor(honest * 4) / 4; /* a coarse sensor */
    default:
        return honest;
    }
}

static void next_row(attacker *a, const tu_config *config, tu_real *row)
{
    plant_row(&a->plant, config, 0.01, row);
    if (a->left-- <= 0) {
        a->mode = draw(&a->random) & 1 ? 0 : (int)(draw(&a->random) % MODES);
        a->left = draw(&a->random) & 1 ? 1 : (int)(draw(&a->random) % LONGEST);
    }
    for (int i = 0; i < config->channels + config->inputs; i++) {
        tu_real honest = row[i];
        row[i] = bad_value(a, i, honest);
        a->held[i] = a->mode == 4 ? a->held[i] : honest;
    }
}

static void attack(const setup *tried, uint32_t seed, long samples)
{
    tu_config config = config_of(tried);
    config.train_every *= 4; /* it is the samples that are tried here */
    guarded g = guarded_learner(&config);
    attacker a = {.random = seed * 977u + 3u};
    tu_real row[MAX_ROW], x[TU_MAX_STATES] = {(tu_real)0.5, 1}, u[TU_MAX_INPUTS] = {0}, answer[TU_MAX_STATES];
    tu_view view;
    plant_start(&a.plant, config.states, seed);
    for (long i = 0; i < samples; i++) {
        next_row(&a, &config, row);
        tu_learner_push(g.learner, row);
        any_operation(g.learner, draw(&a.random) % DISTURB_EVERY, 10); /* rarely one of them */
        if (i % CHECK_EVERY == 0) {
            check_weights(&g);
        }
    }
    tu_learner_finish(g.learner);
    check_weights(&g);
    check_canaries(&g);
    tu_learner_residual(g.learner, x, u, answer);
    for (int i = 0; i < config.on_count; i++) {
        CHECK(answer[i] - answer[i] == 0);
    }
    tu_learner_view(g.learner, &view);
    printf("%-26s accepted %u, rejected %u gap %u non-finite %u stuck %u misfit %u jump, rolled back %u\n", tried->name,
           (unsigned)view.accepted, (unsigned)view.rejected[TU_GAP], (unsigned)view.rejected[TU_NONFINITE],
           (unsigned)view.rejected[TU_STUCK], (unsigned)view.rejected[TU_MISFIT], (unsigned)view.rejected[TU_JUMP],
           (unsigned)view.rolled_back);
    guarded_free(&g);
}

/* hostile <samples in all> <seed> */
int main(int argc, char **argv)
{
    CHECK(argc == 3);
    long samples = strtol(argv[1], NULL, 10) / SETUPS_COUNT + 1;
    for (int i = 0; i < SETUPS_COUNT; i++) {
        attack(&SETUPS[i], (uint32_t)strtol(argv[2], NULL, 10) + (uint32_t)i, samples);
    }
    printf("%ld samples\n", samples * SETUPS_COUNT);
    return 0;
}
