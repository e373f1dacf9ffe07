#include "filter_walk.h"

#include <math.h>
#include <string.h>

static int columns_of(const tu_filter *filter)
{
    return filter->frozen ? 0 : filter->states + (filter->sensitivities ? filter->unknowns : 0);
}

static size_t registers_of(const tu_tape *tape)
{
    return (size_t)tape->states + (size_t)tape->inputs + (size_t)tape->constants_count + (size_t)tape->code_count;
}

size_t tu_filter_workspace(const tu_filter *filter)
{
    size_t n = (size_t)filter->states, unknowns = (size_t)filter->unknowns;
    const tu_tape *tape = tu_filter_tape(filter);
    return 4 * n + 2 * n * n + n * unknowns + 4 * n * (n + unknowns) + registers_of(tape) + (size_t)tape->outputs_count;
}

static tu_real *taken(tu_real **free, size_t count)
{
    tu_real *start = *free;
    *free += count;
    return start;
}

static tu_walk walk_begin(const tu_filter *filter, tu_real *workspace)
{
    tu_walk w = {.filter = filter, .n = filter->states, .columns = columns_of(filter)};
    size_t n = (size_t)w.n, size = n * (n + (size_t)filter->unknowns);
    const tu_tape *tape = tu_filter_tape(filter);
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

/* Whether every channel's innovation, before any correction, is within the gate. */
static int used(const tu_walk *w, const tu_real *sample, const tu_real *variance)
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
static void inform(tu_walk *w, int i, tu_real e, tu_real S, const tu_real *K, tu_real *information, tu_real *gradient)
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

static void correct(tu_walk *w, const tu_filter_data *data, int64_t stretch, int64_t row, tu_filter_result *result)
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
        tu_along(w->x, w->x, e, K, n);
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

/* Stores what smoothing needs. Z still holds the transition from the row before; unused at a stretch's first row. */
static void keep(const tu_walk *w, int64_t row, tu_filter_result *result)
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

static void over(tu_walk *w, const tu_filter_data *data, int64_t stretch, tu_filter_result *result)
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
            tu_filter_advance(w, data->times[row] - data->times[row - 1],
                              data->inputs + (row - 1) * w->filter->inputs * 4);
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
    tu_walk w = walk_begin(filter, workspace);
    for (int64_t stretch = first; stretch < last; stretch++) {
        over(&w, data, stretch, result);
    }
}
