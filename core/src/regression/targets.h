/* From an accepted window to its regression target: the filtered residual, for the library and for the network. */
#ifndef TU_TARGETS_H
#define TU_TARGETS_H

#include "state.h"

/* The window whose fit is in learner->targets: its target is the derivative minus the known physics, both filtered
 * alike. In slices of some nodes: while they return 1.
 */
void tu_targets_filter_begin(tu_learner *learner);
int tu_targets_filter_slice(tu_learner *learner);

/* Adds that target to the library's sums and to the reservoir. 0: something of it is not finite, and nothing was added.
 */
int tu_targets_add(tu_learner *learner);

/* The rest of it in a trial of a change, where learner->job.compare says so, in slices: while they return 1. */
int tu_targets_compare_slice(tu_learner *learner);

/* Adds one window to the library's sums as its model predicts it, at learner->targets.node (physical). */
void tu_targets_add_prior(tu_learner *learner);

/* Forgets every window; the model stays. */
void tu_targets_forget(tu_learner *learner);

/* Solves the library once more, and takes what moved out of the targets that the network has stored. */
void tu_targets_solve(tu_learner *learner);

/* The same in slices: after a block asked for it (learner->job.solve). 1: there are more. */
void tu_targets_solve_begin(tu_learner *learner);
int tu_targets_solve_slice(tu_learner *learner);

/* sum_k design_ik c_k at learner->targets.node (physical), added to `out` with a weight for each residual state. */
void tu_targets_library_at(tu_learner *learner, const tu_real *coefficients, const tu_real *weights, tu_real *out);

#endif
