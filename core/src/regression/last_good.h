/* The last good model: what the learner goes back to when a failing sensor has led it astray. */
#ifndef TU_LAST_GOOD_H
#define TU_LAST_GOOD_H

#include "state.h"

void tu_last_good_carve(tu_last_good *good, tu_arena *arena, const tu_config *config);

/* The model now becomes the last good one, and must be contradicted for `credit` blocks to be given up. */
void tu_last_good_keep(tu_learner *learner, int credit);

/* The model that a learner starts from is the last good one for as long as any can be. */
void tu_last_good_trust(tu_learner *learner);

/* After a solution: puts the model that the learner was started from back in its place where that model is the surer
 * one and the solution does not contradict it.
 */
void tu_last_good_hold(tu_learner *learner);

/* What both models leave of the window at hand, in learner->targets. */
void tu_last_good_add(tu_learner *learner);

/* Closes a block. 1: the last good model predicts clearly better than the model now. */
int tu_last_good_end_block(tu_learner *learner);

/* The model now is the last good one again. */
void tu_last_good_restore(tu_learner *learner);

#endif
