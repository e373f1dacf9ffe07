/* A stream that changes its character (faster motion, a worse sensor) gets a new window; the model stays. */
#ifndef TU_REVISE_H
#define TU_REVISE_H

#include "state.h"

/* Counts what the gates said of a window; calibrates once more when they refuse nearly everything for long. */
void tu_revise_watch(tu_learner *l, int reason);

/* The new window and noise; scales stay, because the model is in units of them. */
void tu_revise_finish(tu_learner *l);

#endif
