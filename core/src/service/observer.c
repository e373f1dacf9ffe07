#include "service/observer.h"

#include "numeric/elementary.h"
#include "numeric/finite.h"

static const tu_real STEP_SECONDS = TU_R(0.01);
static const tu_real MEMORY_SECONDS = TU_R(60.0);
/* Process noise from model error, in units of x_scale dx_scale dt: an error of 0.3 % of the rate, correlated over the
 * signal's time scale.
 */
static const tu_real MODEL_ERROR = TU_R(1e-5);
static const tu_real DIFFERENCE = TU_R(1e-3); /* in units of x_scale, for derivatives of the field */
static const tu_real FAR = TU_R(36.0);        /* e^2 / S beyond which a sample is not used */
static const tu_real MOST = TU_R(16.0); /* upper limit of e^2 / S in the mean: rare jumps must not lower the health */
enum { LOST = 4 };                      /* consecutive samples beyond FAR after which the filter restarts */

void tu_observer_carve(tu_observer *o, tu_arena *arena, const tu_config *config)
{
    int n = config->states, every = 1;
    while ((tu_real)(every + 1) * config->sample_period <= STEP_SECONDS * TU_R(1.001)) {
        every++;
    }
    o->config = config;
    o->every = every;
    o->seconds = (tu_real)every * config->sample_period;
    o->forget = o->seconds / MEMORY_SECONDS < TU_R(0.05) ? o->seconds / MEMORY_SECONDS : TU_R(0.05);
    o->x = tu_arena_reals(arena, n);
    o->variance = tu_arena_reals(arena, n * n);
    o->inputs = tu_arena_reals(arena, config->inputs);
    o->predicted = tu_arena_reals(arena, config->channels);
    o->expected = tu_arena_reals(arena, config->channels);
    o->ratio = tu_arena_reals(arena, config->channels);
    o->far_run = tu_arena_ints(arena, config->channels);
    o->far = tu_arena_reals(arena, config->channels);
    o->work = tu_arena_reals(arena, 7 * n + 2 * n * n);
    o->steps = 0;
    o->started = o->summed = 0;
}

void tu_observer_clear(tu_observer *o)
{
    o->started = o->summed = 0;
    tu_clear(o->inputs, o->config->inputs);
}

/* F(x, u): known physics plus the learned part. */
static void field(tu_snapshot *s, const tu_real *x, const tu_real *u, tu_real *residual, tu_real *dx)
{
    const tu_config *c = s->config;
    s->known->field(s->known->context, x, u, dx);
    tu_snapshot_residual(s, x, u, residual);
    for (int i = 0; i < c->on_count; i++) {
        dx[c->on[i]] += residual[i];
    }
}

/* Advances x by a classical Runge-Kutta step; writes the field at the old state to dx. */
static void move(tu_observer *o, tu_snapshot *s, tu_real *dx)
{
    static const tu_real ahead[4] = {TU_R(0.5), TU_R(0.5), TU_R(1.0), TU_R(0.0)};
    static const tu_real weight[4] = {TU_R(1.0), TU_R(2.0), TU_R(2.0), TU_R(1.0)};
    int n = o->config->states;
    tu_real *at = dx + n, *slope = at + n, *sum = slope + n, *residual = sum + n;
    for (int i = 0; i < n; i++) {
        at[i] = o->x[i];
        sum[i] = 0;
    }
    for (int stage = 0; stage < 4; stage++) {
        field(s, at, o->inputs, residual, slope);
        for (int i = 0; i < n; i++) {
            dx[i] = stage ? dx[i] : slope[i];
            sum[i] += weight[stage] * slope[i];
            at[i] = o->x[i] + o->seconds * ahead[stage] * slope[i];
        }
    }
    for (int i = 0; i < n; i++) {
        at[i] = o->x[i]; /* the old state, for the derivatives */
        o->x[i] += o->seconds / TU_R(6.0) * sum[i];
    }
}

/* Phi = 1 + J dt + (J dt)^2 / 2, J by finite differences around the old state. */
static void transition(tu_observer *o, tu_snapshot *s, const tu_real *scale, tu_real *dx, tu_real *phi,
                       tu_real *jacobian)
{
    int n = o->config->states;
    tu_real *at = dx + n, *slope = at + n, *residual = slope + n;
    for (int j = 0; j < n; j++) {
        tu_real old = at[j], step = DIFFERENCE * scale[j];
        at[j] = old + step;
        field(s, at, o->inputs, residual, slope);
        at[j] = old;
        for (int i = 0; i < n; i++) {
            jacobian[i * n + j] = (slope[i] - dx[i]) / step * o->seconds;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            tu_real square = 0;
            for (int k = 0; k < n; k++) {
                square += jacobian[i * n + k] * jacobian[k * n + j];
            }
            phi[i * n + j] = jacobian[i * n + j] + TU_R(0.5) * square;
        }
        phi[i * n + i] += 1;
    }
}

