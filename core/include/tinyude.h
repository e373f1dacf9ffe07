/* TinyUDE: learn what a model leaves out, dx/dt = f_known(x, u) + N(x, u), from a noisy sensor stream, without a
 * solver.
 *
 * The whole learner lives in one block of memory that the caller owns:
 *
 *     static _Alignas(8) unsigned char arena[...];       tu_learner_bytes(&config) gives the size
 *     tu_learner *learner;
 *     tu_learner_init(&learner, &config, &known, arena, sizeof arena);
 *     every sample:  tu_learner_push(learner, row);      trains by itself every config.train_every samples
 *     optional:      tu_learner_step(learner, 1);        further updates on what is stored
 *     at the end:    tu_learner_finish(learner);         (a recorded stream)
 *     any time:      tu_learner_residual(learner, x, u, n);
 *
 * No heap, no stdio, no globals, no recursion. Several learners can exist side by side; one learner is not thread-safe.
 * Units: samples, states and inputs in the user's own; time in seconds; angles as the known physics takes them.
 * Calls return TU_OK (0) or a negative status; a bad sample is never an error: it is counted and handled.
 */
#ifndef TINYUDE_H
#define TINYUDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TU_API_VERSION 4 /* generated files for another version do not compile */

#ifdef TU_REAL_DOUBLE
typedef double tu_real;
#else
typedef float tu_real;
#endif

#define TU_MAX_STATES 12
#define TU_MAX_INPUTS 8
#define TU_MAX_HIDDEN 3
#define TU_MAX_POLY 6
#define TU_MAX_NODES 9   /* network nodes; physics nodes unless there are inputs */
#define TU_MAX_CHANGES 8 /* remembered */

enum tu_status {
    TU_OK = 0,
    TU_BAD_CONFIG = -1,   /* a field of tu_config is out of its range */
    TU_BAD_ARENA = -2,    /* NULL, not aligned to 8 bytes, or smaller than tu_learner_bytes */
    TU_BAD_FUNCTION = -3, /* a function that the configuration needs is NULL */
    TU_NOT_READY = -4     /* asked for a model while still calibrating */
};

/* Why a window was rejected. */
enum tu_reason {
    TU_GAP = 0,          /* across a gap, or at the start of a stream */
    TU_NONFINITE = 1,    /* a sample, or the known part there, is not finite */
    TU_STUCK = 2,        /* a channel repeats its value, which its noise makes unlikely */
    TU_MISFIT = 3,       /* the residuals are larger than the noise */
    TU_JUMP = 4,         /* a step or a kink */
    TU_INCONSISTENT = 5, /* the slope of an angle is not its sensed rate: a sensor is frozen, drifts, or is swapped */
    TU_STILL = 6,        /* nothing has moved for many windows: the first of them are used, no more */
    TU_OUTSIDE = 7,      /* outside the range that the known part is valid in: see tu_known.outside */
    TU_REASONS = 8
};

/* Optional parts. A learner calls them only through these tables: if no tu_known names a table, a linker with garbage
 * collection (-ffunction-sections, --gc-sections) drops its functions.
 */
typedef struct tu_network_part tu_network_part;
typedef struct tu_fusion_part tu_fusion_part;
typedef struct tu_paper_part tu_paper_part;
extern const tu_network_part tu_network; /* the network and its training */
extern const tu_fusion_part tu_fusion;   /* angle/rate fusion and the cross-check of these sensors */
extern const tu_paper_part tu_paper;     /* of the paper: its acceptance test and the second-order term */

/* The known part, one state at a time; `context` is passed to every callback. All pointers are to disjoint memory. */
typedef struct tu_known {
    void (*field)(void *context, const tu_real *x, const tu_real *u, tu_real *dx);               /* [states] */
    void (*jacobian)(void *context, const tu_real *x, const tu_real *u, tu_real *jacobian);      /* [states][states] */
    void (*terms)(void *context, const tu_real *x, const tu_real *u, tu_real *terms);            /* [library_terms] */
    void (*sensitivity)(void *context, const tu_real *x, const tu_real *u, tu_real *derivative); /* [on][parameters] */
    /* Optional: one number, above 0 where the known part is not valid, as a frozen network outside its data. With it,
     * `field` and `sensitivity` are taken to be long: a slice of work calls them once. */
    void (*outside)(void *context, const tu_real *x, const tu_real *u, tu_real *outside);
    void *context;
    const tu_network_part *network; /* &tu_network; may be NULL without hidden layers */
    const tu_fusion_part *fusion;   /* &tu_fusion; may be NULL where no channel senses another's rate */
    const tu_paper_part *paper;     /* &tu_paper; may be NULL with dense windows and no second-order term */
} tu_known;

