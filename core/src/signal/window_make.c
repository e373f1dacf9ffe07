#include "numeric/cholesky.h"
#include "signal/legendre.h"

const tu_real tu_legendre_powers[TU_MAX_TERMS][TU_MAX_TERMS] = {
    {1},
    {0, 1},
    {TU_R(-0.5), 0, TU_R(1.5)},
    {0, TU_R(-1.5), 0, TU_R(2.5)},
    {TU_R(0.375), 0, TU_R(-3.75), 0, TU_R(4.375)},
    {0, TU_R(1.875), 0, TU_R(-8.75), 0, TU_R(7.875)},
    {TU_R(-0.3125), 0, TU_R(6.5625), 0, TU_R(-19.6875), 0, TU_R(14.4375)},
};

/* Adds samples to the sums of products of the monic polynomials: of two even or two odd ones; the others are 0. */
TU_INLINE void add_products(int half, int poly, int first, int count, tu_real *sums)
{
    tu_real basis[TU_MAX_TERMS], step = TU_R(1.0) / (tu_real)half, k = (tu_real)first;
    for (; count > 0; count--, k += 1) {
        tu_monic(k * step, poly, basis);
        for (int i = 0; i <= poly; i++) {
            for (int j = i & 1; j <= i; j += 2) {
                sums[tu_packed(i) + j] += basis[i] * basis[j];
            }
        }
    }
}

/* The inverse of the Gram matrix, from the sums over one half of the window. */
static void invert_gram(tu_window *window, tu_real *factor)
{
    tu_real basis[TU_MAX_TERMS];
    int poly = window->poly;
    tu_monic(0, poly, basis);
    for (int i = 0; i <= poly; i++) {
        for (int j = 0; j <= i; j++) {
            factor[tu_packed(i) + j] = 2 * factor[tu_packed(i) + j] + basis[i] * basis[j]; /* k, -k and the centre */
        }
    }
    tu_cholesky_factor(poly + 1, factor);
    for (int i = 0; i <= poly; i++) {
        tu_real column[TU_MAX_TERMS] = {0};
        column[i] = TU_R(1.0) / tu_legendre_powers[i][i]; /* from monic polynomials to L_j */
        tu_cholesky_forward(poly + 1, factor, column);
        tu_cholesky_backward(poly + 1, factor, column);
        for (int j = 0; j <= i; j++) {
            window->inverse[tu_packed(i) + j] = column[j] / tu_legendre_powers[j][j];
        }
    }
}

void tu_window_begin(tu_window *window, tu_window_work *work, int half, int spacing, int poly, tu_real period)
{
    window->half = half;
    window->spacing = spacing;
    window->poly = poly;
    window->seconds = (tu_real)(half * spacing) * period;
    work->next = 1;
    for (int i = 0; i < tu_packed(poly + 1); i++) {
        work->sums[i] = 0;
    }
}

int tu_window_make_slice(tu_window *window, tu_window_work *work)
{
    int left = window->half - work->next + 1, count = left < TU_WINDOW_SLICE ? left : TU_WINDOW_SLICE;
    if (window->poly == 4) { /* the common case gets its own instance */
        add_products(window->half, 4, work->next, count, work->sums);
    } else {
        add_products(window->half, window->poly, work->next, count, work->sums);
    }
    work->next += count;
    if (work->next <= window->half) {
        return 1;
    }
    invert_gram(window, work->sums);
    return 0;
}

void tu_window_make(tu_window *window, int half, int spacing, int poly, tu_real period)
{
    tu_window_work work;
    tu_window_begin(window, &work, half, spacing, poly, period);
    while (tu_window_make_slice(window, &work)) {
    }
}
