/* The network: tanh hidden layers, linear output; its tangents (JVP) and both reverse sweeps.
 *
 * Parameters lie in one flat vector, layer by layer, weights (out x in, row by row) before biases.
 *
 * A sweep handles one block: up to TU_BLOCK samples, laid out as dense.h says, input layer first.
 * Rows are processed in fours: tu_mlp_pad fills the last four of the input and of an output cotangent with zeros.
 * Every sum runs in the order of its index, whatever the tiles, so results do not depend on the machine.
 *
 * Reverse sweeps work in place: what a layer held is replaced by its cotangent once it has been used.
 */
#ifndef TU_MLP_H
#define TU_MLP_H

#include "network/dense.h"
#include "numeric/rng.h"

#define TU_MAX_LAYERS 4 /* weight layers: three hidden */

typedef struct {
    int layers;                   /* weight layers, 1 .. TU_MAX_LAYERS */
    int sizes[TU_MAX_LAYERS + 1]; /* units, input first, each > 0 */
    tu_real *transposed;          /* room for tu_mlp_transposed numbers, which tu_mlp_weights writes */
} tu_mlp;

/* Number of parameters. */
size_t tu_mlp_count(const tu_mlp *net);

/* Numbers in one block of activations, tangents or cotangents. */
size_t tu_mlp_block(const tu_mlp *net);

/* Where a layer starts in a block; layer 0 is the input, layer net->layers the output. */
size_t tu_mlp_offset(const tu_mlp *net, int layer);

/* Zeroes a layer's rows from `rows` up to the next multiple of four. */
void tu_mlp_pad(int rows, int units, tu_real *layer);

/* Weights N(0, 1 / fan_in), the last layer a tenth of that, biases 0. */
void tu_mlp_init(const tu_mlp *net, tu_rng *rng, tu_real *params);

/* The parameters as the forward sweeps read them: themselves, or with vector units a copy in net->transposed, every
 * weight matrix transposed (in x out).
 */
const tu_real *tu_mlp_weights(const tu_mlp *net, const tu_real *params);

/* Numbers that net->transposed must hold: none on a scalar chip. */
size_t tu_mlp_transposed(const tu_mlp *net);

/* Activations of every layer from acts' input. */
void tu_mlp_forward(const tu_mlp *net, const tu_real *weights, int rows, tu_real *acts);

/* Units of the widest layer. */
int tu_mlp_widest(const tu_mlp *net);

/* One sample without a block, the bits of tu_mlp_forward: from `in` to the answer, which it returns. Both hold the
 * widest layer.
 */
const tu_real *tu_mlp_run(const tu_mlp *net, const tu_real *params, tu_real *in, tu_real *out);

/* Tangents of every layer along tans' input: the last one is J_N(x) x_tan. */
void tu_mlp_jvp(const tu_mlp *net, const tu_real *weights, int rows, const tu_real *acts, tu_real *tans);

/* VJP. acts holds the activations, but at the output layer y_bar. Adds the parameter gradient of <y_bar, N(x)> to grad.
 * bend (NULL for none) holds what tu_mlp_jvp_backward left there. Only tu_mlp_jvp_backward needs the input's cotangent,
 * so acts' input stays as it was.
 */
void tu_mlp_backward(const tu_mlp *net, const tu_real *params, int rows, tu_real *acts, tu_real *bend, tu_real *grad);

/* The tangents' share of reverse over JVP (paper eq. grad). tans holds the tangents, but at the output layer y_tan_bar.
 * Adds the gradient of <y_tan_bar, J_N(x) v> through the tangents to grad, leaves J_N' y_tan_bar at tans' input, and in
 * bend (a block) the cotangents that the activations receive through tanh': hand it to tu_mlp_backward.
 */
void tu_mlp_jvp_backward(const tu_mlp *net, const tu_real *params, int rows, const tu_real *acts, tu_real *tans,
                         tu_real *bend, tu_real *grad);

#endif
