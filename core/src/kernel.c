#include "kernel.h"

#include "elementary.h"

/* Functions marked TU_INLINE are instantiated with constant tile shapes and flags; their sums then live in registers. */

/* GCC does not dare to unroll long bodies by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#endif

/* What becomes of a finished sum; the last two start from a bias. */
typedef enum { LINEAR, SLOPE, AFFINE, TANH } finish;

/* z = tanh(z) for one row of a tile: without vector units, one test for the row is cheaper than one for each. */
TU_INLINE void activate_row(int cols, tu_real *z)
{
    tu_real square[TU_TILE], total = 0;
    for (int j = 0; j < cols; j++) {
        square[j] = z[j] * z[j];
        total = j ? total + square[j] : square[j];
    }
    if (!(total < TU_TANH_LIMIT * TU_TANH_LIMIT)) {
        for (int j = 0; j < cols; j++) {
            z[j] = tu_tanh_clamp(z[j]);
            square[j] = z[j] * z[j];
        }
    }
    for (int j = 0; j < cols; j++) {
        z[j] = tu_tanh_within(z[j], square[j]);
    }
}

/* z = tanh(z) in lanes. */
static void activate(int count, tu_real *z)
{
    int i = 0;
    for (; i + TU_TILE <= count; i += TU_TILE) {
        TU_LANES
        for (int lane = 0; lane < TU_TILE; lane++) {
            z[i + lane] = tu_tanh(z[i + lane]);
        }
    }
    for (; i < count; i++) {
        z[i] = tu_tanh(z[i]);
    }
}

TU_INLINE void product_tile(const tu_real *a, const tu_real *b, const tu_real *bias, finish how, int depth, int width,
                            int cols, const tu_real *h, tu_real *out)
{
    const int down = TU_ROW_STEP(depth), out_down = TU_ROW_STEP(width);
    tu_real sum[TU_ROWS][TU_TILE];
    for (int i = 0; i < TU_ROWS; i++) {
        TU_LANES
        for (int j = 0; j < cols; j++) {
            tu_real first = a[i * down] * b[j];
            sum[i][j] = how >= AFFINE ? bias[j] + first : first;
        }
    }
    for (const tu_real *end = a + (depth - 1) * TU_UNIT_STEP; a != end;) {
        a += TU_UNIT_STEP;
        b += width;
        for (int i = 0; i < TU_ROWS; i++) {
            TU_LANES
            for (int j = 0; j < cols; j++) {
                sum[i][j] += a[i * down] * b[j];
            }
        }
    }
    UNROLL
    for (int i = 0; i < TU_ROWS; i++) {
        const int row = i * out_down;
        if (how == TANH) {
            activate_row(cols, sum[i]);
        }
        if (how == SLOPE) {
            TU_LANES
            for (int j = 0; j < cols; j++) {
                sum[i][j] *= 1 - h[row + j * TU_UNIT_STEP] * h[row + j * TU_UNIT_STEP];
            }
        }
        TU_LANES
        for (int j = 0; j < cols; j++) {
            out[row + j * TU_UNIT_STEP] = sum[i][j];
        }
    }
}

TU_INLINE void product_strip(const tu_real *a, const tu_real *b, const tu_real *bias, finish how, int rows, int depth,
                             int width, int cols, const tu_real *h, tu_real *out)
{
    for (int row = rows; row != 0; row -= TU_ROWS) {
        product_tile(a, b, bias, how, depth, width, cols, h, out);
        a += TU_ROWS * TU_ROW_STEP(depth);
        h = how == SLOPE ? h + TU_ROWS * TU_ROW_STEP(width) : NULL;
        out += TU_ROWS * TU_ROW_STEP(width);
    }
}

TU_INLINE void product(const tu_real *a, const tu_real *b, const tu_real *bias, finish how, int rows, int depth,
                       int width, const tu_real *h, tu_real *out)
{
    for (int left = width, cols; left > 0; left -= cols) {
        if (left >= TU_TILE) {
            product_strip(a, b, bias, how, rows, depth, width, cols = TU_TILE, h, out);
        } else if (left >= 4) {
            product_strip(a, b, bias, how, rows, depth, width, cols = 4, h, out);
        } else if (left >= 2) {
            product_strip(a, b, bias, how, rows, depth, width, cols = 2, h, out);
        } else {
            product_strip(a, b, bias, how, rows, depth, width, cols = 1, h, out);
        }
        b += cols;
        bias = how >= AFFINE ? bias + cols : NULL;
        h = how == SLOPE ? h + cols * TU_UNIT_STEP : NULL;
        out += cols * TU_UNIT_STEP;
    }
}

void tu_affine(const tu_real *a, const tu_real *weight, const tu_real *bias, int rows, int depth, int width,
               tu_real *out)
{
    product(a, weight, bias, AFFINE, rows, depth, width, NULL, out);
}

void tu_affine_tanh(const tu_real *a, const tu_real *weight, const tu_real *bias, int rows, int depth, int width,
                    tu_real *out)
{
    if (TU_TILE > 4) { /* compilers vectorise a pass of its own best */
        product(a, weight, bias, AFFINE, rows, depth, width, NULL, out);
        for (int at = 0; at < TU_RUNS(width) * TU_BLOCK; at += TU_BLOCK) {
            activate(TU_RUN(rows, width), out + at);
        }
    } else {
        product(a, weight, bias, TANH, rows, depth, width, NULL, out);
    }
}

void tu_linear(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out)
{
    product(a, weight, NULL, LINEAR, rows, depth, width, NULL, out);
}

