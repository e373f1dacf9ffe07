/* From an accepted window to what it teaches: the filtered residual, for the library and for the network. */
#ifndef TU_TEACH_H
#define TU_TEACH_H

#include "state.h"

/* What the known physics leaves of the derivative, filtered as the window filters it, goes to the learners.
 * The window's fit is in learner->lesson. 0: something of it is not finite, and nothing was learned.
 */
int tu_teach_window(tu_learner *learner);

/* Gives the library's sums one window as its model sees it, at learner->lesson.node (physical). */
void tu_teach_rehearse(tu_learner *learner);

/* Looks at the library anew, and takes the change out of what the network has stored to learn. */
void tu_teach_solve(tu_learner *learner);

/* Keeps the network for a state only where it predicts held-back blocks better than the library alone. */
void tu_teach_judge(tu_learner *learner);

/* Whether the averaged network predicts held-back blocks clearly better than the one with these weights. */
int tu_teach_better(const tu_learner *learner, const tu_real *before);

/* sum_k design_ik c_k at learner->lesson.node (physical), added to `out` with a weight for each residual state. */
void tu_teach_library_at(tu_learner *learner, const tu_real *coefficients, const tu_real *weights, tu_real *out);

#endif
