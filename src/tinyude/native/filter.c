#include "filter.h"

#include "numeric/real.h"

#include <math.h>
#include <string.h>

/* The filter on its way through one stretch. Matrices are by rows; Z is [Phi | M]. */
typedef struct walk {
    const tu_filter *filter;
    int n, columns;     /* of Z: the states, and the unknowns where sensitivities are formed */
    int rejected;       /* rows in a row */
    tu_real *x, *P, *M; /* state, covariance [n][n], sensitivities [n][unknowns] */
    tu_real *Z, *Z_stage, *Z_rate, *Z_sum;
    tu_real *k, *k_sum, *stage;
    tu_real *product;   /* [n][n] */
    tu_real *registers; /* of the tape in use; constants and unknowns are loaded once */
    tu_real *outputs;
} walk;

static int columns_of(const tu_filter *filter)
{
    return filter->frozen ? 0 : filter->states + (filter->sensitivities ? filter->unknowns : 0);
}

static const tu_tape *tape_of(const tu_filter *filter) { return filter->frozen ? filter->value : filter->slopes; }

static size_t registers_of(const tu_tape *tape)
{
    return (size_t)tape->states + (size_t)tape->inputs + (size_t)tape->constants_count + (size_t)tape->code_count;
}

size_t tu_filter_workspace(const tu_filter *filter)
{
    size_t n = (size_t)filter->states, unknowns = (size_t)filter->unknowns;
    const tu_tape *tape = tape_of(filter);
    return 4 * n + 2 * n * n + n * unknowns + 4 * n * (n + unknowns) + registers_of(tape) + (size_t)tape->outputs_count;
}

static tu_real *taken(tu_real **free, size_t count)
{
    tu_real *start = *free;
    *free += count;
    return start;
}

static walk walk_begin(const tu_filter *filter, tu_real *workspace)
{
    walk w = {.filter = filter, .n = filter->states, .columns = columns_of(filter)};
    size_t n = (size_t)w.n, size = n * (n + (size_t)filter->unknowns);
    const tu_tape *tape = tape_of(filter);
    w.x = taken(&workspace, n);
    w.k = taken(&workspace, n);
    w.k_sum = taken(&workspace, n);
    w.stage = taken(&workspace, n);
    w.P = taken(&workspace, n * n);
    w.product = taken(&workspace, n * n);
    w.M = taken(&workspace, n * (size_t)filter->unknowns);
    w.Z = taken(&workspace, size);
    w.Z_stage = taken(&workspace, size);
    w.Z_rate = taken(&workspace, size);
    w.Z_sum = taken(&workspace, size);
    w.registers = taken(&workspace, registers_of(tape));
    w.outputs = workspace;
    memcpy(w.registers + w.n + filter->inputs, filter->values, (size_t)filter->unknowns * sizeof *filter->values);
    memcpy(w.registers + tape->states + tape->inputs, tape->constants,
           (size_t)tape->constants_count * sizeof *tape->constants);
    return w;
}

/* dx/dt into k, and d[Phi | M]/dt at Z into Z_rate. */
static void rates(walk *w, const tu_real *x, const tu_real *Z, const tu_real *inputs, tu_real s)
{
    const tu_filter *filter = w->filter;
    const tu_tape *tape = tape_of(filter);
    memcpy(w->registers, x, (size_t)w->n * sizeof *x);
    for (int i = 0; i < filter->inputs; i++) {
        const tu_real *c = inputs + 4 * i;
        w->registers[w->n + i] = c[0] + s * (c[1] + s * (c[2] + s * c[3]));
    }
    tu_tape_code(tape, w->registers);
    for (int i = 0; i < w->n; i++) {
        w->k[i] = w->registers[tape->outputs[i]];
    }
    memset(w->Z_rate, 0, (size_t)(w->n * w->columns) * sizeof *w->Z_rate);
    int derivatives = filter->frozen ? 0 : tape->outputs_count - w->n;
    for (int d = 0; d < derivatives; d++) {
        int row = filter->entries[2 * d], column = filter->entries[2 * d + 1];
        tu_real value = w->registers[tape->outputs[w->n + d]];
        tu_real *rate = w->Z_rate + row * w->columns;
        if (column < w->n) {
            const tu_real *z = Z + column * w->columns;
            for (int j = 0; j < w->columns; j++) {
                rate[j] += value * z[j];
            }
        } else if (column < w->columns) {
            rate[column] += value;
        }
    }
}

