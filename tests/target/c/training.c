/* Every setup learns an honest stream; then what callers do wrong. */
#include "plant.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { SAMPLES = 6000 };

static void push_stream(const guarded *g, plant *p, int samples, double noise)
{
    tu_real row[MAX_ROW];
    for (int i = 0; i < samples; i++) {
        plant_row(p, &g->config, noise, row);
        tu_learner_push(g->learner, row);
    }
}

/* RMS of the learned residual of the first rate minus the true one, over the true one. */
static double field_error(const guarded *g, double damping)
{
    double off = 0, all = 0;
    int rate = 0;
    while (g->config.on[rate] != 1) {
        rate++;
    }
    for (double theta = -0.8; theta < 0.9; theta += 0.2) {
        for (double omega = -2; omega < 2.1; omega += 0.25) {
            tu_real x[TU_MAX_STATES] = {(tu_real)theta, (tu_real)omega}, u[TU_MAX_INPUTS] = {0}, n[TU_MAX_STATES];
            CHECK(tu_learner_residual(g->learner, x, u, n) == TU_OK);
            double truth = -damping * omega;
            off += (n[rate] - truth) * (n[rate] - truth);
            all += truth * truth;
        }
    }
    return sqrt(off / all);
}

static void train(const setup *tried)
{
    tu_config config = config_of(tried);
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    plant_start(&p, config.states, 1);
    push_stream(&g, &p, SAMPLES, 0.002);
    tu_learner_finish(g.learner);
    tu_learner_view(g.learner, &view);
    double error = field_error(&g, DAMPING);
    printf("%-26s accepted %u of %u windows, error %.4f\n", tried->name, (unsigned)view.accepted,
           (unsigned)view.windows, error);
    CHECK(view.calibrated && view.accepted > view.windows / 4);
    CHECK(config.library_terms == 0 || error < 0.2); /* a short training of a small network proves little */
    check_weights(&g);
    check_canaries(&g);
    guarded_free(&g);
}

/* The damping trebles half way: the learner must notice, and learn the new one. */
static void follow_a_change(void)
{
    tu_config config = base_config();
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    plant_start(&p, config.states, 2);
    push_stream(&g, &p, 2 * SAMPLES, 0.002);
    p.damping *= 3;
    push_stream(&g, &p, 2 * SAMPLES, 0.002);
    tu_learner_finish(g.learner);
    tu_learner_view(g.learner, &view);
    CHECK(view.changes >= 1);
    CHECK(field_error(&g, p.damping) < 0.1);
    guarded_free(&g);
}

/* The sensor of the rate shows too much for a while: what was learned before it comes back. */
static void return_to_the_last_good_model(int hidden_count)
{
    tu_config config = base_config();
    config.judged = 1;
    config.hidden_count = hidden_count;
    config.network_nodes = config.physics_nodes = 1;
    config.follow = 0;
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    tu_real row[MAX_ROW];
    plant_start(&p, config.states, 8);
    push_stream(&g, &p, 4 * SAMPLES, 0.002);
    for (int i = 0; i < 2 * SAMPLES; i++) {
        plant_row(&p, &config, 0.002, row);
        row[1] *= (tu_real)1.6;
        tu_learner_push(g.learner, row);
    }
    CHECK(field_error(&g, DAMPING) > 0.2);
    push_stream(&g, &p, 2 * SAMPLES, 0.002);
    tu_learner_view(g.learner, &view);
    CHECK(view.returned > 0);
    CHECK(field_error(&g, DAMPING) < 0.2);
    check_weights(&g);
    check_canaries(&g);
    guarded_free(&g);
}

/* Gaps, a rewind and a shortened calibration: what a recorded stream in pieces asks for. */
static void recorded_runs(void)
{
    tu_config config = base_config();
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    tu_real rows[2 * MAX_ROW];
    plant_start(&p, config.states, 3);
    push_stream(&g, &p, 500, 0.002);
    tu_learner_end_calibration(g.learner);
    tu_learner_rewind(g.learner);
    for (int run = 0; run < 8; run++) {
        push_stream(&g, &p, 700, 0.002);
        tu_learner_gap(g.learner);
    }
    plant_row(&p, &config, 0, rows);
    plant_row(&p, &config, 0, rows + config.channels + config.inputs);
    tu_learner_push_many(g.learner, rows, 2);
    tu_learner_view(g.learner, &view);
    CHECK(view.samples == 8 * 700 + 2);
    CHECK(view.rejected[TU_GAP] > 0);
    tu_learner_finish(g.learner);
    CHECK(field_error(&g, DAMPING) < 0.2);
    guarded_free(&g);
}

