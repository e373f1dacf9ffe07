/* Hold-out test: does the network predict windows it was not trained on? */
#ifndef TU_HOLDOUT_H
#define TU_HOLDOUT_H

#include "state.h"

/* Keeps the network for a residual state only if its hold-out error is below that of the library alone by more than one
 * standard error. Does nothing without a library, or without held-out windows.
 */
void tu_holdout_judge(tu_learner *learner);

/* The test in the stream, in slices: call again while it returns 1; learner->watch.first and .index are 0 at the first
 * call. Compares the current weights with the last good ones on held-out parts. Clearly better weights become the last
 * good ones; if they are clearly worse after the schedule, the last good ones are restored. The model uses the last
 * good ones. The network is switched on if it is clearly better than the library alone, and off if it is worse.
 */
int tu_holdout_watch_slice(tu_learner *learner);

#endif
