/* What a learner calls of its network: without this table the network is not linked (tinyude.h). */
#ifndef TU_NETWORK_PART_H
#define TU_NETWORK_PART_H

#include "state.h"

struct tu_network_part {
    void (*start)(tu_learner *learner);      /* random weights, no updates yet */
    int (*train_slice)(tu_learner *learner); /* of an update: while they return 1 */
    int (*watch_slice)(tu_learner *learner); /* of a judgement in the stream: while they return 1 */
    void (*judge)(tu_learner *learner);      /* when training is over */
    void (*solve)(tu_learner *learner); /* when the library is about to be solved: a judgement in the stream is due */
    void (*finish_layer)(tu_learner *learner);
    /* Adds the model's answer at a state, where it is on, in units of dx_scale. */
    void (*add_answer)(tu_learner *learner, const tu_real *x, const tu_real *u, tu_real *residual);
    /* Takes the answer of these weights at the centre of the window at hand, where they are on, out of `left`. */
    void (*take_out)(tu_learner *learner, const tu_real *weights, const int32_t *on, tu_real *left);
    /* Whether the model now needs a network where the last good one does not. */
    int (*is_wider)(const tu_learner *learner);
    /* 1: the terms are held beside it, or a frozen one; -1: it is another one than the last good model's. */
    int (*is_beside)(const tu_learner *learner);
    /* learner->targets.left of the window at hand; scores its answer as change_detection.h scores a column, */
    void (*leave)(tu_learner *learner);
    /* and in a trial by the difference from a stored neighbour, out of which its answers are taken. */
    void (*compare)(tu_learner *learner, uint32_t nearest, tu_real *difference);
    /* Weights that the model, its average and the training go on from. */
    void (*take)(tu_learner *learner, const tu_real *weights);
    /* Adds the answer of these weights at a state, with the learner's bits and without its memory. on: > 0 where it is.
     */
    void (*add_answer_of)(const tu_config *config, const tu_mlp *net, const tu_real *weights, const tu_real *x_scale,
                          const tu_real *on, const tu_real *x, const tu_real *u, tu_real *work, tu_real *residual);
};

#endif
