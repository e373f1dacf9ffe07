/* The operations of a learner by number, for fuzzers that call them in any order. */
#ifndef FUZZ_ANY_OPERATION_H
#define FUZZ_ANY_OPERATION_H

#include "tinyude.h"

enum { STEP = 3, OPERATIONS = 9 };

static inline void any_operation(tu_learner *learner, uint32_t choice, uint32_t updates)
{
    switch (choice) {
    case 0:
        tu_learner_gap(learner);
        break;
    case 1:
        tu_learner_rewind(learner);
        break;
    case 2:
        tu_learner_end_calibration(learner);
        break;
    case STEP:
        tu_learner_step(learner, updates);
        break;
    case 4:
        tu_learner_solve(learner);
        break;
    case 5:
        tu_learner_judge(learner);
        break;
    case 6:
        tu_learner_conclude(learner);
        break;
    case 7:
        (void)tu_learner_updates_left(learner);
        break;
    case 8:
        tu_learner_finish(learner);
        break;
    default:
        break;
    }
}

#endif
