/* Jet-matching loss and its exact gradient (paper eqs. jetloss, u_bar, grad), in the network's own units.
 *
 * The network's input is x / x_scale and its output is in units of s1 (the scale of dx), so a first-order residual is
 * target - N(x). Regression targets are (dx_hat - f_known) / s1.
 *
 * A reservoir entry holds: nodes x columns (scaled states, then inputs), the target (outputs), and, with the paper's
 * second-order term, ddx_hat (n, physical units).
 */
#ifndef TU_LOSS_H
#define TU_LOSS_H

#include "network/mlp.h"
#include "network/reservoir.h"

/* The minibatch: entries of a reservoir that is not empty, drawn block by block. */
typedef struct {
    const tu_reservoir *reservoir;
    tu_rng *rng;
    uint32_t *indices;   /* of a block; TU_BLOCK numbers */
    int size;            /* > 0 */
    int columns;         /* of a node; without `sees`, the number of network inputs */
    const int32_t *sees; /* the columns that are the network's inputs; NULL: all */
} tu_batch;

/* Size of the loss's working memory, in numbers; the caller provides it for TU_BLOCK. */
size_t tu_loss_scratch(const tu_mlp *net, int block);

/* Columns of a node in an entry. */
TU_INLINE int tu_loss_columns(const tu_batch *batch, const tu_mlp *net)
{
    return batch->sees ? batch->columns : net->sizes[0];
}

/* Copies the windows listed in batch->indices (nodes * windows <= TU_BLOCK): network inputs at their nodes to the input
 * layer of a block, and targets (windows x outputs).
 */
void tu_loss_gather(const tu_batch *batch, const tu_mlp *net, int windows, int nodes, tu_real *acts, tu_real *targets);

/* Mean over the batch of |target - sum_q w_q N(x_q)|^2; writes its gradient.
 *
 * nodes is 1 .. TU_MAX_NODES, weights is nodes x outputs. One node with weights NULL (all 1) is the paper's first-order
 * term; several nodes match the network filtered by the window.
 */
tu_real tu_loss_first(const tu_mlp *net, const tu_real *params, const tu_batch *batch, int nodes,
                      const tu_real *weights, tu_real *scratch, tu_real *grad);

/* The same in slices: one block of windows from `first` on; the first slice clears the gradient. Adds to *loss. Returns
 * the next slice's `first`; batch->size after the last, when the loss is *loss / batch->size.
 */
int tu_loss_first_slice(const tu_mlp *net, const tu_real *params, const tu_batch *batch, int nodes,
                        const tu_real *weights, tu_real *scratch, tu_real *grad, int first, tu_real *loss);

#endif
