/* The learner's whole state, mechanism by mechanism. */
#ifndef TU_STATE_H
#define TU_STATE_H

#include "network/adam.h"
#include "network/mlp.h"
#include "network/reservoir.h"
#include "numeric/statistics.h"
#include "regression/change_detection.h"
#include "regression/library.h"
#include "signal/calibrate.h"
#include "signal/kinematics.h"
#include "signal/nodes.h"
#include "signal/repair.h"

/* Working memory of one window's regression target. */
typedef struct {
    tu_fit fit;
    tu_candidate *candidate; /* of a calibration */
    tu_real *jets;           /* 3 x states */
    tu_real *node;           /* states, then inputs */
    tu_real *field;          /* states */
    tu_real *terms;          /* library terms */
    tu_real *sensitivity;    /* residual states x parameters */
    tu_real *row;            /* parameters + terms: one row of the design at one node */
    tu_real *design;         /* residual states x (parameters + terms): the rows of the window */
    tu_real *target;         /* residual states */
    tu_real *left;           /* the same minus the model's network, where it is on: the library's target */
    tu_real *acts;           /* activations of one sample */
    tu_real *entry;          /* for the reservoir, and a tag for the holdout */
} tu_targets;

typedef struct {
    uint32_t samples;
    uint32_t filled;
    uint32_t replaced;
    uint32_t windows;
    uint32_t accepted;
    uint32_t rejected[TU_REASONS];
    uint32_t updates;
    uint32_t rolled_back;
    uint32_t recalibrations;
    uint32_t no_signal;
    uint32_t returned;
    uint32_t changes;
    uint32_t changed_at[TU_MAX_CHANGES]; /* change number i at i % TU_MAX_CHANGES */
} tu_counters;

enum tu_solving { TU_SOLVED = 0, TU_SOLVING = 1, TU_REMOVING = 2 };

/* Stage of a sample: a window in a calibration is tried; any other is fitted, then its physics is filtered. */
enum tu_sampling { TU_SAMPLED = 0, TU_TAKEN = 1, TU_TRYING = 2, TU_FITTING = 3, TU_FILTERING = 4 };

enum tu_setting_up {
    TU_SET_UP = 0,
    TU_FIND_WINDOW = 1,
    TU_MAKE_LONGEST = 2,
    TU_MAKE_WINDOW = 3,
    TU_PLACE_PHYSICS = 4,
    TU_PLACE_NETWORK = 5
};

/* Pending work of a sample, in this order. */
typedef struct {
    int sample;  /* tu_sampling */
    int quiet;   /* the window's misfit is far below what the noise explains */
    int node;    /* next node of its physics */
    int compare; /* in a trial: compare the window with its stored neighbour */
    tu_search search;
    int go_back;    /* the last good model predicts better: return to it */
    uint32_t prior; /* windows of the prior still to add */
    int setup;      /* of windows, when a calibration ends: tu_setting_up */
    int solve;      /* of the library: tu_solving */
    uint32_t index; /* of the next stored target */
    int update;     /* of the network; 1: due */
    int judge;      /* the network's hold-out test is due */
    int first;      /* next window of the minibatch */
    tu_real loss;   /* summed so far */
    tu_nodes_work nodes;
} tu_job;

/* State of a solution of the network's last layer; all 0 at the start. */
typedef struct {
    uint32_t next;   /* next stored window, or next weight of the penalty */
    int output;      /* output whose weights are solved */
    tu_real squares; /* of the targets so far */
} tu_layer;

/* State of the network's hold-out test in the stream. */
typedef struct {
    tu_layer layer;       /* solved first after a change */
    uint32_t first;       /* held-out entry whose part is evaluated */
    uint32_t index;       /* next entry */
    tu_real entries;      /* of that part so far */
    int moves;            /* the library's terms move with the averaged weights */
    tu_real *gain;        /* gains of that part: [on] with the averaged weights, [on] with the last good ones; then the
                             difference of their squared remainders */
    tu_statistics left;   /* over entries: squared remainder of the last good ones */
    tu_statistics *gains; /* over parts: the same */
} tu_watch;

/* The last good model, besides the current one. */
typedef struct {
    tu_real *coefficients;
    tu_real *errors;
    tu_real *weights;
    int32_t *network_on;
    int credit;           /* blocks of contradiction after which it is dropped; 0: there is none yet */
    int given;            /* it is the model that the learner started from */
    tu_real gain;         /* squared remainders of the current model minus its own, over the block */
    tu_real block_energy; /* its squared residual over the block */
    tu_real energy;       /* the same over the blocks so far */
    tu_statistics gains;  /* of those blocks */
} tu_last_good;

