#include "signal/nodes.h"

#include "numeric/elementary.h"

enum { MAX_TERMS = TU_MAX_POLY + 1, NEWTON_STEPS = 8 };
enum { SLICE = 128 }; /* samples: about 70,000 instructions on a Cortex-M4F with nine Gauss nodes */

void tu_nodes_carve(tu_nodes *nodes, tu_arena *arena, const tu_config *config, int count)
{
    int stored = count <= TU_MAX_NODES;
    nodes->count = 0;
    nodes->outputs = config->on_count;
    nodes->half = 0;
    nodes->orders = 1;
    for (int i = 0; i < config->states; i++) {
        nodes->orders = config->order[i] < nodes->orders ? nodes->orders : config->order[i] + 1;
    }
    nodes->values = stored ? tu_arena_reals(arena, nodes->orders * count * (config->poly + 1)) : NULL;
    nodes->ticks = stored ? tu_arena_ints(arena, count) : NULL;
    nodes->weights = tu_arena_reals(arena, count * nodes->outputs);
}

/* Places node q at tau. */
static void place(tu_nodes *nodes, const tu_window *window, int q, tu_real tau)
{
    int terms = window->poly + 1;
    tu_real before = (1 - tau) * (tu_real)tu_window_reach(window);
    for (int order = 0; order < nodes->orders; order++) {
        tu_window_basis(window, tau, order, nodes->values + (order * nodes->count + q) * terms);
    }
    nodes->ticks[q] = (int32_t)before + ((tu_real)(int32_t)before < before); /* the sample held there: rounded up */
}

const tu_real *tu_nodes_basis(const tu_nodes *nodes, const tu_window *window, int node, int order, tu_real *buffer)
{
    if (!nodes->half) {
        return nodes->values + (order * nodes->count + node) * (window->poly + 1);
    }
    tu_window_basis(window, ((tu_real)(node - nodes->half) + TU_R(0.5)) / (tu_real)nodes->half, order, buffer);
    return buffer;
}

void tu_nodes_centre(tu_nodes *nodes, const tu_window *window)
{
    nodes->count = 1;
    place(nodes, window, 0, 0);
    for (int i = 0; i < nodes->outputs; i++) {
        nodes->weights[i] = 1;
    }
}

/* Root number `index` (ascending) of L_count and its Gauss weight. */
static tu_real gauss_point(int index, int count, tu_real *weight)
{
    tu_real values[TU_MAX_NODES + 1], n = (tu_real)count, slope = 0;
    tu_real tau = -tu_cos(TU_PI * ((tu_real)index + TU_R(0.75)) / (n + TU_R(0.5)));
    for (int step = 0; step < NEWTON_STEPS; step++) {
        tau = 2 * index + 1 == count ? 0 : tau;
        tu_legendre(tau, count + 1, 0, values);
        slope = n * (values[count - 1] - tau * values[count]) / (1 - tau * tau);
        tau -= values[count] / slope;
    }
    *weight = 2 / ((1 - tau * tau) * slope * slope);
    return tau;
}

/* L_0 .. L_{count-1} at tau, integrated `times` times; defined up to polynomials of degree below `times`. */
static void antiderivative(tu_real tau, int count, int times, tu_real *values)
{
    tu_legendre(tau, count + times, 0, values);
    for (int left = times; left > 0; left--) {
        tu_real lower = 0;
        for (int j = 0; j < count + left - 1; j++) {
            tu_real own = values[j];
            values[j] = (values[j + 1] - lower) / (tu_real)(2 * j + 1);
            lower = own;
        }
    }
}

/* A derivative row at one sample. */
static tu_real row_at(const tu_window *window, const tu_real *row, int k)
{
    tu_real basis[MAX_TERMS], value = 0;
    tu_legendre((tu_real)k / (tu_real)window->half, window->poly + 1, 0, basis);
    for (int j = 0; j <= window->poly; j++) {
        value += row[j] * basis[j];
    }
    return value;
}

