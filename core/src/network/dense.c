#include "network/dense.h"

#include "numeric/elementary.h"

/* Functions marked TU_KERNEL are instantiated with constant tile shapes and flags, so that their sums stay in
 * registers.
 */

/* GCC does not unroll long bodies by itself. */
#if defined(__GNUC__) && !defined(__clang__)
#define UNROLL _Pragma("GCC unroll 4")
#else
#define UNROLL
#endif

/* Sums start from their first product, in vector lanes from -0 (adding to it changes no bit). Compilers then know that
 * the loop runs, and keep the sums in registers.
 */
#define FIRST_APART (TU_TILE <= 4)

/* What is applied to a finished sum. */
typedef enum {
    LINEAR,
    AFFINE, /* sum + bias */
    TANH,   /* tanh(sum + bias) */
    SLOPE,  /* sum tanh' */
    BENT,   /* sum tanh' + bend */
    SPLIT   /* the sum is tan_bar of tan = s tanh'(z): out, which holds tan, becomes s_bar = tan_bar tanh', and bend its
             * share of z_bar, tan_bar s tanh'' = -2 h tan tan_bar */
} finish;

/* The result: layers of one shape, and the data needed to finish them. */
typedef struct {
    const tu_real *bias;
    const tu_real *h; /* activations: tanh' = 1 - h^2 */
    tu_real *bend;
    tu_real *out;
} result;

/* z = tanh(z) for one row of a tile: without vector units, one range test per row is cheaper than one per number. */
TU_KERNEL void activate_row(int cols, tu_real *z)
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

/* z = tanh(z) in vector lanes. */
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

/* Finishes the sum of one element of the result. */
TU_KERNEL tu_real finished(finish how, const result *to, int at, tu_real sum)
{
    if (how == SLOPE || how == BENT) {
        sum *= 1 - to->h[at] * to->h[at];
    }
    if (how == BENT) {
        sum += to->bend[at];
    }
    if (how == SPLIT) {
        tu_real h = to->h[at];
        to->bend[at] = -2 * h * to->out[at] * sum;
        sum *= 1 - h * h;
    }
    return sum;
}

TU_KERNEL void add_products(const tu_real *a, int down, const tu_real *b, int b_right, int cols,
                            tu_real sum[TU_ROWS][TU_TILE])
{
    for (int i = 0; i < TU_ROWS; i++) {
        TU_LANES
        for (int j = 0; j < cols; j++) {
            sum[i][j] += a[i * down] * b[j * b_right];
        }
    }
}

/* b[k * b_down + j * b_right] is the factor of a's unit k in the sum of unit j. */
TU_KERNEL void product_tile(const tu_real *a, const tu_real *b, int b_down, int b_right, finish how, int depth,
                            int width, int cols, const result *to)
{
    const int down = TU_ROW_STEP(depth), out_down = TU_ROW_STEP(width);
    tu_real sum[TU_ROWS][TU_TILE];
    const int biased = how == AFFINE || how == TANH;
    const tu_real *end = a + depth * TU_UNIT_STEP;
    for (int i = 0; i < TU_ROWS; i++) {
        TU_LANES
        for (int j = 0; j < cols; j++) {
            tu_real start = biased ? to->bias[j] : TU_R(-0.0), first = a[i * down] * b[j * b_right];
            sum[i][j] = !FIRST_APART ? start : biased ? start + first : first;
        }
    }
    if (FIRST_APART) {
        a += TU_UNIT_STEP;
        b += b_down;
    }
    if (!FIRST_APART || a != end) {
        do {
            add_products(a, down, b, b_right, cols, sum);
            a += TU_UNIT_STEP;
            b += b_down;
        } while (a != end);
    }
    UNROLL
    for (int i = 0; i < TU_ROWS; i++) {
        if (how == TANH) {
            activate_row(cols, sum[i]);
        }
        TU_LANES
        for (int j = 0; j < cols; j++) {
            const int at = i * out_down + j * TU_UNIT_STEP;
            to->out[at] = finished(how, to, at, sum[i][j]);
        }
    }
}

