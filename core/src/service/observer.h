/* Estimate of the current state, and of how well the model predicts it: an extended Kalman filter over the hybrid
 * field, at 100 Hz or at the sample rate where that is slower.
 *
 * Innovations e = y - prediction and their expected variance S = P + sigma^2 show whether model and sensors agree: the
 * mean of e^2 / S over the last minute is 1 if noise is the only error.
 */
#ifndef TU_OBSERVER_H
#define TU_OBSERVER_H

#include "service/snapshot.h"

typedef struct {
    const tu_config *config;
    int every;       /* samples per step */
    tu_real seconds; /* of one step */
    tu_real forget;  /* weight of one step in the mean of the last minute */
    int started;
    int summed; /* samples in the sum of inputs */
    uint32_t steps;
    tu_real *x;         /* states */
    tu_real *variance;  /* states x states */
    tu_real *inputs;    /* their sum over the samples of the step */
    tu_real *predicted; /* by channel, as all that follows: the last step's prediction */
    tu_real *expected;  /* its variance, sensor noise included */
    tu_real *ratio;     /* mean of e^2 / S */
    int32_t *far_run;   /* consecutive samples beyond the limit, not used */
    tu_real *far;       /* their share of the last minute */
    tu_real *work;
} tu_observer;

void tu_observer_carve(tu_observer *observer, tu_arena *arena, const tu_config *config);

/* Resets the filter: the next sample does not continue the stream. */
void tu_observer_clear(tu_observer *observer);

/* Takes a sample: channels, then inputs. A step is due at every `every`th tick. Returns 1 if predicted and expected
 * belong to this sample.
 */
int tu_observer_push(tu_observer *observer, tu_snapshot *snapshot, const tu_real *sigma, const tu_real *row, int due);

#endif
