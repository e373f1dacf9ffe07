/* Has the plant changed, or is this a region that was never seen? Windows in store that saw the same state can tell. */
#ifndef TU_TRIAL_H
#define TU_TRIAL_H

#include "state.h"

/* A window of a trial against the nearest state in store, by what the library leaves at both. 0: none is near. */
int tu_trial_compare(tu_learner *l);

#endif
