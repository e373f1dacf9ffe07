/* TinyUDE: learn what a model leaves out, dx/dt = f_known(x, u) + N(x, u), from a noisy sensor stream, without a solver.
 *
 * The whole learner lives in one block of memory that the caller owns:
 *
 *     static _Alignas(8) unsigned char arena[...];       tu_learner_bytes(&config) tells how much
 *     tu_learner *learner;
 *     tu_learner_init(&learner, &config, &known, arena, sizeof arena);
 *     every sample:  tu_learner_push(learner, row);      trains by itself every config.train_every samples
 *     at leisure:    tu_learner_step(learner, 1);        further updates on what is stored
 *     at the end:    tu_learner_finish(learner);         (a recorded stream)
 *     any time:      tu_learner_residual(learner, x, u, n);
 *
 * No heap, no stdio, no globals, no recursion. Two learners may live side by side; one learner is not thread-safe.
 * Units: samples, states and inputs in the user's own; time in seconds; angles as the known physics takes them.
 * Calls return TU_OK (0) or a negative status; a bad sample is never an error: it is counted and survived.
 */
#ifndef TINYUDE_H
#define TINYUDE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TU_API_VERSION 1 /* generated files that were made for another version refuse to compile */

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

/* Why a window was refused. */
enum tu_reason { TU_GAP = 0, TU_NONFINITE = 1, TU_STUCK = 2, TU_MISFIT = 3, TU_JUMP = 4, TU_REASONS = 5 };

/* The known part, one state at a time; `context` is handed through. All pointers are to disjoint memory. */
typedef struct tu_known {
    void (*field)(void *context, const tu_real *x, const tu_real *u, tu_real *dx);               /* [states] */
    void (*jacobian)(void *context, const tu_real *x, const tu_real *u, tu_real *jacobian);      /* [states][states] */
    void (*terms)(void *context, const tu_real *x, const tu_real *u, tu_real *terms);            /* [library_terms] */
    void (*sensitivity)(void *context, const tu_real *x, const tu_real *u, tu_real *derivative); /* [on][parameters] */
    void *context;
} tu_known;

/* What a learner is told before it starts (reference/config.py: same names, same meaning). */
typedef struct tu_config {
    /* the system: state i is derivative number order[i] of sensor channel channel[i] */
    int32_t channels;
    int32_t states;
    int32_t inputs;
    int32_t channel[12];
    int32_t order[12];
    int32_t rate_channel[12]; /* of each channel: 1 + the channel that senses its rate; 0: none does */
    int32_t circular[12];     /* of each channel: 1 where a whole turn (2 pi) changes nothing */
    tu_real sample_period; /* s */
    int32_t on_count;      /* states whose equation the residual may change */
    int32_t on[12];
    int32_t sees_count; /* what the network sees: states first, then inputs */
    int32_t sees[20];
    int32_t hidden_count; /* 0: no network */
    int32_t hidden[3];
    int32_t parameters;    /* physical parameters to learn: the first library columns */
    int32_t library_terms; /* terms offered to each residual state */
    int32_t forced;        /* library columns, from the first, that always stay in */

    /* windows */
    int32_t dense; /* fit every sample of a window, or 2 * taps + 1 spaced ones (paper) */
    int32_t taps;
    int32_t poly;
    int32_t stride;   /* ticks between windows */
    int32_t max_half; /* longest half width in ticks: sizes the ring */
    int32_t spacing;  /* tap spacing (paper): at the start, and for good when not adaptive */
    int32_t adaptive;
    int32_t gated;
    int32_t repair;        /* fill lone dropouts, replace lone outliers */
    int32_t physics_nodes; /* 1: the window's centre (paper) */
    int32_t network_nodes;
    int32_t calibration; /* ticks */

    /* learning */
    tu_real second_order; /* lambda_2; 0: the term is never built */
    tu_real snr_gate;
    int32_t reservoir; /* entries */
    int32_t holdout;   /* entries held back to judge the network; 0: it is never judged */
    int32_t compact;   /* reservoir entries in int16 */
    int32_t rolling;
    int32_t batch;
    int32_t updates;     /* of the cosine schedule */
    int32_t train_every; /* ticks between updates while streaming; 0: only when asked */
    int32_t adam;        /* 0: plain gradient descent */
    tu_real rate;
    tu_real rate_floor;
    tu_real decay; /* of the averaged weights; 0: no averaging */
    int32_t settle; /* solve the averaged network's last layer when training is over */
    int32_t around; /* a second start for a network that sees an angle go round */
    int32_t groups;
    int32_t block;     /* windows in a block */
    tu_real threshold; /* |coefficient| / error for a library term to stay */
    int32_t follow;    /* start over when the dynamics change */
    uint64_t seed;
} tu_config;

/* A fitted model, to start a learner from. Arrays of a length 0 may be NULL; the model may live in flash. */
typedef struct tu_model {
    int32_t window_half; /* the window that the fit settled on */
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
    size_t state;       /* the learner's own struct, counters and small vectors */
    size_t network;     /* weights and their average */
    size_t optimiser;   /* gradient and moments */
    size_t scratch;     /* activations of a block and window temporaries */
    size_t reservoir;
    size_t holdout;
    size_t ring;
    size_t library;     /* sums, coefficients and their errors */
    size_t calibration; /* candidates and their statistics */
    size_t host;        /* wider pointers, and weights as vector units want them: none of it on a chip */
} tu_memory;

