/* The last good model: restored when a failing sensor has degraded the current one. */
#ifndef TU_LAST_GOOD_H
#define TU_LAST_GOOD_H

#include "state.h"

void tu_last_good_carve(tu_last_good *good, tu_arena *arena, const tu_config *config);

/* Makes the current model the last good one; it is dropped after `credit` blocks of contradiction. */
void tu_last_good_keep(tu_learner *learner, int credit);

/* Makes the model that the learner starts from the last good one, with the maximum credit. */
void tu_last_good_trust(tu_learner *learner);

/* After a solution: restores the model that the learner started from if that model is more certain and the solution
 * does not contradict it.
 */
void tu_last_good_hold(tu_learner *learner);

/* Adds the remainders of both models for the current window, learner->targets. */
void tu_last_good_add(tu_learner *learner);

/* Closes a block. Returns 1 if the last good model predicts clearly better than the current one. */
int tu_last_good_end_block(tu_learner *learner);

/* Makes the last good model the current one. */
void tu_last_good_restore(tu_learner *learner);

#endif