/* A sensor whose errors hang together looks far noisier to long windows than its neighbouring samples say. */
static void coloured_noise(void)
{
    tu_config config = base_config();
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    tu_real row[MAX_ROW];
    plant_start(&p, config.states, 4);
    for (int i = 0; i < SAMPLES; i++) {
        plant_row(&p, &config, 1e-5, row);
        row[0] += (tu_real)(0.02 * sin(0.9 * i));
        row[1] += (tu_real)(0.02 * sin(0.7 * i));
        tu_learner_push(g.learner, row);
    }
    tu_learner_view(g.learner, &view);
    CHECK(view.sigma_scale >= 1);
    check_weights(&g);
    guarded_free(&g);
}

/* Nothing but zeros: no scale, no step, nothing to learn, and nothing non-finite. */
static void dead_sensor(void)
{
    tu_config config = base_config();
    config.inputs = 1;
    config.repair = 0;
    guarded g = guarded_learner(&config);
    tu_real row[MAX_ROW] = {0};
    for (int i = 0; i < SAMPLES; i++) {
        tu_learner_push(g.learner, row);
    }
    tu_learner_finish(g.learner);
    check_weights(&g);
    guarded_free(&g);
}

static void bad_jacobian(void *context, const tu_real *x, const tu_real *u, tu_real *jacobian)
{
    (void)context;
    (void)u;
    jacobian[0] = jacobian[1] = jacobian[2] = jacobian[3] = x[0] > 0 ? (tu_real)INFINITY : 0;
}

/* Physics that blows up in half of the states: such updates are undone. */
static void bad_physics(void)
{
    tu_config config = paper_config();
    config.snr_gate = 0;
    guarded g = guarded_learner(&config);
    plant p;
    tu_view view;
    g.known.jacobian = bad_jacobian;
    CHECK(tu_learner_init(&g.learner, &config, &g.known, g.learner, g.bytes) == TU_OK);
    plant_start(&p, config.states, 5);
    push_stream(&g, &p, SAMPLES, 0.002);
    tu_learner_view(g.learner, &view);
    CHECK(view.rolled_back > 0);
    check_weights(&g);
    guarded_free(&g);
}

/* What one learner found, another one starts from: the same answers, and more to learn. */
static void start_from_a_model(tu_config config)
{
    guarded first = guarded_learner(&config), second = guarded_learner(&config);
    plant p;
    tu_view found, view;
    tu_real x[TU_MAX_STATES] = {(tu_real)0.3, (tu_real)-1.2}, u[TU_MAX_INPUTS] = {0}, a[TU_MAX_STATES],
            b[TU_MAX_STATES];
    plant_start(&p, config.states, 6);
    push_stream(&first, &p, SAMPLES, 0.002);
    tu_learner_view(first.learner, &found);
    tu_model model = {found.window_half, found.window_spacing, found.sigma_scale, found.x_scale,      found.u_scale,
                      found.dx_scale,    found.average,        found.network_on,  found.coefficients, found.errors};
    CHECK(tu_learner_start(second.learner, &model) == TU_OK);
    CHECK(tu_learner_residual(first.learner, x, u, a) == TU_OK &&
          tu_learner_residual(second.learner, x, u, b) == TU_OK);
    CHECK(memcmp(a, b, (size_t)config.on_count * sizeof *a) == 0);
    push_stream(&second, &p, SAMPLES, 0.002);
    tu_learner_view(second.learner, &view);
    CHECK(view.accepted > view.windows / 4 && view.updates > 0);
    check_weights(&second);
    check_canaries(&second);
    model.window_half = config.max_half + 1;
    CHECK(tu_learner_start(second.learner, &model) == TU_BAD_CONFIG);
    guarded_free(&first);
    guarded_free(&second);
}

static void before_calibration(void)
{
    tu_config config = base_config();
    guarded g = guarded_learner(&config);
    tu_real x[2] = {0}, answer[1] = {9};
    tu_view view;
    tu_learner_solve(g.learner);
    tu_learner_judge(g.learner);
    tu_learner_finish(g.learner);
    tu_learner_step(g.learner, 3);
    CHECK(tu_learner_residual(g.learner, x, x, answer) == TU_NOT_READY && answer[0] == 0);
    tu_learner_view(g.learner, &view);
    CHECK(!view.calibrated && view.updates == 3 && tu_learner_take_losses(g.learner, &x[0]) == 0 && x[0] == 0);
    tu_learner_end_calibration(g.learner); /* without a single sample */
    tu_learner_finish(g.learner);
    CHECK(tu_learner_residual(g.learner, x, x, answer) == TU_OK);
    check_weights(&g);
    guarded_free(&g);
}

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
    for (int i = 0; i < SETUPS_COUNT; i++) {
        train(&SETUPS[i]);
    }
    follow_a_change();
    return_to_the_last_good_model(0);
    return_to_the_last_good_model(2);
    recorded_runs();
    coloured_noise();
    dead_sensor();
    bad_physics();
    start_from_a_model(base_config());
    start_from_a_model(paper_config());
    before_calibration();
    rejected_starts();
    rejected_configurations();
    rejected_windows();
    return 0;
}
