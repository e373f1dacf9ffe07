/* Hold-out test: does the network predict windows it was not trained on? */
#ifndef TU_HOLDOUT_H
#define TU_HOLDOUT_H

#include "state.h"

/* Keeps the network for a residual state only where its hold-out error is below that of the library alone by more than
 * one standard error. Does nothing without a library, or without held-out windows.
 */
void tu_holdout_judge(tu_learner *learner);

#endif
