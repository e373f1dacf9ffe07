/* The state now, and how well the model predicts it: an extended Kalman filter over the hybrid field, at 100 Hz or
 * at the sample rate where that is slower.
 *
 * Innovations e = y - prediction and their expected variance S = P + sigma^2 say whether model and sensors still agree:
 * the mean of e^2 / S over the last minute is 1 while noise is all that is wrong.
 */
#ifndef TU_OBSERVER_H
#define TU_OBSERVER_H

#include "service/snapshot.h"

typedef struct {
    const tu_config *config;
    int every;       /* samples in a step */
    tu_real seconds; /* of a step */
    tu_real forget;  /* share of a step in the mean of the last minute */
    int started;
    int summed; /* samples whose inputs are summed up */
    uint32_t steps;
    tu_real *x;         /* states */
    tu_real *variance;  /* states x states */
    tu_real *inputs;    /* their sum over the samples of the step */
    tu_real *predicted; /* by channel, as all that follows: the last step's prediction, */
    tu_real *expected;  /* its variance with the sensor's own, */
    tu_real *ratio;     /* mean of e^2 / S */
    int32_t *astray;    /* predictions in a row that were too far off to be used, */
    tu_real *far;       /* and their share of the last minute's */
    tu_real *work;
} tu_observer;

void tu_observer_carve(tu_observer *observer, tu_arena *arena, const tu_config *config);

/* What comes next does not follow on what was. */
void tu_observer_clear(tu_observer *observer);

/* A sample: channels, then inputs. A step is due at every `every`th tick.
 * 1: predicted and expected are of this sample.
 */
int tu_observer_push(tu_observer *observer, tu_snapshot *snapshot, const tu_real *sigma, const tu_real *row, int due);

#endif