/* P = Phi P Phi' + Q. */
static void spread(tu_observer *o, const tu_real *x_scale, const tu_real *dx_scale, const tu_real *phi, tu_real *half)
{
    int n = o->config->states;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            half[i * n + j] = 0;
            for (int k = 0; k < n; k++) {
                half[i * n + j] += phi[i * n + k] * o->variance[k * n + j];
            }
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            tu_real sum = 0;
            for (int k = 0; k < n; k++) {
                sum += half[i * n + k] * phi[j * n + k];
            }
            o->variance[i * n + j] = o->variance[j * n + i] = sum;
        }
    }
    for (int k = 0; k < o->config->on_count; k++) { /* model error only where something is learned */
        int i = o->config->on[k];
        o->variance[i * n + i] += MODEL_ERROR * x_scale[i] * dx_scale[i] * o->seconds;
    }
}

/* Initial state from the sensors alone; unsensed states are 0, with their scale as uncertainty. */
static void begin(tu_observer *o, const tu_real *x_scale, const tu_real *sigma, const tu_real *row)
{
    int n = o->config->states, usable = 1;
    tu_clear(o->variance, n * n);
    for (int i = 0; i < n; i++) {
        int sensed = o->config->order[i] == 0, c = o->config->channel[i];
        usable &= !sensed || tu_usable(row[c]);
        o->x[i] = sensed ? row[c] : 0;
        o->variance[i * n + i] = sensed ? 2 * sigma[c] * sigma[c] : 4 * x_scale[i] * x_scale[i];
    }
    for (int c = 0; c < o->config->channels; c++) {
        o->far_run[c] = 0;
        o->predicted[c] = row[c];
        o->expected[c] = 0;
    }
    o->started = usable;
}

/* Scores one channel's innovation and corrects the state by it. */
static void correct(tu_observer *o, int state, tu_real sigma, tu_real sample)
{
    int n = o->config->states, c = o->config->channel[state];
    const tu_real *column = o->variance + state * n;
    tu_real s = column[state] + sigma * sigma, e = sample - o->x[state], gain = 0;
    e = o->config->wrap[c] ? tu_angle_wrap(e) : e;
    o->predicted[c] = sample - e;
    o->expected[c] = s;
    if (!tu_usable(sample) || !(s > 0)) {
        return;
    }
    tu_real score = e * e / s;
    tu_real share = tu_larger(o->forget, TU_R(1.0) / ((tu_real)o->steps + 1)); /* plain mean in the first minute */
    o->ratio[c] += share * ((score < MOST ? score : MOST) - o->ratio[c]);
    o->far[c] -= share * o->far[c];
    o->far_run[c] = score < FAR ? 0 : o->far_run[c] + 1;
    if (o->far_run[c]) {
        o->far[c] += share;
        return;
    }
    for (int i = 0; i < n; i++) {
        o->work[i] = column[i]; /* a column of P (symmetric) before the update */
    }
    for (int i = 0; i < n; i++) {
        gain = o->work[i] / s;
        o->x[i] += gain * e;
        for (int j = 0; j < n; j++) {
            o->variance[i * n + j] -= gain * o->work[j];
        }
    }
}

static int is_lost(const tu_observer *o)
{
    int lost = 0;
    for (int c = 0; c < o->config->channels; c++) {
        lost |= o->far_run[c] >= LOST;
    }
    for (int i = 0; i < o->config->states; i++) {
        lost |= !tu_usable(o->x[i]) || !tu_usable(o->variance[i * o->config->states + i]);
    }
    return lost;
}

/* One step: predict, compare, correct. */
static void step(tu_observer *o, tu_snapshot *snapshot, const tu_real *x_scale, const tu_real *sigma,
                 const tu_real *row)
{
    const tu_config *c = o->config;
    int n = c->states;
    tu_real *dx = o->work, *phi = dx + 7 * n, *jacobian = phi + n * n;
    for (int i = 0; i < c->inputs; i++) {
        o->inputs[i] /= (tu_real)(o->summed > 0 ? o->summed : 1);
    }
    move(o, snapshot, dx);
    transition(o, snapshot, x_scale, dx, phi, jacobian);
    spread(o, x_scale, x_scale + n + c->inputs, phi, jacobian);
    for (int i = 0; i < n; i++) {
        if (c->order[i] == 0) {
            correct(o, i, sigma[c->channel[i]], row[c->channel[i]]);
        }
    }
    o->steps += o->steps < UINT32_MAX;
    o->started = !is_lost(o);
}

int tu_observer_push(tu_observer *o, tu_snapshot *snapshot, const tu_real *sigma, const tu_real *row, int due)
{
    const tu_config *c = o->config;
    const tu_real *model = tu_snapshot_model(snapshot);
    int predicted = model && due && o->started;
    if (predicted) {
        step(o, snapshot, model + TU_SNAPSHOT_SCALES, sigma, row);
    } else if (model && due) {
        begin(o, model + TU_SNAPSHOT_SCALES, sigma, row);
    }
    for (int i = 0; i < c->inputs; i++) { /* held from this sample on */
        tu_real input = tu_usable(row[c->channels + i]) ? row[c->channels + i] : 0;
        o->inputs[i] = due ? input : o->inputs[i] + input;
    }
    o->summed = due ? 1 : o->summed + 1;
    return predicted;
}
