#include "signal/window.h"

#include "numeric/cholesky.h"

enum { MAX_TERMS = TU_MAX_POLY + 1 };

void tu_legendre(tu_real tau, int count, int derivative, tu_real *values)
{
    tu_real before = 0, own = 1, degree = 1;
    for (int j = 0; j < count; j++, degree += 1) { /* degree of the next polynomial */
        tu_real next = ((2 * degree - 1) * tau * own - (degree - 1) * before) / degree;
        values[j] = own;
        before = own;
        own = next;
    }
    for (int d = 0; d < derivative; d++) { /* L'_j = L'_{j-2} + (2 j - 1) L_{j-1}, and so on for higher orders */
        tu_real lower = 0, odd = -1;
        for (int j = 0; j < count; j++, odd += 2) {
            own = values[j];
            values[j] = (j > 1 ? values[j - 2] : 0) + odd * lower;
            lower = own;
        }
    }
}

void tu_window_basis(const tu_window *window, tu_real tau, int derivative, tu_real *basis)
{
    tu_real unit = 1;
    tu_legendre(tau, window->poly + 1, derivative, basis);
    for (int d = 0; d < derivative; d++) {
        unit *= window->seconds;
    }
    for (int j = derivative; derivative > 0 && j <= window->poly; j++) {
        basis[j] /= unit;
    }
}

tu_real tu_window_at(const tu_window *window, const tu_real *coefficients, tu_real tau, int derivative)
{
    tu_real basis[MAX_TERMS], value = 0;
    tu_window_basis(window, tau, derivative, basis);
    for (int j = derivative; j <= window->poly; j++) {
        value += basis[j] * coefficients[j];
    }
    return value;
}

void tu_window_derivative_row(const tu_window *window, int derivative, tu_real *row)
{
    tu_real at_centre[MAX_TERMS];
    tu_legendre(0, window->poly + 1, derivative, at_centre);
    for (int i = 0; i <= window->poly; i++) {
        row[i] = 0;
        for (int j = 0; j <= window->poly; j++) {
            row[i] += window->inverse[tu_symmetric(i, j)] * at_centre[j];
        }
    }
}

tu_real tu_window_derivative_gain(const tu_window *window, int derivative)
{
    tu_real row[MAX_TERMS], at_centre[MAX_TERMS], gain = 0;
    tu_window_derivative_row(window, derivative, row);
    tu_legendre(0, window->poly + 1, derivative, at_centre);
    for (int j = 0; j <= window->poly; j++) {
        gain += row[j] * at_centre[j];
    }
    for (int d = 0; d < 2 * derivative; d++) {
        gain /= window->seconds;
    }
    return gain;
}
