/* Every setup learns a sound stream. */
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
    return 0;
}
