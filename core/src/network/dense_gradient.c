/* Products of the gradient: sums over the rows of a block. */
#include "network/dense.h"

/* A tile of two rows may be wider. */
#define WIDE (TU_TILE > 8 ? TU_TILE : 8)

/* One tile of grad += p' q. flip: p holds the layer's inputs and grad is stored transposed. summed: biases += the rows
 * of the cotangents.
 */
TU_KERNEL void outer_tile(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, int height,
                          int cols, tu_real *grad, int summed, tu_real *biases)
{
    tu_real sum[TU_ROWS][WIDE], bias[WIDE];
    const int down = flip ? 1 : q_width, right = flip ? p_width : 1, units = flip ? cols : height;
    tu_real *place = grad;
    for (int i = 0; i < height; i++, place += down) {
        for (int j = 0; j < cols; j++) {
            sum[i][j] = place[j * right];
        }
    }
    for (int i = 0; summed && i < units; i++) {
        bias[i] = biases[i];
    }
    for (int row = 0; row < rows; row++) {
        const tu_real *p_row = p + row * TU_ROW_STEP(p_width), *q_row = q + row * TU_ROW_STEP(q_width);
        const tu_real *bar = flip ? q_row : p_row;
        TU_LANES
        for (int i = 0; i < units * summed; i++) {
            bias[i] += bar[i * TU_UNIT_STEP];
        }
        for (int i = 0; i < height; i++) {
            tu_real factor = p_row[i * TU_UNIT_STEP];
            TU_LANES
            for (int j = 0; j < cols; j++) {
                sum[i][j] += factor * q_row[j * TU_UNIT_STEP];
            }
        }
    }
    for (int i = 0; i < height; i++, grad += down) {
        for (int j = 0; j < cols; j++) {
            grad[j * right] = sum[i][j];
        }
    }
    for (int i = 0; summed && i < units; i++) {
        biases[i] = bias[i];
    }
}

/* Tiles of `cols` columns, as many as fit; only the first adds the biases of p. */
TU_KERNEL int outer_tiles(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, int height,
                          int cols, int from, tu_real *grad, int summed, tu_real *biases)
{
    const int right = flip ? p_width : 1;
    for (; from + cols <= q_width; from += cols) {
        if (summed && (flip ? biases != NULL : from == 0)) {
            outer_tile(p, q + from * TU_UNIT_STEP, flip, rows, p_width, q_width, height, cols, grad + from * right, 1,
                       flip ? biases + from : biases);
        } else {
            outer_tile(p, q + from * TU_UNIT_STEP, flip, rows, p_width, q_width, height, cols, grad + from * right, 0,
                       NULL);
        }
    }
    return from;
}

TU_KERNEL void outer_strip(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, int height,
                           tu_real *grad, int summed, tu_real *biases)
{
    int from = 0;
    if (height <= 2) {
        from = outer_tiles(p, q, flip, rows, p_width, q_width, height, WIDE, from, grad, summed, biases);
    } else {
        from = outer_tiles(p, q, flip, rows, p_width, q_width, height, TU_TILE, from, grad, summed, biases);
    }
    from = outer_tiles(p, q, flip, rows, p_width, q_width, height, 4, from, grad, summed, biases);
    outer_tiles(p, q, flip, rows, p_width, q_width, height, 1, from, grad, summed, biases);
}

/* grad += p' q; only the first strip adds the biases of q. */
TU_KERNEL void outer(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, tu_real *grad,
                     int summed, tu_real *biases)
{
    for (int left = p_width, height; left > 0; left -= height) {
        if (left >= TU_ROWS) {
            outer_strip(p, q, flip, rows, p_width, q_width, height = TU_ROWS, grad, summed, biases);
        } else if (left >= 2) {
            outer_strip(p, q, flip, rows, p_width, q_width, height = 2, grad, summed, biases);
        } else {
            outer_strip(p, q, flip, rows, p_width, q_width, height = 1, grad, summed, biases);
        }
        p += height * TU_UNIT_STEP;
        grad += flip ? height : height * q_width;
        biases = flip ? NULL : biases + height;
    }
}

/* The columns of a tile lie along the wider side. */
TU_KERNEL void add_products(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad,
                            int summed)
{
    if (inputs < outputs) {
        outer(in, bar, 1, rows, inputs, outputs, grad, summed, grad + outputs * inputs);
    } else {
        outer(bar, in, 0, rows, outputs, inputs, grad, summed, grad + outputs * inputs);
    }
}

void tu_add_outer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad)
{
    add_products(bar, in, rows, outputs, inputs, grad, 0);
}

void tu_add_layer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad)
{
    add_products(bar, in, rows, outputs, inputs, grad, 1);
}