/* The configuration of a learner (reference/config.py: same names, same meaning).
 *
 * Each field: meaning; unit; [default: that of the Python package's preset `default`]; range; what disables it.
 * "tick" is one sample period. tu_config_check rejects values out of range. Fields without a default follow from the
 * system. Flags are 0 or 1.
 */
typedef struct tu_config {
    /* The system: state i is derivative number order[i] of sensor channel channel[i]. */
    int32_t channels;         /* sensor channels in a row; 1 .. 12 */
    int32_t states;           /* 1 .. 12 */
    int32_t inputs;           /* known inputs behind the channels in a row; 0 .. 8; 0: none */
    int32_t channel[12];      /* of each state: its channel; 0 .. channels - 1 */
    int32_t order[12];        /* of each state: 0 sensed, 1 rate of a sensed state, ...; 0 .. poly - 1 */
    int32_t rate_channel[12]; /* of each channel: 1 + the channel that senses its rate; 0 .. channels; 0: no fusion */
    int32_t wrap[12];      /* of each channel: flag, an angle in rad that is wrapped to [-pi, pi]; 0: never wrapped */
    int32_t linear[8];     /* of each input: flag, linear between samples; 0: held until the next */
    int32_t shift[8];      /* of each input: rows by which its value comes too late (1) or too early (-1); -1 .. 1 */
    tu_real sample_period; /* s; 1e-7 .. 1e6 */
    int32_t on_count;      /* states whose equation the residual may change; 1 .. states */
    int32_t on[12];        /* which; 0 .. states - 1 */
    int32_t sees_count;    /* inputs of the network, by which windows are compared, too; 1 .. states + inputs */
    int32_t sees[20];      /* which: states first, then inputs; 0 .. states + inputs - 1 */
    int32_t hidden_count;  /* hidden layers [2]; 0 .. 3; 0: no network */
    int32_t hidden[3];     /* units of each [16, 16]; 1 .. 1024 */
    int32_t parameters;    /* physical parameters to learn, the first library columns [0]; 0 .. 512; 0: none */
    int32_t library_terms; /* terms offered to each residual state; 0 .. 512 columns in all; 0: no library */
    int32_t forced;        /* columns, from the first, that are never dropped [parameters]; 0 .. columns; 0: none */

    /* Windows. */
    int32_t dense;    /* flag [1]: fit every sample of a window; 0: 2 * taps + 1 spaced taps (paper) */
    int32_t taps;     /* paper: taps either side of the centre [5]; 1 .. 8192 and 2 * taps > poly; unused if dense */
    int32_t poly;     /* order of the polynomials [4, 2 for slow plants]; 1 .. 6 */
    int32_t stride;   /* ticks between windows [1 .. 5]; >= 1 */
    int32_t max_half; /* ticks, longest half width: sizes the ring [16 .. 512]; 5 .. 8192 */
    int32_t spacing;  /* paper: ticks between taps, initial or fixed [20]; 1 .. max_half / taps; unused if dense */
    int32_t adaptive; /* paper: flag [1], spacing and second order by the calibration; 0: as configured */
    int32_t gated;    /* paper: flag [1], acceptance test by the running median; 0: every window is accepted */
    int32_t repair;   /* flag [1]: fill lone dropouts, replace lone outliers, mark stuck sensors; 0: none of it */
    int32_t physics_nodes; /* points of a window at which the known part is evaluated [9]; 1 .. 9; 1: centre (paper) */
    int32_t network_nodes; /* the same for the network [9 on a host, 1 on a chip]; 1 .. 9; 1: centre */
    int32_t calibration;   /* ticks of the first stretch, which only calibrates [all of a record, 10000 live]; >= 1 */

    /* Learning. */
    tu_real second_order; /* paper: weight lambda_2 of the second-order term [0]; 0 .. 1e15; 0: never built */
    tu_real snr_gate;     /* paper: least signal-to-noise ratio of ddx for it [12]; 0 .. 1e15; 0: no gate */
    int32_t reservoir;    /* windows stored to train on [4096]; 1 .. 1000000; 0 only without a network */
    int32_t holdout;      /* windows held out to test the network [1/8 of all]; 0 .. 1000000; 0: none, always kept */
    int32_t compact;      /* flag [0]: reservoir entries in int16, half the memory; 0: as tu_real */
    int32_t rolling;      /* flag [0]: keep the newest windows, held-out ones too; 0: a uniform sample of all */
    int32_t batch;        /* windows in a minibatch [64]; 1 .. 65536 */
    int32_t updates;      /* length of the cosine schedule [8000]; 1 .. 1e9; the rate stays at its floor afterwards */
    int32_t train_every;  /* ticks between updates while streaming [40]; 0 .. 1e9; 0: only by tu_learner_step */
    int32_t adam;         /* flag [1]; 0: plain gradient descent at a fixed rate (paper) */
    tu_real rate;         /* learning rate [0.02; 0.04 without a library]; 0 .. 1e15 */
    tu_real rate_floor;   /* share of it at the end of the schedule [0.02]; 0 .. 1 */
    tu_real decay;        /* of the averaged weights, an update [0.999]; 0 .. 1; 0: no averaging */
    int32_t last_layer;   /* flag [1]: solve the averaged network's last layer when training ends; 0: leave it */
    int32_t groups;       /* of windows, for the jackknife errors [16; 8 on a chip]; 6 .. 64 */
    int32_t block;        /* windows in a block; blocks go to the groups one after the other [200]; 1 .. 1000000 */
    tu_real threshold;    /* |coefficient| / error for a library term to stay [4.5]; 0 .. 1e15; 0: all stay */
    int32_t follow;       /* flag [1]: start over when the dynamics change; 0: average over all that was seen */
    int32_t recalibrate;  /* flag [1]: calibrate noise and window again when nearly all windows are rejected for long;
                           * 0: once, at the start */
    int32_t judged;       /* flag [1 on a board, 0]: judge the model while streaming: keep its last good state, and the
                           * network off until it helps; 0: the network alone, and only when training ends */
    int32_t frozen_network; /* flag [0]: the known part contains a learned network, which is not trained; excludes
                             * forget; 0: it contains none */
    int32_t forget;         /* age in windows with weight 1 / e in the library [0]; block .. 1e9; 0: equal weight */
    uint64_t seed;          /* of the random numbers [0]; any */
} tu_config;

