/* Between two rows: Runge-Kutta on the state and its derivatives, then the covariance. */
#include "filter_walk.h"

#include <math.h>
#include <string.h>

/* dx/dt into k, and d[Phi | M]/dt at Z into Z_rate. */
static void rates(tu_walk *w, const tu_real *x, const tu_real *Z, const tu_real *inputs, tu_real s)
{
    const tu_filter *filter = w->filter;
    const tu_tape *tape = tu_filter_tape(filter);
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

static void runge_kutta(tu_walk *w, const tu_real *inputs, tu_real s, tu_real ds, tu_real h)
{
    static const tu_real place[4] = {0, TU_R(0.5), TU_R(0.5), 1}, weight[4] = {1, 2, 2, 1};
    int n = w->n, size = w->n * w->columns;
    memset(w->k_sum, 0, (size_t)n * sizeof *w->k_sum);
    memset(w->Z_sum, 0, (size_t)size * sizeof *w->Z_sum);
    for (int i = 0; i < 4; i++) {
        if (i == 0) {
            rates(w, w->x, w->Z, inputs, s);
        } else {
            tu_along(w->stage, w->x, place[i] * h, w->k, n);
            tu_along(w->Z_stage, w->Z, place[i] * h, w->Z_rate, size);
            rates(w, w->stage, w->Z_stage, inputs, s + place[i] * ds);
        }
        tu_along(w->k_sum, w->k_sum, weight[i], w->k, n);
        tu_along(w->Z_sum, w->Z_sum, weight[i], w->Z_rate, size);
    }
    tu_along(w->x, w->x, h / 6, w->k_sum, n);
    tu_along(w->Z, w->Z, h / 6, w->Z_sum, size);
}

/* P <- Phi P Phi' + Q span, where Phi is the first n columns of Z. */
static void spread(tu_walk *w, tu_real span)
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

void tu_filter_advance(tu_walk *w, tu_real span, const tu_real *inputs)
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
