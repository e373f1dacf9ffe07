#include "plant.h"

#include "numeric/elementary.h"

#include <string.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define FORBID(start, bytes) ASAN_POISON_MEMORY_REGION(start, bytes)
#define PERMIT(start, bytes) ASAN_UNPOISON_MEMORY_REGION(start, bytes)
#else
#define FORBID(start, bytes) (void)(start)
#define PERMIT(start, bytes) (void)(start)
#endif

enum { CANARY = 64, CANARY_BYTE = 0xa5 };
#define GRAVITY 9.81

static void field(void *context, const tu_real *x, const tu_real *u, tu_real *dx)
{
    const tu_config *config = context;
    for (int i = 0; i < config->states; i += 2) {
        dx[i] = x[i + 1];
        dx[i + 1] = -(tu_real)GRAVITY * tu_sin(x[i]) + (config->inputs ? u[0] : 0);
    }
}

static void jacobian(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    int n = ((const tu_config *)context)->states;
    (void)u;
    memset(out, 0, (size_t)(n * n) * sizeof *out);
    for (int i = 0; i < n; i += 2) {
        out[i * n + i + 1] = 1;
        out[(i + 1) * n + i] = -(tu_real)GRAVITY * tu_cos(x[i]);
    }
}

/* Some of them are the same thing twice, or what gravity already is. */
static void terms(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_real all[] = {x[1], 1, x[0], x[1] * tu_abs(x[1]), x[1], tu_sin(x[0]), x[0] * x[0], tu_exp(x[1])};
    (void)u;
    memcpy(out, all, (size_t)((const tu_config *)context)->library_terms * sizeof *out);
}

/* Of every residual state to gravity, and again to gravity. */
static void sensitivity(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_config *config = context;
    (void)u;
    for (int i = 0; i < config->on_count; i++) {
        for (int k = 0; k < config->parameters; k++) {
            *out++ = config->on[i] % 2 ? -tu_sin(x[config->on[i] - 1]) : 0;
        }
    }
}

tu_known known_of(const tu_config *config)
{
    tu_known known = {field,       jacobian,   terms,    sensitivity, NULL, (void *)(uintptr_t)config,
                      &tu_network, &tu_fusion, &tu_paper};
    return known;
}

guarded guarded_learner(const tu_config *config)
{
    guarded g;
    g.config = *config;
    g.bytes = tu_learner_bytes(config);
    CHECK(g.bytes > 0);
    g.block = malloc(g.bytes + 2 * CANARY);
    CHECK(g.block != NULL);
    memset(g.block, CANARY_BYTE, g.bytes + 2 * CANARY);
    tu_config *kept = malloc(sizeof *kept); /* outlives this frame: the learner and the known part read it */
    CHECK(kept != NULL);
    *kept = *config;
    g.known = known_of(kept);
    FORBID(g.block, CANARY);
    FORBID(g.block + CANARY + g.bytes, CANARY);
    CHECK(tu_learner_init(&g.learner, kept, &g.known, g.block + CANARY, g.bytes) == TU_OK);
    return g;
}

void check_canaries(const guarded *g)
{
    unsigned char *behind = g->block + CANARY + g->bytes;
    PERMIT(g->block, CANARY);
    PERMIT(behind, CANARY);
    for (int i = 0; i < CANARY; i++) {
        CHECK(g->block[i] == CANARY_BYTE);
        CHECK(behind[i] == CANARY_BYTE);
    }
    FORBID(g->block, CANARY);
    FORBID(behind, CANARY);
}

static void check_finite(const tu_real *values, int32_t count)
{
    for (int32_t i = 0; i < count; i++) {
        CHECK(values[i] - values[i] == 0);
    }
}

void check_weights(const guarded *g)
{
    tu_view view;
    tu_learner_view(g->learner, &view);
    check_finite(view.params, view.params_count);
    check_finite(view.average, view.params_count);
    check_finite(view.coefficients, view.columns);
    if (!g->config.compact) {
        check_finite(view.reservoir, (int32_t)(view.reservoir_count * view.reservoir_width));
    }
}

void guarded_free(guarded *g)
{
    PERMIT(g->block, CANARY);
    PERMIT(g->block + CANARY + g->bytes, CANARY);
    free(g->known.context);
    free(g->block);
}

uint32_t draw(uint32_t *random)
{
    *random ^= *random << 13;
    *random ^= *random >> 17;
    return *random ^= *random << 5;
}

double uniform(uint32_t *random) { return draw(random) / 2147483648.0 - 1.0; }

void plant_start(plant *p, int states, uint32_t seed)
{
    memset(p, 0, sizeof *p);
    p->pendulums = (states + 1) / 2;
    p->damping = DAMPING;
    p->random = seed * 2654435761u + 1u;
    for (int i = 0; i < p->pendulums; i++) {
        p->state[2 * i] = 1.0 + 0.3 * i;
    }
}

void plant_row(plant *p, const tu_config *config, double noise, tu_real *row)
{
    enum { SUBSTEPS = 10 };
    int kick = p->tick % 600 == 599;
    p->torque = p->tick % 40 ? p->torque : 3.0 * uniform(&p->random);
    for (int i = 0; i < p->pendulums; i++) {
        double *x = p->state + 2 * i, torque = config->inputs ? p->torque : 0;
        x[1] += kick ? 3.0 * uniform(&p->random) : 0;
        for (int step = 0; step < SUBSTEPS; step++) { /* leapfrog */
            double h = PERIOD / SUBSTEPS;
            x[0] += 0.5 * h * x[1];
            x[1] += h * (torque - GRAVITY * sin(x[0]) - p->damping * x[1]);
            x[0] += 0.5 * h * x[1];
        }
    }
    for (int c = 0; c < config->channels; c++) {
        int state = 0;
        while (config->channel[state] != c || config->order[state] != 0) {
            state++;
        }
        row[c] = (tu_real)(p->state[state] + noise * (uniform(&p->random) + uniform(&p->random)));
    }
    for (int i = 0; i < config->inputs; i++) {
        row[config->channels + i] = (tu_real)p->torque; /* held until the next sample */
    }
    p->tick++;
}