/* out = base + factor * rate */
static void along(tu_real *out, const tu_real *base, tu_real factor, const tu_real *rate, int count)
{
    for (int i = 0; i < count; i++) {
        out[i] = base[i] + factor * rate[i];
    }
}

static void runge_kutta(walk *w, const tu_real *inputs, tu_real s, tu_real ds, tu_real h)
{
    static const tu_real place[4] = {0, TU_R(0.5), TU_R(0.5), 1}, weight[4] = {1, 2, 2, 1};
    int n = w->n, size = w->n * w->columns;
    memset(w->k_sum, 0, (size_t)n * sizeof *w->k_sum);
    memset(w->Z_sum, 0, (size_t)size * sizeof *w->Z_sum);
    for (int i = 0; i < 4; i++) {
        if (i == 0) {
            rates(w, w->x, w->Z, inputs, s);
        } else {
            along(w->stage, w->x, place[i] * h, w->k, n);
            along(w->Z_stage, w->Z, place[i] * h, w->Z_rate, size);
            rates(w, w->stage, w->Z_stage, inputs, s + place[i] * ds);
        }
        along(w->k_sum, w->k_sum, weight[i], w->k, n);
        along(w->Z_sum, w->Z_sum, weight[i], w->Z_rate, size);
    }
    along(w->x, w->x, h / 6, w->k_sum, n);
    along(w->Z, w->Z, h / 6, w->Z_sum, size);
}

/* P <- Phi P Phi' + Q span, Phi being the first n columns of Z. */
static void spread(walk *w, tu_real span)
{
    int n = w->n;
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            tu_real sum = 0;
            for (int l = 0; l < n; l++) {
                sum += w->Z[i * w->columns + l] * w->P[l * n + j];
            }
            w->product[i * n + j] = sum;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            tu_real sum = i == j ? w->filter->process[i] * span : 0;
            for (int l = 0; l < n; l++) {
                sum += w->product[i * n + l] * w->Z[j * w->columns + l];
            }
            w->P[i * n + j] = w->P[j * n + i] = sum;
        }
    }
}

/* To the next row, in equal steps. */
static void advance(walk *w, tu_real span, const tu_real *inputs)
{
    tu_real wanted = (tu_real)ceil((double)(span / w->filter->longest_step - TU_R(1e-9)));
    int steps = wanted > 1 ? (int)wanted : 1, n = w->n, unknowns = w->columns - n;
    for (int i = 0; i < n && w->columns; i++) {
        tu_real *row = w->Z + i * w->columns;
        memset(row, 0, (size_t)n * sizeof *row);
        row[i] = 1;
        memcpy(row + n, w->M + i * unknowns, (size_t)unknowns * sizeof *row);
    }
    for (int step = 0; step < steps; step++) {
        runge_kutta(w, inputs, (tu_real)step / (tu_real)steps, 1 / (tu_real)steps, span / (tu_real)steps);
    }
    for (int i = 0; i < n && w->columns; i++) {
        memcpy(w->M + i * unknowns, w->Z + i * w->columns + n, (size_t)unknowns * sizeof *w->M);
    }
    if (!w->filter->frozen) {
        spread(w, span);
    }
}

/* Whether no channel's innovation, before any correction, is beyond the gate. */
static int used(const walk *w, const tu_real *sample, const tu_real *variance)
{
    const tu_filter *filter = w->filter;
    for (int c = 0; c < filter->channels; c++) {
        if (isnan(sample[c])) {
            continue;
        }
        int i = filter->measured[c];
        if (filter->frozen) {
            if (isinf(variance[c])) {
                return 0;
            }
        } else if (filter->gate > 0) {
            tu_real e = sample[c] - w->x[i], S = w->P[i * w->n + i] + filter->measurement[c];
            if (!(e * e <= filter->gate * filter->gate * S)) {
                return 0;
            }
        }
    }
    return 1;
}

/* N += h h' / S, g += h e / S, M -= K h with h = M[i]; N is symmetric and its lower half is filled here. */
static void inform(walk *w, int i, tu_real e, tu_real S, const tu_real *K, tu_real *information, tu_real *gradient)
{
    int p = w->columns - w->n;
    tu_real *h = w->Z_stage; /* free between rows */
    memcpy(h, w->M + i * p, (size_t)p * sizeof *h);
    for (int a = 0; a < p; a++) {
        tu_real weighted = h[a] / S;
        gradient[a] += weighted * e;
        for (int b = 0; b <= a; b++) {
            information[a * p + b] += weighted * h[b];
        }
    }
    for (int row = 0; row < w->n; row++) {
        for (int a = 0; a < p; a++) {
            w->M[row * p + a] -= K[row] * h[a];
        }
    }
}

