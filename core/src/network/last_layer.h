/* The last layer is linear in its weights: after training, its least-squares solution over all stored windows. After a
 * change of the dynamics the model's terms are solved with it: neither is right beside the other's old values.
 */
#ifndef TU_LAST_LAYER_H
#define TU_LAST_LAYER_H

#include "network/loss.h"
#include "state.h"

/* Numbers of `work`. */
size_t tu_last_layer_work(const tu_mlp *net);

/* Moves every output's weights and bias in `params` from where training left them by the change that makes
 *
 *     sum_windows (target - sum_q w_q N(x_q))^2 / overlap + s^2 |change|^2
 *
 * least, s^2 being the mean square of what training left: weights may move by about 1, and stay where there is only
 * noise. So many windows as `overlap` say as much as one: they share their samples.
 *
 * Goes over every entry of the batch's reservoir, whatever its size; nodes, weights (never NULL) and scratch as
 * tu_loss_first has them. In slices while they return 1, at being all 0 at first; or all at once.
 *
 * beside: a learner whose terms are to move along, by library.moved in the end; a term may move by about 1 time its
 * size in the last good model. NULL: there is none.
 */
int tu_last_layer_solve_slice(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes,
                              const tu_real *weights, tu_real overlap, tu_real *scratch, tu_real *work, tu_layer *at,
                              tu_learner *beside);
void tu_last_layer_solve(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes, const tu_real *weights,
                         tu_real overlap, tu_real *scratch, tu_real *work);

/* What each term adds to a stored window with these coefficients: to targets.design. */
void tu_last_layer_terms(tu_learner *learner, const tu_reservoir *store, uint32_t index, const tu_real *coefficients);

/* The same for the learner's averaged network, on what its reservoir holds; not before that is enough for an update,
 * and not with a second-order term.
 */
void tu_last_layer_finish(tu_learner *learner);

/* Soon after a change of the dynamics, where the model stands on its network: the same, from its weights before it, to
 * learner->average. Their hidden layers still fit most of what there is, and to train them takes minutes. By how much
 * every coefficient of the library is to move with it: in library.moved. (The library alone, beside a network that is
 * wrong, would make up for that with wrong terms.) In slices: while they return 1.
 */
int tu_last_layer_relearn_slice(tu_learner *learner);

/* Whether that is so now. */
int tu_last_layer_relearns(const tu_learner *learner);

#endif
