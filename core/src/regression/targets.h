/* From an accepted window to its regression target: the filtered residual, for the library and for the network. */
#ifndef TU_TARGETS_H
#define TU_TARGETS_H

#include "state.h"

/* Computes the target of the window whose fit is in learner->targets: the derivative minus the known physics, both
 * filtered alike. In slices of some nodes: call again while it returns 1.
 */
void tu_targets_filter_begin(tu_learner *learner);
int tu_targets_filter_slice(tu_learner *learner);

/* Adds that target to the library's sums and to the reservoir. Returns TU_ACCEPTED, or why it adds nothing. */
int tu_targets_add(tu_learner *learner);

/* The rest of tu_targets_add in a trial of a change, if learner->job.compare is set. In slices: call again while it
 * returns 1.
 */
int tu_targets_compare_slice(tu_learner *learner);

/* Adds one window, as the library's model predicts it at learner->targets.node (physical units), to the library's sums.
 */
void tu_targets_add_prior(tu_learner *learner);

/* Clears all windows; keeps the model. */
void tu_targets_forget(tu_learner *learner);

/* Solves the library again, and subtracts its change from the stored targets of the network. */
void tu_targets_solve(tu_learner *learner);

/* The same in slices, after a block requested it (learner->job.solve). Returns 1 while there are more. */
void tu_targets_solve_begin(tu_learner *learner);
int tu_targets_solve_slice(tu_learner *learner);

/* sum_k design_ik c_k at learner->targets.node (physical units), added to `out` with a weight for each residual state.
 */
void tu_targets_library_at(tu_learner *learner, const tu_real *coefficients, const tu_real *weights, tu_real *out);

#endif