void tu_linear_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                     tu_real *out)
{
    product(a, weight, NULL, SLOPE, rows, depth, width, h, out);
}

/* A tile of two rows may be wider. */
#define WIDE (TU_TILE > 8 ? TU_TILE : 8)

/* One tile of grad += p' q; where `summed`, also sums += the rows of p. flip: grad is stored transposed. */
TU_INLINE void outer_tile(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, int height,
                          int cols, tu_real *grad, int summed, tu_real *sums)
{
    tu_real sum[TU_ROWS][WIDE], p_sum[TU_ROWS];
    const int down = flip ? 1 : q_width, right = flip ? p_width : 1;
    tu_real *place = grad;
    for (int i = 0; i < height; i++, place += down) {
        p_sum[i] = summed ? sums[i] : 0;
        for (int j = 0; j < cols; j++) {
            sum[i][j] = place[j * right];
        }
    }
    for (int row = 0; row < rows; row++) {
        const tu_real *p_row = p + row * TU_ROW_STEP(p_width), *q_row = q + row * TU_ROW_STEP(q_width);
        for (int i = 0; i < height; i++) {
            tu_real factor = p_row[i * TU_UNIT_STEP];
            p_sum[i] += factor;
            TU_LANES
            for (int j = 0; j < cols; j++) {
                sum[i][j] += factor * q_row[j * TU_UNIT_STEP];
            }
        }
    }
    for (int i = 0; i < height; i++, grad += down) {
        if (summed) {
            sums[i] = p_sum[i];
        }
        for (int j = 0; j < cols; j++) {
            grad[j * right] = sum[i][j];
        }
    }
}

TU_INLINE void outer_strip(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, int height,
                           tu_real *grad, int summed, tu_real *sums)
{
    for (int left = q_width, cols; left > 0; left -= cols) {
        if (height <= 2 && left >= WIDE) {
            outer_tile(p, q, flip, rows, p_width, q_width, height, cols = WIDE, grad, 0, NULL);
        } else if (summed && left == q_width) {
            outer_tile(p, q, flip, rows, p_width, q_width, height, cols = TU_TILE, grad, 1, sums);
        } else if (left >= TU_TILE) {
            outer_tile(p, q, flip, rows, p_width, q_width, height, cols = TU_TILE, grad, 0, NULL);
        } else if (left >= 4) {
            outer_tile(p, q, flip, rows, p_width, q_width, height, cols = 4, grad, 0, NULL);
        } else {
            outer_tile(p, q, flip, rows, p_width, q_width, height, cols = 1, grad, 0, NULL);
        }
        q += cols * TU_UNIT_STEP;
        grad += flip ? cols * p_width : cols;
    }
}

/* grad += p' q. summed: sums += the rows of p as well, for whole tiles' units; then q_width >= TU_TILE. */
TU_INLINE void outer(const tu_real *p, const tu_real *q, int flip, int rows, int p_width, int q_width, tu_real *grad,
                     int summed, tu_real *sums)
{
    for (int left = p_width, height; left > 0; left -= height) {
        if (left >= TU_ROWS) {
            outer_strip(p, q, flip, rows, p_width, q_width, height = TU_ROWS, grad, summed, sums);
        } else if (left >= 2) {
            outer_strip(p, q, flip, rows, p_width, q_width, height = 2, grad, 0, NULL);
        } else {
            outer_strip(p, q, flip, rows, p_width, q_width, height = 1, grad, 0, NULL);
        }
        p += height * TU_UNIT_STEP;
        grad += flip ? height : height * q_width;
        sums = summed ? sums + height : NULL;
    }
}

/* Units whose rows are summed at once. */
#define LONG 16

TU_INLINE void rows_tile(const tu_real *bar, int rows, int units, int cols, tu_real *grad)
{
    tu_real sum[LONG];
    for (int j = 0; j < cols; j++) {
        sum[j] = grad[j];
    }
    for (int row = 0; row < rows; row++) {
        TU_LANES
        for (int j = 0; j < cols; j++) {
            sum[j] += bar[row * TU_ROW_STEP(units) + j * TU_UNIT_STEP];
        }
    }
    for (int j = 0; j < cols; j++) {
        grad[j] = sum[j];
    }
}

/* grad += the sum of bar's rows, for the units from `unit` on. */
static void add_rows(const tu_real *bar, int rows, int units, int unit, tu_real *grad)
{
    for (; unit + LONG <= units; unit += LONG) {
        rows_tile(bar + unit * TU_UNIT_STEP, rows, units, LONG, grad + unit);
    }
    for (; unit < units; unit++) {
        rows_tile(bar + unit * TU_UNIT_STEP, rows, units, 1, grad + unit);
    }
}

void tu_add_outer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad)
{
    if (inputs < outputs) { /* the columns of a tile lie along the wider side */
        outer(in, bar, 1, rows, inputs, outputs, grad, 0, NULL);
    } else {
        outer(bar, in, 0, rows, outputs, inputs, grad, 0, NULL);
    }
}

void tu_add_layer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad)
{
    tu_real *bias = grad + outputs * inputs;
    if (TU_TILE > 4 || inputs < outputs || inputs < TU_TILE) {
        tu_add_outer(bar, in, rows, outputs, inputs, grad);
        add_rows(bar, rows, outputs, 0, bias);
    } else { /* a scalar chip sums what it has in registers already */
        outer(bar, in, 0, rows, outputs, inputs, grad, 1, bias);
        add_rows(bar, rows, outputs, outputs - outputs % TU_ROWS, bias);
    }
}