/* The result, moved on by `units` and `rows`. */
TU_KERNEL result moved(finish how, result to, int units, int rows, int width)
{
    const int step = units * TU_UNIT_STEP + rows * TU_ROW_STEP(width);
    to.bias = how == AFFINE || how == TANH ? to.bias + units : NULL;
    to.h = how >= SLOPE ? to.h + step : NULL;
    to.bend = how >= BENT ? to.bend + step : NULL;
    to.out += step;
    return to;
}

TU_KERNEL void product_strip(const tu_real *a, const tu_real *b, int b_down, int b_right, finish how, int rows,
                             int depth, int width, int cols, result to)
{
    for (int row = rows; row != 0; row -= TU_ROWS) {
        product_tile(a, b, b_down, b_right, how, depth, width, cols, &to);
        a += TU_ROWS * TU_ROW_STEP(depth);
        to = moved(how, to, 0, TU_ROWS, width);
    }
}

TU_KERNEL void product(const tu_real *a, const tu_real *b, int b_down, int b_right, finish how, int rows, int depth,
                       int width, result to)
{
    for (int left = width, cols; left > 0; left -= cols) {
        if (left >= TU_TILE) {
            product_strip(a, b, b_down, b_right, how, rows, depth, width, cols = TU_TILE, to);
        } else if (left >= 4) {
            product_strip(a, b, b_down, b_right, how, rows, depth, width, cols = 4, to);
        } else if (left >= 2) {
            product_strip(a, b, b_down, b_right, how, rows, depth, width, cols = 2, to);
        } else {
            product_strip(a, b, b_down, b_right, how, rows, depth, width, cols = 1, to);
        }
        b += cols * b_right;
        to = moved(how, to, cols, 0, width);
    }
}

/* Forward through a layer; weights are width x depth, or transposed. */
TU_KERNEL void forward(const tu_real *a, const tu_real *weight, finish how, int rows, int depth, int width,
                       const tu_real *h, tu_real *out)
{
    result to = {weight + depth * width, h, NULL, out};
    product(a, weight, TU_FORWARD(width, 1), TU_FORWARD(1, depth), how, rows, depth, width, to);
}

/* Backward through a layer; weights are depth x width. */
TU_KERNEL void backward(const tu_real *a, const tu_real *weight, finish how, int rows, int depth, int width,
                        const tu_real *h, tu_real *bend, tu_real *out)
{
    result to = {NULL, h, bend, out};
    product(a, weight, width, 1, how, rows, depth, width, to);
}

void tu_affine(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out)
{
    forward(a, weight, AFFINE, rows, depth, width, NULL, out);
}

void tu_affine_tanh(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out)
{
    if (TU_TILE > 4) { /* compilers vectorise a separate pass best */
        tu_affine(a, weight, rows, depth, width, out);
        for (int at = 0; at < TU_RUNS(width) * TU_BLOCK; at += TU_BLOCK) {
            activate(TU_RUN(rows, width), out + at);
        }
    } else {
        forward(a, weight, TANH, rows, depth, width, NULL, out);
    }
}

void tu_forward(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out)
{
    forward(a, weight, LINEAR, rows, depth, width, NULL, out);
}

void tu_forward_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                      tu_real *out)
{
    forward(a, weight, SLOPE, rows, depth, width, h, out);
}

void tu_backward(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out)
{
    backward(a, weight, LINEAR, rows, depth, width, NULL, NULL, out);
}

void tu_backward_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *bend,
                       tu_real *out)
{
    if (bend) {
        backward(a, weight, BENT, rows, depth, width, out, bend, out);
    } else {
        backward(a, weight, SLOPE, rows, depth, width, out, NULL, out);
    }
}

void tu_backward_split(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                       tu_real *bend, tu_real *out)
{
    backward(a, weight, SPLIT, rows, depth, width, h, bend, out);
}
