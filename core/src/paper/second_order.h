/* Second-order term: jet matching of d2x/dt2 = J_F F (eqs. jetloss, grad); adds to the first-order loss. */
#ifndef TU_SECOND_ORDER_H
#define TU_SECOND_ORDER_H

#include "network/loss.h"
#include "state.h"

/* Size of `scratch`, in numbers, for blocks of this many samples. */
size_t tu_second_order_scratch(const tu_mlp *net, int block);

/* Data for the second-order term besides the entries. */
typedef struct {
    /* f_known (n) and its Jacobian (n x n, row by row) at a node in physical units: states, then inputs */
    void (*known)(void *context, const tu_real *x, tu_real *field, tu_real *jacobian);
    void *context;
    const tu_real *x_scale; /* of a node's columns */
    const tu_real *s1;      /* n each, as s2 */
    const tu_real *s2;
    tu_real weight;
} tu_second_order;

/* First-order loss (one node of weight 1) + weight * mean |(ddx_hat - J_F F) / s2|^2; writes the gradient of both.
 * The network sees every state and acts on every state: as many inputs as outputs.
 */
tu_real tu_second_order_loss(const tu_mlp *net, const tu_real *params, const tu_batch *batch,
                             const tu_second_order *second, tu_real *scratch, tu_real *grad);

/* The same for a learner's network: writes learner->grad. */
tu_real tu_second_order_gradient(tu_learner *learner, const tu_batch *batch);

#endif
