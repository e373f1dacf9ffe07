/* The learner's whole state, mechanism by mechanism. */
#ifndef TU_STATE_H
#define TU_STATE_H

#include "network/adam.h"
#include "signal/calibrate.h"
#include "regression/library.h"
#include "network/mlp.h"
#include "signal/nodes.h"
#include "signal/carried_angle.h"
#include "signal/repair.h"
#include "network/reservoir.h"

/* Working memory of one window's lesson. */
typedef struct {
    tu_fit fit;
    tu_real *jets;        /* 3 x states */
    tu_real *node;        /* states, then inputs */
    tu_real *field;       /* states */
    tu_real *terms;       /* library terms */
    tu_real *sensitivity; /* residual states x parameters */
    tu_real *row;         /* parameters + terms: one row of the design at one node */
    tu_real *design;      /* residual states x (parameters + terms): the rows of the window */
    tu_real *target;      /* residual states */
    tu_real *entry;       /* for the reservoir, and a tag for the holdout */
} tu_lesson;

typedef struct {
    uint32_t samples;
    uint32_t filled;
    uint32_t replaced;
    uint32_t windows;
    uint32_t accepted;
    uint32_t updates;
    uint32_t rolled_back;
    uint32_t revisions; /* of the window */
    uint32_t changes;
    uint32_t changed_at[TU_MAX_CHANGES]; /* change number i at i % TU_MAX_CHANGES */
} tu_counters;

struct tu_learner {
    const tu_config *config; /* the caller's */
    tu_known known;
    tu_counters counters;
    tu_rng rng;
    tu_ring ring;
    tu_repair repair;
    tu_noise noise;
    tu_gates gates;
    tu_calibration calibration;
    tu_settled settled; /* once `calibrated` */
    tu_nodes physics_nodes;
    tu_nodes network_nodes;
    tu_library library;
    tu_library_work library_work;
    tu_mlp net;
    tu_adam adam;
    tu_reservoir reservoir;
    tu_reservoir holdout;
    tu_lesson lesson;
    tu_reckon reckon;
    tu_real *entry_scale; /* of compact entries, by column */
    tu_real *params;
    tu_real *average;
    tu_real *grad; /* of a minibatch; room to settle in, too */
    tu_real *loss_scratch;
    uint32_t *indices;   /* of a block of the minibatch */
    tu_real *row;        /* the sample at hand */
    int32_t *run;        /* identical samples in a row, by channel */
    int32_t *network_on; /* by residual state */
    int calibrated;        /* once */
    int around;            /* during a second start; behind `average` is then the network of the first */
    int calibrating;
    uint32_t until;        /* tick at which that ends */
    int stretch;           /* windows since the window was last looked at, */
    int refused;           /* those that the gates refused */
    int clean;             /* newest samples among which none is bad, up to the ring's span */
    int bad_reason;        /* what the last bad one was */
    uint32_t tick;         /* samples taken in */
    uint32_t since_change; /* updates */
    tu_real loss;
    tu_real loss_sum;
    uint32_t loss_count;
};

/* tu_learner_push in slices: begin takes the sample, advance does a slice of the work that it brings until it returns 0.
 * cost: about what the next slice takes, in thousands of a Cortex-M4F's instructions.
 */
void tu_learner_begin(tu_learner *learner, const tu_real *row);
int tu_learner_advance(tu_learner *learner);
int32_t tu_learner_cost(const tu_learner *learner);

/* From here on windows teach: what follows from the settled window and scales. */
void tu_learner_settle(tu_learner *learner);

#endif
