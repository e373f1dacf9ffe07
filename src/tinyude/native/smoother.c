#include "filter.h"

#include "numeric/real.h"

#include <math.h>
#include <string.h>

/* Adjoint of the backward pass: the information of all later rows about the state, as l and L. */
typedef struct adjoint {
    int n;
    tu_real *l, *L; /* vector and matrix [n][n] */
    tu_real *vector, *left;
} adjoint;

/* Past one correction: l <- (I - K H)' l - H' e / S, with H the row of state i. */
static void past_correction(adjoint *a, int i, tu_real e, tu_real S, const tu_real *K)
{
    tu_real along = 0;
    for (int r = 0; r < a->n; r++) {
        along += K[r] * a->l[r];
    }
    a->l[i] -= along + e / S;
}

/* L <- (I - K H)' L (I - K H) + H' H / S. */
static void precision_past_correction(adjoint *a, int i, tu_real S, const tu_real *K)
{
    int n = a->n;
    tu_real twice = 0;
    for (int r = 0; r < n; r++) {
        tu_real sum = 0;
        for (int c = 0; c < n; c++) {
            sum += a->L[r * n + c] * K[c];
        }
        a->vector[r] = sum;
        twice += K[r] * sum;
    }
    for (int r = 0; r < n; r++) {
        a->L[r * n + i] -= a->vector[r];
        a->L[i * n + r] -= a->vector[r];
    }
    a->L[i * n + i] += twice + 1 / S;
}

/* Past one interval: l <- Phi' l. */
static void past_interval(adjoint *a, const tu_real *Phi)
{
    int n = a->n;
    for (int r = 0; r < n; r++) {
        a->vector[r] = 0;
        for (int k = 0; k < n; k++) {
            a->vector[r] += Phi[k * n + r] * a->l[k];
        }
    }
    memcpy(a->l, a->vector, (size_t)n * sizeof *a->l);
}

/* L <- Phi' L Phi. */
static void precision_past_interval(adjoint *a, const tu_real *Phi)
{
    int n = a->n;
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) {
            tu_real sum = 0;
            for (int k = 0; k < n; k++) {
                sum += a->L[r * n + k] * Phi[k * n + c];
            }
            a->left[r * n + c] = sum;
        }
    }
    for (int r = 0; r < n; r++) {
        for (int c = 0; c < n; c++) {
            tu_real sum = 0;
            for (int k = 0; k < n; k++) {
                sum += Phi[k * n + r] * a->left[k * n + c];
            }
            a->L[r * n + c] = sum;
        }
    }
}

/* x - P l. */
static void smoothed(const adjoint *a, const tu_real *x, const tu_real *P, tu_real *state)
{
    int n = a->n;
    for (int r = 0; r < n; r++) {
        tu_real shift = 0;
        for (int c = 0; c < n; c++) {
            shift += P[r * n + c] * a->l[c];
        }
        state[r] = x[r] - shift;
    }
}

/* The diagonal of P - P L P. */
static void smoothed_variance(const adjoint *a, const tu_real *P, tu_real *variance)
{
    int n = a->n;
    for (int r = 0; r < n; r++) {
        tu_real less = 0;
        for (int c = 0; c < n; c++) {
            tu_real sum = 0;
            for (int k = 0; k < n; k++) {
                sum += a->L[c * n + k] * P[k * n + r];
            }
            less += P[r * n + c] * sum;
        }
        variance[r] = P[r * n + r] > less ? P[r * n + r] - less : 0;
    }
}

void tu_filter_smooth(const tu_filter *filter, const tu_filter_data *data, const tu_filter_result *result,
                      int64_t first, int64_t last, tu_real *workspace, tu_real *states, tu_real *variances)
{
    int n = filter->states, channels = filter->channels;
    size_t square = (size_t)(n * n);
    adjoint a = {n, workspace, workspace + 2 * n, workspace + n, workspace + 2 * n + square};
    for (int64_t stretch = first; stretch < last; stretch++) {
        memset(a.l, 0, (size_t)n * sizeof *a.l);
        memset(a.L, 0, square * sizeof *a.L);
        for (int64_t row = data->offsets[stretch + 1] - 1; row >= data->offsets[stretch]; row--) {
            smoothed(&a, result->states + row * n, result->covariances + row * n * n, states + row * n);
            if (variances) {
                smoothed_variance(&a, result->covariances + row * n * n, variances + row * n);
            }
            for (int c = channels - 1; c >= 0; c--) {
                int64_t at = row * channels + c;
                const tu_real *K = result->gains + at * n;
                if (!isfinite(result->variances[at])) {
                    continue;
                }
                past_correction(&a, filter->measured[c], result->innovations[at], result->variances[at], K);
                if (variances) {
                    precision_past_correction(&a, filter->measured[c], result->variances[at], K);
                }
            }
            if (row > data->offsets[stretch]) {
                past_interval(&a, result->transitions + row * n * n);
                if (variances) {
                    precision_past_interval(&a, result->transitions + row * n * n);
                }
            }
        }
    }
}