/* Whether any flag is set. */
TU_INLINE int tu_any(const int32_t *flags, int count)
{
    int any = 0;
    for (int i = 0; i < count; i++) {
        any |= flags[i];
    }
    return any;
}

/* Increments; saturates at UINT32_MAX. */
TU_INLINE void tu_count(uint32_t *counter) { *counter += *counter + 1u > 0; }

struct tu_learner {
    const tu_config *config; /* the caller's */
    tu_known known;
    tu_counters counters;
    tu_rng rng;
    tu_ring ring;
    tu_repair repair;
    tu_noise noise;
    tu_median_gate median_gate;
    tu_calibration calibration;
    tu_setup setup; /* once `calibrated` */
    tu_nodes physics_nodes;
    tu_nodes network_nodes;
    tu_library library;
    tu_library_work library_work;
    tu_change change;
    tu_mlp net;
    tu_adam adam;
    tu_reservoir reservoir;
    tu_reservoir holdout;
    tu_targets targets;
    tu_kinematics kinematics;
    tu_job job;
    tu_watch watch;
    tu_last_good last_good;
    tu_real *entry_scale; /* of compact entries, by column */
    tu_real *params;
    tu_real *average;
    tu_real *good; /* the model's weights: the average, or its last good state if it is tested in the stream */
    tu_real *grad; /* of a minibatch; also working memory of the last layer's solution */
    tu_real *loss_scratch;
    uint32_t *indices;     /* of a block of the minibatch */
    tu_real *row;          /* the current sample */
    int32_t *run;          /* identical samples in a row, by channel */
    int32_t *network_on;   /* by residual state */
    int calibrated;        /* at least once */
    int calibrating;       /* now */
    uint32_t until;        /* tick at which the calibration ends */
    int still;             /* windows in a row without motion */
    int doubted;           /* the last window was rejected for its samples: they are not used for the noise */
    int suspicion;         /* grows with windows whose angles contradict their rates */
    int checked;           /* windows whose angles were checked against their rates, up to CHECKED */
    int agreed;            /* windows among them that agreed */
    int clean;             /* number of newest samples without a bad one, up to the ring's span */
    int bad_reason;        /* reason of the last bad sample */
    uint32_t tick;         /* samples processed */
    uint32_t since_change; /* updates */
    tu_real rate;          /* learning rate at the start of the schedule */
    tu_real loss;
    tu_real loss_sum; /* since the last tu_learner_take_losses */
    uint32_t loss_count;
};

/* tu_learner_push in slices: begin takes the sample; advance does one slice of its work and returns 0 when done. cost:
 * approximate cost of the next slice, in thousands of Cortex-M4F instructions.
 */
void tu_learner_begin(tu_learner *learner, const tu_real *row);
int tu_learner_advance(tu_learner *learner);
int32_t tu_learner_cost(const tu_learner *learner);

/* One update in slices: call again while it returns 1. train: the network's part. */
int tu_learner_update_slice(tu_learner *learner);
int tu_learner_train_slice(tu_learner *learner);

/* Whether a learner can start from a model: its window fits the configuration, scales are positive, numbers finite. */
int tu_learner_fits(const tu_learner *learner, const tu_model *model);

/* tu_learner_start without the work that tu_learner_advance then does. */
int tu_learner_start_begin(tu_learner *learner, const tu_model *model);

/* Returns to the last good model; discards later data. */
void tu_learner_go_back(tu_learner *learner);

/* Restarts the library's sums with windows predicted by the model, in slices: while learner->job.prior > 0. */
void tu_learner_prior_begin(tu_learner *learner);
void tu_learner_prior_slice(tu_learner *learner);

/* Estimates noise and window again; keeps the model. */
void tu_learner_recalibrate(tu_learner *learner);

/* Acceptance test of the fitted window: TU_ACCEPTED or the reason of rejection. */
int tu_learner_accept_window(tu_learner *learner);

/* Whether its misfit is far below what the noise explains. */
int tu_learner_is_quiet(const tu_learner *learner);

/* The end of a calibration in slices: call again while it returns 1. */
int tu_learner_setup_slice(tu_learner *learner);

/* Applies the window and scales found; from here on windows are used. All at once, or in slices of setup. */
void tu_learner_apply_setup(tu_learner *learner);
void tu_learner_apply_setup_begin(tu_learner *learner);

#endif