/* A fitted model, to start a learner from. Arrays of a length 0 may be NULL; the model may be in flash. */
typedef struct tu_model {
    int32_t window_half; /* the window that the fit found */
    int32_t window_spacing;
    tu_real sigma_scale;
    const tu_real *x_scale;      /* [states], all scales > 0 */
    const tu_real *u_scale;      /* [inputs] */
    const tu_real *dx_scale;     /* [states] */
    const tu_real *weights;      /* [parameters of the network] */
    const int32_t *network_on;   /* [on] */
    const tu_real *coefficients; /* [columns], as tu_view has them */
    const tu_real *errors;       /* [columns] */
} tu_model;

/* Bytes by part. All but host add up to total, a 32-bit chip's arena; this machine's takes total + host. */
typedef struct tu_memory {
    size_t total;
    size_t state;     /* the learner's own struct, counters and small vectors */
    size_t network;   /* weights and their average */
    size_t optimiser; /* gradient and moments */
    size_t scratch;   /* activations of a block and window temporaries */
    size_t reservoir;
    size_t holdout;
    size_t ring;
    size_t library;     /* sums, coefficients and their errors */
    size_t calibration; /* candidates and their statistics */
    size_t host;        /* wider pointers, and weights laid out for vector units: none of it on a chip */
} tu_memory;

/* The state of a learner: pointers into its arena, valid until the next call on it. Vectors are [states], [on], ... */
typedef struct tu_view {
    int32_t calibrated;
    int32_t window_half;    /* taps either side */
    int32_t window_spacing; /* ticks between taps */
    tu_real second_order;   /* weight in force */
    tu_real snr2;           /* of the second derivative; 0 before calibration */
    tu_real sigma_scale;
    const tu_real *sigma; /* [channels] sensor noise */
    const tu_real *step;  /* [channels] quantisation step; 0: none */
    const tu_real *x_scale;
    const tu_real *dx_scale;
    const tu_real *ddx_scale;
    const tu_real *u_scale;
    const tu_real *params;
    const tu_real *average; /* the model's weights */
    int32_t params_count;
    const tu_real
        *coefficients; /* [columns]: parameters, then the terms of each residual state, in units of dx_scale */
    const tu_real *errors;
    int32_t columns;
    int32_t deficient;         /* parameters the data cannot tell apart */
    const int32_t *network_on; /* [on] */
    const void *reservoir;     /* entries */
    uint32_t reservoir_count;
    uint32_t reservoir_width;
    const void *holdout; /* held-out entries, each with the tag of its part of a block behind it */
    uint32_t holdout_count;
    uint32_t holdout_width;
    uint32_t samples;
    uint32_t filled;
    uint32_t replaced;
    uint32_t windows;
    uint32_t accepted;
    uint32_t rejected[8]; /* by tu_reason */
    uint32_t updates;
    uint32_t updates_left;   /* of the schedule */
    uint32_t rolled_back;    /* updates undone, because not finite or no improvement; and every return */
    uint32_t recalibrations; /* times that noise and window were estimated again */
    uint32_t no_signal;      /* times that this was given up, because there was only noise, as of an unplugged sensor */
    uint32_t returned;       /* times that the last good model was restored, as after a sensor failure */
    uint32_t changes;        /* changes of the dynamics that were detected */
    uint32_t changed_at[8];
    tu_real loss; /* of the last update */
} tu_view;

