/* The dense products of the network, on blocks of samples: the only loops whose speed matters.
 *
 * rows is a multiple of TU_ROWS. A register tile of TU_ROWS x TU_TILE sums walks over the result; narrower tiles finish
 * the edges. Every sum runs in the order of its index, so the tile's shape leaves the bits alone. What follows a
 * product elementwise is done while the tile is in registers.
 */
#ifndef TU_DENSE_H
#define TU_DENSE_H

#include "numeric/real.h"

/* Samples in a block, on a chip and here: on wide machines long blocks save calls. A whole number of a chip's. */
#define TU_CHIP_BLOCK 16
#ifdef TU_BY_UNIT
#define TU_BLOCK TU_CHIP_BLOCK
#else
#define TU_BLOCK 64
#endif
#define TU_ROWS 4 /* rows (samples) of a register tile */

/* A block holds layer after layer, TU_BLOCK rows of its units each: [row][unit], which vector units take in lanes, or
 * with TU_BY_UNIT (narrow tiles) [unit][row], whose steps a scalar chip knows at compile time. No result depends on the
 * choice.
 *
 * From a number to that of the next unit, and of the next row. A layer is TU_RUNS stretches, TU_BLOCK apart, of TU_RUN
 * numbers without a gap.
 */
#ifdef TU_BY_UNIT
#define TU_UNIT_STEP TU_BLOCK
#define TU_ROW_STEP(units) ((void)(units), 1)
#define TU_RUNS(units) (units)
#define TU_RUN(rows, units) (rows)
#else
#define TU_UNIT_STEP 1
#define TU_ROW_STEP(units) (units)
#define TU_RUNS(units) 1
#define TU_RUN(rows, units) ((rows) * (units))
#endif

/* Forward, a layer's weights (width x depth, its biases behind) are walked along their rows; vector units want them
 * transposed (depth x width), which tu_mlp_weights does once for all blocks.
 */
#ifdef TU_BY_UNIT
#define TU_FORWARD(transposed, plain) ((void)(transposed), plain)
#else
#define TU_FORWARD(transposed, plain) ((void)(plain), transposed)
#endif

/* out[rows][width] = a[rows][depth] weight' + bias[width]. */
void tu_affine(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out);

/* out = tanh(a weight' + bias). */
void tu_affine_tanh(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out);

/* out[rows][width] = a[rows][depth] weight'. */
void tu_forward(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out);

/* out = (a weight') tanh', with tanh' = 1 - h^2 from the activations h[rows][width]. */
void tu_forward_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                      tu_real *out);

/* Back through the layer, whose weights are depth x width here: out[rows][width] = a[rows][depth] weight. */
void tu_backward(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out);

/* out = (a weight) tanh' + bend, with out holding the activations at first; bend may be NULL. */
void tu_backward_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *bend,
                       tu_real *out);

/* The same for tangents, of which out holds those of the layer, tan = s tanh'(z): with tan_bar = a weight, out becomes
 * s_bar = tan_bar tanh' and bend the share of z_bar that comes through tanh'.
 */
void tu_backward_split(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                       tu_real *bend, tu_real *out);

/* grad[outputs][inputs] += bar[rows][outputs]' in[rows][inputs]. */
void tu_add_outer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad);

/* The same for a layer's weights, and behind them its biases: grad[outputs] += the sum of bar's rows. */
void tu_add_layer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad);

#endif
