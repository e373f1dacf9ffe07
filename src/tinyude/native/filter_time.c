/* Between two rows: Runge-Kutta on the state and its derivatives, then the covariance. */
#include "filter_walk.h"

#include <math.h>
#include <string.h>

/* dx/dt into k, and d[Phi | M]/dt at Z into Z_rate. */
TU_INLINE void rates(tu_walk *w, const tu_real *x, const tu_real *Z, const tu_real *inputs, tu_real s, int n,
                     int columns)
{
    const tu_filter *filter = w->filter;
    const tu_tape *tape = tu_filter_tape(filter);
    for (int i = 0; i < n; i++) {
        w->registers[i] = x[i];
    }
    for (int i = 0; i < filter->inputs; i++) {
        const tu_real *c = inputs + 4 * i;
        w->registers[n + i] = c[0] + s * (c[1] + s * (c[2] + s * c[3]));
    }
    tu_tape_code(tape, w->registers);
    for (int i = 0; i < n; i++) {
        w->k[i] = w->registers[tape->outputs[i]];
    }
    for (int i = 0; i < n * columns; i++) {
        w->Z_rate[i] = 0;
    }
    int derivatives = filter->frozen ? 0 : tape->outputs_count - n;
    for (int d = 0; d < derivatives; d++) {
        int row = filter->entries[2 * d], column = filter->entries[2 * d + 1];
        tu_real value = w->registers[tape->outputs[n + d]];
        tu_real *rate = w->Z_rate + row * columns;
        if (column < n) {
            const tu_real *z = Z + column * columns;
            for (int j = 0; j < columns; j++) {
                rate[j] += value * z[j];
            }
        } else if (column < columns) {
            rate[column] += value;
        }
    }
}

TU_INLINE void runge_kutta(tu_walk *w, const tu_real *inputs, tu_real s, tu_real ds, tu_real h, int n, int columns)
{
    static const tu_real place[4] = {0, TU_R(0.5), TU_R(0.5), 1}, weight[4] = {1, 2, 2, 1};
    int size = n * columns;
    for (int i = 0; i < 4; i++) {
        if (i == 0) {
            rates(w, w->x, w->Z, inputs, s, n, columns);
            memcpy(w->k_sum, w->k, (size_t)n * sizeof *w->k);
            memcpy(w->Z_sum, w->Z_rate, (size_t)size * sizeof *w->Z_sum);
        } else {
            tu_along(w->stage, w->x, place[i] * h, w->k, n);
            tu_along(w->Z_stage, w->Z, place[i] * h, w->Z_rate, size);
            rates(w, w->stage, w->Z_stage, inputs, s + place[i] * ds, n, columns);
            tu_along(w->k_sum, w->k_sum, weight[i], w->k, n);
            tu_along(w->Z_sum, w->Z_sum, weight[i], w->Z_rate, size);
        }
    }
    tu_along(w->x, w->x, h / 6, w->k_sum, n);
    tu_along(w->Z, w->Z, h / 6, w->Z_sum, size);
}

/* P <- Phi P Phi' + Q span, where Phi is the first n columns of Z. */
TU_INLINE void spread(tu_walk *w, tu_real span, int n, int columns)
{
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            tu_real sum = 0;
            for (int l = 0; l < n; l++) {
                sum += w->Z[i * columns + l] * w->P[l * n + j];
            }
            w->product[i * n + j] = sum;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j <= i; j++) {
            tu_real sum = i == j ? w->filter->process[i] * span : 0;
            for (int l = 0; l < n; l++) {
                sum += w->product[i * n + l] * w->Z[j * columns + l];
            }
            w->P[i * n + j] = w->P[j * n + i] = sum;
        }
    }
}

TU_INLINE void advance(tu_walk *w, tu_real span, const tu_real *inputs, int n, int columns)
{
    tu_real wanted = (tu_real)ceil((double)(span / w->filter->longest_step - TU_R(1e-9)));
    int steps = wanted > 1 ? (int)wanted : 1, unknowns = columns - n;
    for (int i = 0; i < n && columns; i++) {
        for (int j = 0; j < columns; j++) {
            w->Z[i * columns + j] = j < n ? i == j : w->M[i * unknowns + j - n];
        }
    }
    for (int step = 0; step < steps; step++) {
        runge_kutta(w, inputs, (tu_real)step / (tu_real)steps, 1 / (tu_real)steps, span / (tu_real)steps, n, columns);
    }
    for (int i = 0; i < n && columns; i++) {
        for (int j = 0; j < unknowns; j++) {
            w->M[i * unknowns + j] = w->Z[i * columns + n + j];
        }
    }
    if (!w->filter->frozen) {
        spread(w, span, n, columns);
    }
}

/* The loops of a known length are unrolled: for few states, that takes two thirds of the time. */
void tu_filter_advance(tu_walk *w, tu_real span, const tu_real *inputs)
{
    int n = w->n, columns = w->columns;
    if (n == 1 && columns == 1) {
        advance(w, span, inputs, 1, 1);
    } else if (n == 2 && columns == 2) {
        advance(w, span, inputs, 2, 2);
    } else if (n == 2 && columns == 3) {
        advance(w, span, inputs, 2, 3);
    } else if (n == 3 && columns == 3) {
        advance(w, span, inputs, 3, 3);
    } else {
        advance(w, span, inputs, n, columns);
    }
}
