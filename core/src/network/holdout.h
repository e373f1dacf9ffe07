/* Hold-out test: does the network predict windows it was not trained on? */
#ifndef TU_HOLDOUT_H
#define TU_HOLDOUT_H

#include "state.h"

/* Keeps the network for a residual state only where its hold-out error is below that of the library alone by more than
 * one standard error. Does nothing without a library, or without held-out windows.
 */
void tu_holdout_judge(tu_learner *learner);

/* In the stream, in slices: while they return 1; learner->watch.first and .index are 0 at the first. The weights now
 * against the last good ones, by held-out parts: they become the last good ones where they are clearly better, and
 * those come back where they are clearly worse after the schedule. The last good ones are the model. A network that is
 * off comes on where it is clearly better than the library alone, and goes off where it is worse.
 */
int tu_holdout_watch_slice(tu_learner *learner);

#endif
