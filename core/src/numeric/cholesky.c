#include "numeric/cholesky.h"

#include "numeric/elementary.h"

int tu_cholesky_factor(int n, tu_real *lower)
{
    for (int i = 0; i < n; i++) {
        tu_real *row = lower + tu_packed(i);
        tu_cholesky_forward(i, lower, row);
        tu_real left = row[i];
        for (int j = 0; j < i; j++) {
            left -= row[j] * row[j];
        }
        if (!(left > 0)) {
            return 0;
        }
        row[i] = tu_sqrt(left);
    }
    return 1;
}

void tu_cholesky_forward(int n, const tu_real *lower, tu_real *x)
{
    for (int i = 0; i < n; i++) {
        const tu_real *row = lower + tu_packed(i);
        tu_real sum = x[i];
        for (int j = 0; j < i; j++) {
            sum -= row[j] * x[j];
        }
        x[i] = sum / row[i];
    }
}

void tu_cholesky_backward(int n, const tu_real *lower, tu_real *x)
{
    for (int i = n - 1; i >= 0; i--) {
        const tu_real *row = lower + tu_packed(i);
        x[i] /= row[i];
        for (int j = 0; j < i; j++) {
            x[j] -= row[j] * x[i];
        }
    }
}