static void correct(walk *w, const tu_filter_data *data, int64_t stretch, int64_t row, tu_filter_result *result)
{
    const tu_filter *filter = w->filter;
    int n = w->n, channels = filter->channels, p = w->columns - n;
    const tu_real *sample = data->samples + row * channels;
    int use = used(w, sample, result->variances + row * channels);
    w->rejected = use ? 0 : w->rejected + 1;
    for (int c = 0; c < channels; c++) {
        int64_t at = row * channels + c;
        if (isnan(sample[c])) {
            result->innovations[at] = NAN;
            result->variances[at] = NAN;
            continue;
        }
        int i = filter->measured[c];
        tu_real e = sample[c] - w->x[i], *K = result->gains + at * n;
        result->innovations[at] = e;
        if (!use) {
            result->variances[at] = INFINITY;
            continue;
        }
        if (!filter->frozen) {
            result->variances[at] = w->P[i * n + i] + filter->measurement[c];
            for (int j = 0; j < n; j++) {
                K[j] = w->P[j * n + i] / result->variances[at];
            }
        }
        tu_real S = result->variances[at];
        result->squares[stretch * channels + c] += e * e / S;
        result->counts[stretch * channels + c] += 1;
        along(w->x, w->x, e, K, n);
        if (filter->frozen) {
            continue;
        }
        result->logs[stretch * channels + c] += (tu_real)log((double)S);
        for (int a = 0; a < n; a++) {
            for (int b = 0; b < n; b++) {
                w->P[a * n + b] -= K[a] * K[b] * S;
            }
        }
        if (p) {
            inform(w, i, e, S, K, result->information + stretch * p * p, result->gradient + stretch * p);
        }
    }
}

/* What smoothing needs. Z still holds the way from the row before; at a stretch's first row nobody asks. */
static void keep(const walk *w, int64_t row, tu_filter_result *result)
{
    int n = w->n;
    memcpy(result->covariances + row * n * n, w->P, (size_t)(n * n) * sizeof *w->P);
    for (int i = 0; i < n; i++) {
        memcpy(result->transitions + (row * n + i) * n, w->Z + i * w->columns, (size_t)n * sizeof *w->Z);
    }
}

static int finite(const tu_real *values, int count)
{
    for (int i = 0; i < count; i++) {
        if (!isfinite(values[i])) {
            return 0;
        }
    }
    return 1;
}

static void over(walk *w, const tu_filter_data *data, int64_t stretch, tu_filter_result *result)
{
    int n = w->n, p = w->columns > n ? w->columns - n : 0;
    int64_t begin = data->offsets[stretch], end = data->offsets[stretch + 1];
    memcpy(w->x, data->starts + stretch * n, (size_t)n * sizeof *w->x);
    w->rejected = 0;
    memset(w->P, 0, (size_t)(n * n) * sizeof *w->P);
    memset(w->M, 0, (size_t)(n * p) * sizeof *w->M);
    for (int i = 0; i < n; i++) {
        w->P[i * n + i] = data->start_variances[stretch * n + i];
    }
    for (int64_t row = begin; row < end; row++) {
        if (row > begin) {
            advance(w, data->times[row] - data->times[row - 1], data->inputs + (row - 1) * w->filter->inputs * 4);
        }
        if (!finite(w->x, n) || (!w->filter->frozen && !finite(w->P, n * n))) {
            result->squares[stretch * w->filter->channels] = NAN;
            return;
        }
        correct(w, data, stretch, row, result);
        if (result->covariances) {
            keep(w, row, result);
        }
        for (int i = 0; i < n; i++) {
            result->states[row * n + i] = w->x[i];
            result->state_variances[row * n + i] = w->P[i * n + i];
            if (w->rejected == TU_FILTER_JUMP && !w->filter->frozen) {
                w->P[i * n + i] += w->filter->widen[i];
            }
        }
    }
    tu_real *information = result->information + stretch * p * p;
    for (int a = 0; a < p; a++) {
        for (int b = 0; b < a; b++) {
            information[b * p + a] = information[a * p + b];
        }
    }
}

void tu_filter_pass(const tu_filter *filter, const tu_filter_data *data, int64_t first, int64_t last,
                    tu_real *workspace, tu_filter_result *result)
{
    walk w = walk_begin(filter, workspace);
    for (int64_t stretch = first; stretch < last; stretch++) {
        over(&w, data, stretch, result);
    }
}
