/* The dense products of the network, on blocks of samples: the only loops whose speed matters.
 *
 * rows is a multiple of TU_ROWS. The result is computed in register tiles of TU_ROWS x TU_TILE sums, narrower at the
 * edges. Every sum runs in the order of its index, so the tile's shape does not change the bits. Elementwise functions
 * of a product are applied while the tile is in registers.
 */
#ifndef TU_DENSE_H
#define TU_DENSE_H

#include "numeric/real.h"

/* Samples in a block, on a chip and in this build: with vector units, long blocks save calls. TU_BLOCK is a multiple of
 * TU_CHIP_BLOCK.
 */
#define TU_CHIP_BLOCK 16
#ifdef TU_BY_UNIT
#define TU_BLOCK TU_CHIP_BLOCK
#else
#define TU_BLOCK 64
#endif
#define TU_ROWS 4 /* rows (samples) of a register tile */

/* A block holds layer after layer, TU_BLOCK rows of its units each: [row][unit], which suits vector units, or with
 * TU_BY_UNIT (narrow tiles) [unit][row], whose strides are compile-time constants on a scalar chip. Results do not
 * depend on the choice.
 *
 * Strides from one unit to the next and from one row to the next. A layer is TU_RUNS contiguous runs of TU_RUN numbers,
 * TU_BLOCK apart.
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

/* Forward sweeps read a layer's weights (width x depth, then its biases) row by row. For vector units they are
 * transposed (depth x width), once for all blocks, by tu_mlp_weights.
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

/* Backward through a layer with weights depth x width: out[rows][width] = a[rows][depth] weight. */
void tu_backward(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *out);

/* out = (a weight) tanh' + bend. On entry out holds the activations; bend may be NULL. */
void tu_backward_slope(const tu_real *a, const tu_real *weight, int rows, int depth, int width, tu_real *bend,
                       tu_real *out);

/* The same for tangents. On entry out holds the layer's, tan = s tanh'(z). With tan_bar = a weight, out becomes s_bar =
 * tan_bar tanh', and bend the part of z_bar that comes through tanh'.
 */
void tu_backward_split(const tu_real *a, const tu_real *weight, int rows, int depth, int width, const tu_real *h,
                       tu_real *bend, tu_real *out);

/* grad[outputs][inputs] += bar[rows][outputs]' in[rows][inputs]. */
void tu_add_outer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad);

/* The same for a layer's weights, followed by its biases: grad[outputs] += the sum of bar's rows. */
void tu_add_layer(const tu_real *bar, const tu_real *in, int rows, int outputs, int inputs, tu_real *grad);

#endif