/* A look into a learner: pointers into its arena, valid until the next call on it. Vectors are [states], [on], ... */
typedef struct tu_view {
    int32_t calibrated;
    int32_t window_half;    /* taps either side */
    int32_t window_spacing; /* ticks between taps */
    tu_real second_order;   /* weight in force */
    tu_real snr2;           /* of the second derivative; 0 before calibration */
    tu_real sigma_scale;
    const tu_real *sigma; /* [channels] sensor noise */
    const tu_real *step;  /* [channels] smallest change seen */
    const tu_real *x_scale;
    const tu_real *dx_scale;
    const tu_real *ddx_scale;
    const tu_real *u_scale;
    const tu_real *params;
    const tu_real *average; /* the model's weights */
    int32_t params_count;
    const tu_real *coefficients; /* [columns]: parameters, then the terms of each residual state, in units of dx_scale */
    const tu_real *errors;
    int32_t columns;
    int32_t deficient;         /* parameters the data cannot tell apart */
    const int32_t *network_on; /* [on] */
    const void *reservoir;     /* entries */
    uint32_t reservoir_count;
    uint32_t reservoir_width;
    uint32_t samples;
    uint32_t filled;
    uint32_t replaced;
    uint32_t windows;
    uint32_t accepted;
    uint32_t rejected[5]; /* by tu_reason */
    uint32_t updates;
    uint32_t rolled_back; /* updates undone because they were not finite */
    uint32_t revisions;   /* times the stream changed its character, and the window with it */
    uint32_t changes;     /* times the dynamics were found changed */
    uint32_t changed_at[8];
    tu_real loss;          /* of the last update */
    tu_real loss_sum;      /* since the last tu_learner_view */
    uint32_t loss_count;
} tu_view;

/* TU_OK, or TU_BAD_CONFIG. */
int tu_config_check(const tu_config *config);

/* Arena bytes this configuration needs; 0 when it is not valid. */
size_t tu_learner_bytes(const tu_config *config);

/* The same by part. */
int tu_learner_memory(const tu_config *config, tu_memory *memory);

typedef struct tu_learner tu_learner;

/* Sets a learner up in the arena (aligned to 8 bytes). Nothing outside the given bytes is ever written.
 * The configuration is not copied: it must stay as it is for as long as the learner is used, and may live in flash.
 */
int tu_learner_init(tu_learner **learner, const tu_config *config, const tu_known *known, void *arena, size_t bytes);

/* Lets a learner that has seen nothing yet start from a fitted model: it need not calibrate, predicts as the model does
 * and learns on, gently, as after its last update. Library terms weigh as much as `groups` half blocks of windows in the
 * range of the scales, so that a stream that stands still leaves them alone. Sensor noise is still estimated from the
 * stream itself; the second-order term, whose gate only a calibration can open, stays off. Nothing of the model is
 * needed afterwards.
 * TU_BAD_CONFIG when the model's window does not fit the configuration or a scale is not positive.
 */
int tu_learner_start(tu_learner *learner, const tu_model *model);

/* One sample: [channels], then [inputs] held until the next sample. Any value may be non-finite. */
void tu_learner_push(tu_learner *learner, const tu_real *row);

/* `count` samples, row by row: the same as pushing them one by one. */
void tu_learner_push_many(tu_learner *learner, const tu_real *rows, size_t count);

/* The next sample does not follow on the last one. */
void tu_learner_gap(tu_learner *learner);

/* Starts the stream over with the calibration kept: what a recorded stream allows and a live one does not. */
void tu_learner_rewind(tu_learner *learner);

/* Ends the calibration stretch now, when the stream is shorter than it; does nothing when it has ended. */
void tu_learner_calibrated(tu_learner *learner);

/* Makes updates on what is stored. */
void tu_learner_step(tu_learner *learner, uint32_t count);

/* Settles the library on all that was seen. tu_learner_finish does this, the updates left, and concludes. */
void tu_learner_solve(tu_learner *learner);

/* Keeps the network only where it predicts held-back windows better than the library alone. */
void tu_learner_judge(tu_learner *learner);

/* When training is over: solves the averaged network's last layer, and judges. */
void tu_learner_conclude(tu_learner *learner);

void tu_learner_finish(tu_learner *learner);

/* A luxury of machines with time: after the conclusion, starts the network anew where an angle goes round. As many updates
 * as before follow, and tu_learner_choose. 0: there is no such angle, or no held-back window to judge by.
 */
int tu_learner_around(tu_learner *learner);

/* Concludes a second start: keeps the network that predicts held-back windows better. */
void tu_learner_choose(tu_learner *learner);

/* N(x, u) of the averaged model: [on]. TU_NOT_READY (and zeros) before calibration has ended. */
int tu_learner_residual(tu_learner *learner, const tu_real *x, const tu_real *u, tu_real *residual);

void tu_learner_view(tu_learner *learner, tu_view *view);

#ifdef __cplusplus
}
#endif

#endif