/* Applied to samples of x, a derivative row of order d gives exactly the integral of a kernel times x^(d) (summation by
 * parts). Its moments are the row applied to the d-fold antiderivatives of L_j. Adds some samples to them. Returns 1
 * while there are more.
 */
static int add_moments(tu_nodes_work *work, const tu_window *window, int count, int derivative)
{
    tu_real row[MAX_TERMS], values[TU_MAX_NODES + TU_MAX_POLY];
    int first = work->done - window->half, last = first + SLICE - 1;
    last = last < window->half ? last : window->half;
    tu_window_derivative_row(window, derivative, row);
    for (int j = 0; work->done == 0 && j < count; j++) {
        work->moments[j] = 0;
    }
    for (int k = first; k <= last; k++) {
        tu_real share = row_at(window, row, k);
        antiderivative((tu_real)k / (tu_real)window->half, count, derivative, values);
        for (int j = 0; j < count; j++) {
            work->moments[j] += share * values[j];
        }
    }
    work->done += last - first + 1;
    return last < window->half;
}

/* Advances to the next output, if there is one. */
static int next_output(const tu_nodes *nodes, tu_nodes_work *work)
{
    work->output++;
    work->done = 0;
    return work->output < nodes->outputs;
}

int tu_nodes_gauss_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, int count,
                         const int32_t *orders)
{
    tu_real values[TU_MAX_NODES];
    nodes->count = count;
    if (add_moments(work, window, count, orders[work->output] + 1)) {
        return 1;
    }
    for (int q = 0; q < count; q++) {
        tu_real gauss, sum = 0, tau = gauss_point(q, count, &gauss);
        tu_legendre(tau, count, 0, values);
        for (int j = 0; j < count; j++) {
            sum += values[j] * ((tu_real)j + TU_R(0.5)) * work->moments[j];
        }
        nodes->weights[q * nodes->outputs + work->output] = gauss * sum;
        place(nodes, window, q, tau);
    }
    return next_output(nodes, work);
}

/* Summation by parts: the kernel is constant on each interval. Adds some samples. Returns 1 while there are more. */
static int add_intervals(tu_nodes_work *work, const tu_window *window, int derivative, int outputs, tu_real *weights)
{
    tu_real row[MAX_TERMS], kernel = work->done ? weights[(work->done - 1) * outputs] : 0;
    int half = window->half, end = work->done + SLICE < 2 * half ? work->done + SLICE : 2 * half;
    tu_window_derivative_row(window, derivative, row);
    for (int q = work->done; q < end; q++) {
        kernel -= row_at(window, row, q - half);
        weights[q * outputs] = kernel;
    }
    work->done = end;
    return end < 2 * half;
}

int tu_nodes_intervals_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, const int32_t *orders)
{
    int half = window->half, outputs = nodes->outputs, derivative = orders[work->output] + 1;
    tu_real *weights = nodes->weights + work->output;
    nodes->count = 2 * half;
    nodes->half = half;
    if (add_intervals(work, window, derivative, outputs, weights)) {
        return 1;
    }
    for (int order = 1; order < derivative; order++) { /* repeat for each further derivative */
        tu_real knot = 0;
        for (int q = 0; q < 2 * half; q++) {
            tu_real next = knot - weights[q * outputs] / (tu_real)half;
            weights[q * outputs] = TU_R(0.5) * (knot + next);
            knot = next;
        }
    }
    for (int q = 0; q < 2 * half; q++) {
        weights[q * outputs] /= (tu_real)half;
    }
    return next_output(nodes, work);
}

void tu_nodes_gauss(tu_nodes *nodes, const tu_window *window, int count, const int32_t *orders)
{
    tu_nodes_work work = {0};
    while (tu_nodes_gauss_slice(nodes, &work, window, count, orders)) {
    }
}

void tu_nodes_intervals(tu_nodes *nodes, const tu_window *window, const int32_t *orders)
{
    tu_nodes_work work = {0};
    while (tu_nodes_intervals_slice(nodes, &work, window, orders)) {
    }
}
