/* A second start where an angle goes round: the network begins with steps set evenly round the circle.
 *
 * From small random weights a network finds what changes slowly with the angle and misses what changes fast, as cogging
 * does. From steps it finds both, and more of the noise. Held-back windows say which start has served better.
 */
#ifndef TU_AROUND_H
#define TU_AROUND_H

#include "state.h"

/* Weights as ever, but for the first layer: its units take turns at the angles, which are in radians
 * scales[i] * column columns[i]. A unit's step is as wide as its distance to the next one.
 */
void tu_around_init(const tu_mlp *net, const int32_t *columns, const tu_real *scales, int angles, tu_rng *rng,
                    tu_real *params);

/* Lays the trained network aside and starts another one. 0: there is no angle to go round, or no way to judge. */
int tu_around_begin(tu_learner *learner);

/* Keeps the network that predicts held-back windows better; the first one where that is not clear. */
void tu_around_end(tu_learner *learner);

#define TU_GENTLE TU_R(0.05) /* of the learning rate, in a second start: the steps are in place */

#endif