/* TU_OK, or TU_BAD_CONFIG. */
int tu_config_check(const tu_config *config);

/* Arena bytes this configuration needs; 0 when it is not valid. */
size_t tu_learner_bytes(const tu_config *config);

/* The same by part. */
int tu_learner_memory(const tu_config *config, tu_memory *memory);

typedef struct tu_learner tu_learner;

/* Sets a learner up in the arena (aligned to 8 bytes). Nothing outside the given bytes is ever written.
 * The configuration is not copied: it must stay unchanged while the learner is used, and may be in flash.
 */
int tu_learner_init(tu_learner **learner, const tu_config *config, const tu_known *known, void *arena, size_t bytes);

/* Starts a new learner from a fitted model. It does not calibrate, predicts as the model does, and continues at the
 * `rate_floor` rate, as after its last update. Library terms have the weight of `groups` half blocks of windows in the
 * range of the scales, so that a stream at rest does not change them. If `judged`, they are kept until the stream's
 * own windows contradict them, unless their errors are larger than those of the windows. Sensor noise is still
 * estimated from the stream. The second-order term, which only a calibration enables, stays off. The model is not
 * needed afterwards. TU_BAD_CONFIG, without any change, if the model's window does not fit the configuration, a scale
 * is not positive or a number is not finite.
 */
int tu_learner_start(tu_learner *learner, const tu_model *model);

/* One sample: [channels], then [inputs]. Any value may be non-finite. */
void tu_learner_push(tu_learner *learner, const tu_real *row);

/* `count` samples, row by row: the same as pushing them one by one. */
void tu_learner_push_many(tu_learner *learner, const tu_real *rows, size_t count);

/* Samples are missing between the last sample and the next one. */
void tu_learner_gap(tu_learner *learner);

/* Starts the stream over, keeping the calibration: possible for a recorded stream only. */
void tu_learner_rewind(tu_learner *learner);

/* Ends the calibration stretch now, when the stream is shorter than it; does nothing when it has ended. */
void tu_learner_end_calibration(tu_learner *learner);

/* Makes `count` updates on the stored windows. */
void tu_learner_step(tu_learner *learner, uint32_t count);

/* The end of a recorded stream: tu_learner_solve, the updates left, tu_learner_conclude. To show progress, call these
 * three instead.
 */
void tu_learner_finish(tu_learner *learner);

/* Solves the library on all windows so far. */
void tu_learner_solve(tu_learner *learner);

/* Remaining updates of the schedule. */
uint32_t tu_learner_updates_left(const tu_learner *learner);

/* At the end of training: solves the averaged network's last layer, then tu_learner_judge. */
void tu_learner_conclude(tu_learner *learner);

/* Keeps the network only where its hold-out error is clearly below that of the library alone. */
void tu_learner_judge(tu_learner *learner);

/* Replaces the network's weights [parameters of the network] and restarts its schedule at this learning rate.
 * TU_BAD_CONFIG, without any change, if there is no network, or a weight or the rate is not finite.
 */
int tu_learner_set_network(tu_learner *learner, const tu_real *weights, tu_real rate);

/* N(x, u) of the averaged model: [on]. TU_NOT_READY (and zeros) before calibration has ended. */
int tu_learner_residual(tu_learner *learner, const tu_real *x, const tu_real *u, tu_real *residual);

/* Reads the learner's state; changes nothing. */
void tu_learner_view(const tu_learner *learner, tu_view *view);

/* Sum and number of the losses since the last call. */
uint32_t tu_learner_take_losses(tu_learner *learner, tu_real *sum);

#ifdef __cplusplus
}
#endif

#endif
