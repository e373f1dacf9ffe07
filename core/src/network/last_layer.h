/* Least-squares solution of the last layer, which is linear in its weights, over all stored windows after training.
 * After a change of the dynamics the model's terms are solved together with it, because both have changed.
 */
#ifndef TU_LAST_LAYER_H
#define TU_LAST_LAYER_H

#include "network/loss.h"
#include "state.h"

/* Size of `work`, in numbers. */
size_t tu_last_layer_work(const tu_mlp *net);

/* Moves every output's weights and bias in `params` from their trained values by the change that minimises
 *
 *     sum_windows (target - sum_q w_q N(x_q))^2 / overlap + s^2 |change|^2
 *
 * where s^2 is the mean square of the remainder after training: weights may move by about 1, and stay if there is only
 * noise. `overlap` windows carry the information of one, because they share their samples.
 *
 * Uses every entry of the batch's reservoir, whatever batch->size; nodes, weights (never NULL) and scratch as in
 * tu_loss_first. In slices: call again while it returns 1, with `at` all 0 at the first call; or all at once.
 *
 * beside: a learner whose terms are solved together; their change is written to library.moved. A term may move by about
 * its size in the last good model. NULL: none.
 */
int tu_last_layer_solve_slice(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes,
                              const tu_real *weights, tu_real overlap, tu_real *scratch, tu_real *work, tu_layer *at,
                              tu_learner *beside);
void tu_last_layer_solve(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes, const tu_real *weights,
                         tu_real overlap, tu_real *scratch, tu_real *work);

/* Writes each term's contribution to a stored window, with these coefficients, to targets.design. */
void tu_last_layer_terms(tu_learner *learner, const tu_reservoir *store, uint32_t index, const tu_real *coefficients);

/* The same for the learner's averaged network, on its reservoir. Does nothing before there is enough data for an
 * update, or with a second-order term.
 */
void tu_last_layer_finish(tu_learner *learner);

/* The same soon after a change of the dynamics, if the model uses its network: from the weights before the change,
 * written to learner->average. The hidden layers still fit most of the field, and training them takes minutes. Writes
 * the change of the library's coefficients to library.moved: a library solved alone would compensate for the wrong
 * network with wrong terms. In slices: call again while it returns 1.
 */
int tu_last_layer_relearn_slice(tu_learner *learner);

/* Whether tu_last_layer_relearn_slice applies now. */
int tu_last_layer_relearns(const tu_learner *learner);

#endif
