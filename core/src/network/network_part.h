/* The network functions that a learner calls. Without this table the network is not linked (tinyude.h). */
#ifndef TU_NETWORK_PART_H
#define TU_NETWORK_PART_H

#include "state.h"

struct tu_network_part {
    void (*start)(tu_learner *learner);      /* random weights, no updates yet */
    int (*train_slice)(tu_learner *learner); /* one slice of an update; 1: call again */
    int (*watch_slice)(tu_learner *learner); /* one slice of the test in the stream; 1: call again */
    void (*judge)(tu_learner *learner);      /* hold-out test after training */
    void (*solve)(tu_learner *learner);      /* before a solution of the library: a test in the stream is due */
    void (*finish_layer)(tu_learner *learner);
    /* Adds the network's output at a state, in units of dx_scale, for residual states where it is on. */
    void (*add_answer)(tu_learner *learner, const tu_real *x, const tu_real *u, tu_real *residual);
    /* Subtracts the output of these weights at the centre of the current window from `left`, where the network is on.
     */
    void (*take_out)(tu_learner *learner, const tu_real *weights, const int32_t *on, tu_real *left);
    /* Whether the current model uses a network for a residual state where the last good one does not. */
    int (*is_wider)(const tu_learner *learner);
    /* 1: the terms are held with it, or with a frozen one; -1: it differs from the last good model's network. */
    int (*is_beside)(const tu_learner *learner);
    /* Sets learner->targets.left of the current window; scores the output like a column (change_detection.h), */
    void (*leave)(tu_learner *learner);
    /* and in a trial by the difference from a stored neighbour, from which the outputs are subtracted. */
    void (*compare)(tu_learner *learner, uint32_t nearest, tu_real *difference);
    /* Sets the weights from which the model, its average and the training continue. */
    void (*take)(tu_learner *learner, const tu_real *weights);
    /* Adds the output of these weights at a state: same bits as the learner, without its memory. on: > 0 where the
     * network is on.
     */
    void (*add_answer_of)(const tu_config *config, const tu_mlp *net, const tu_real *weights, const tu_real *x_scale,
                          const tu_real *on, const tu_real *x, const tu_real *u, tu_real *work, tu_real *residual);
};

#endif
