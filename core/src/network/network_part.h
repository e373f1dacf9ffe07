/* What a learner calls of its network: without this table the network is not linked (tinyude.h). */
#ifndef TU_NETWORK_PART_H
#define TU_NETWORK_PART_H

#include "state.h"

struct tu_network_part {
    void (*start)(tu_learner *learner);      /* random weights, no updates yet */
    int (*train_slice)(tu_learner *learner); /* of an update: while they return 1 */
    int (*watch_slice)(tu_learner *learner); /* of a judgement in the stream: while they return 1 */
    void (*judge)(tu_learner *learner);      /* when training is over */
    void (*finish_layer)(tu_learner *learner);
    /* Adds the model's answer at a state, where it is on, in units of dx_scale. */
    void (*add_answer)(tu_learner *learner, const tu_real *x, const tu_real *u, tu_real *residual);
    /* One sample with the learner's bits and without its memory: tu_mlp_run. */
    const tu_real *(*run)(const tu_mlp *net, const tu_real *params, tu_real *in, tu_real *out);
};

#endif
