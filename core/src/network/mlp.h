/* The network: tanh hidden layers, linear output; its tangents (JVP) and both reverse sweeps.
 *
 * Parameters are one flat vector, layer by layer, weights (out x in, row by row) before biases.
 *
 * A sweep handles one block: up to TU_BLOCK samples, laid out as described in dense.h, input layer first. Rows are
 * processed in fours: tu_mlp_pad fills the last four of the input and of an output cotangent with zeros. Every sum runs
 * in the order of its index for any tile shape, so results do not depend on the machine.
 *
 * Reverse sweeps work in place: a layer's values are replaced by their cotangents after their last use.
 */
#ifndef TU_MLP_H
#define TU_MLP_H

#include "network/dense.h"
#include "numeric/rng.h"

#define TU_MAX_LAYERS 4 /* weight layers: three hidden */

typedef struct {
    int layers;                   /* weight layers, 1 .. TU_MAX_LAYERS */
    int sizes[TU_MAX_LAYERS + 1]; /* units, input first, each > 0 */
    tu_real *transposed;          /* tu_mlp_transposed numbers, written by tu_mlp_weights */
} tu_mlp;

/* Number of parameters. */
size_t tu_mlp_count(const tu_mlp *net);

/* Numbers in one block of activations, tangents or cotangents. */
size_t tu_mlp_block(const tu_mlp *net);

/* Offset of a layer in a block; layer 0 is the input, layer net->layers the output. */
size_t tu_mlp_offset(const tu_mlp *net, int layer);

/* Zeroes a layer's rows from `rows` up to the next multiple of four. */
void tu_mlp_pad(int rows, int units, tu_real *layer);

/* Weights N(0, 1 / fan_in), the last layer a tenth of that, biases 0. */
void tu_mlp_init(const tu_mlp *net, tu_rng *rng, tu_real *params);

/* Parameters in the layout of the forward sweeps: `params` itself, or with vector units a copy in net->transposed with
 * every weight matrix transposed (in x out).
 */
const tu_real *tu_mlp_weights(const tu_mlp *net, const tu_real *params);

/* Size of net->transposed, in numbers: 0 on a scalar chip. */
size_t tu_mlp_transposed(const tu_mlp *net);

/* Computes the activations of every layer from acts' input layer. */
void tu_mlp_forward(const tu_mlp *net, const tu_real *weights, int rows, tu_real *acts);

/* Units of the widest layer. */
int tu_mlp_widest(const tu_mlp *net);

/* One sample without a block, same bits as tu_mlp_forward. Returns the output. Both buffers hold the widest layer. */
const tu_real *tu_mlp_run(const tu_mlp *net, const tu_real *params, tu_real *in, tu_real *out);

/* Tangents of every layer for the tangent in tans' input layer; the last is J_N(x) x_tan. */
void tu_mlp_jvp(const tu_mlp *net, const tu_real *weights, int rows, const tu_real *acts, tu_real *tans);

/* VJP. acts holds the activations, except y_bar at the output layer. Adds the parameter gradient of <y_bar, N(x)> to
 * grad. bend (NULL for none) comes from tu_mlp_jvp_backward. The input's cotangent is not computed, so acts' input
 * layer is unchanged.
 */
void tu_mlp_backward(const tu_mlp *net, const tu_real *params, int rows, tu_real *acts, tu_real *bend, tu_real *grad);

/* The tangent part of reverse mode over JVP (paper eq. grad). tans holds the tangents, except y_tan_bar at the output
 * layer. Adds the gradient of <y_tan_bar, J_N(x) v> through the tangents to grad, writes J_N' y_tan_bar to tans' input
 * layer, and to bend (a block) the cotangents that the activations receive through tanh', for tu_mlp_backward.
 */
void tu_mlp_jvp_backward(const tu_mlp *net, const tu_real *params, int rows, const tu_real *acts, tu_real *tans,
                         tu_real *bend, tu_real *grad);

#endif
