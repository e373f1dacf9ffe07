/* Long-term operation on a board: a layer over tinyude.h, for one sample clock and one learner.
 *
 *     tu_service_start      once, before the sample clock runs
 *     tu_service_push       every tick of the sample clock, from its interrupt: constant time
 *     tu_service_work       from the main loop or a task of low priority: learns, saves, reports
 *     tu_service_predict    from one context of any priority: always uses a complete model
 *
 * Call start-up and all other functions from the context that calls tu_service_work. No heap, no globals. Functions
 * that are not called are not linked (compile with -ffunction-sections, link with --gc-sections).
 */
#ifndef TINYUDE_SERVICE_H
#define TINYUDE_SERVICE_H

#include "tinyude.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TU_SERVICE_VERSION 1 /* generated files for another version do not compile */
#define TU_SAVE_VERSION 5
#define TU_SAVE_PIECE 256 /* bytes of a write; offsets are multiples of it */

enum tu_service_status {
    TU_NO_STORAGE = -16,    /* no storage was given, or its slots are too small */
    TU_NOTHING_SAVED = -17, /* neither slot holds a whole state of this firmware's model */
    TU_STORAGE_FAILED = -18 /* a read or a write failed, or the state read is not valid */
};

/* Description of the model in generated code. Names may be NULL if they are not needed. */
typedef struct tu_plan {
    const tu_config *config;
    const tu_known *known;
    const tu_model *model; /* NULL: starts without a model */
    uint32_t fingerprint;  /* of physics, terms, network and sample period: others' states and models are rejected */
    int32_t fifo_depth;    /* samples that may wait */
    tu_real interval;      /* half width of a 90 % interval in standard errors: Student's t, groups - 1 */
    const char *name;
    const char *const *states;     /* [states] */
    const char *const *inputs;     /* [inputs] */
    const char *const *parameters; /* [parameters] */
    const tu_real *parameter_base; /* [parameters]: the value that is compiled into the known part */
    const char *const *terms;      /* [library_terms] */
} tu_plan;

/* A coefficient of a selected term, in the user's units; `state` -1: a parameter, with its value. */
typedef struct tu_term {
    const char *name;
    int32_t column; /* of tu_view.coefficients */
    int32_t state;
    tu_real value;
    tu_real half_width; /* of its 90 % interval */
} tu_term;

enum tu_sensor_flag {
    TU_SENSOR_MISSING = 1, /* more than one sample in ten of the last minute was not finite */
    TU_SENSOR_STUCK = 2,   /* repeats its value, which its noise makes unlikely */
    TU_SENSOR_DEVIATES = 4 /* more than one sample in ten was too far from its prediction to be noise */
};

typedef struct tu_health {
    tu_real ratio;       /* RMS innovation of the last minute, over what noise and prediction explain: 1 is healthy */
    tu_real worst;       /* the same of the worst channel */
    uint32_t steps;      /* predictions since the start; the first one waits for the noise: 128 samples */
    uint32_t flags[12];  /* of each channel: tu_sensor_flag */
    uint32_t lost;       /* samples lost because the FIFO was full */
    uint32_t gaps;       /* interruptions of the stream */
    int32_t deepest;     /* most samples in the FIFO so far */
    uint32_t changes;    /* of the dynamics */
    uint32_t changed_at; /* tick of the last one */
    uint32_t saves;
    uint32_t save_errors;
    tu_real state[12]; /* the state now, filtered */
} tu_health;

/* Memory that survives a power cut: two slots, one behind the other. Both calls return 0 if all bytes were
 * transferred. Writes have ascending offsets, TU_SAVE_PIECE bytes each; the previous content of a slot is not needed
 * once its first piece is written.
 */
typedef struct tu_storage {
    int (*write)(void *context, uint32_t offset, const void *bytes, uint32_t count);
    int (*read)(void *context, uint32_t offset, void *bytes, uint32_t count);
    void *context;
    uint32_t slot_bytes;
} tu_storage;

/* Output of telemetry; `send` returns 0 if there is no room: the frame is dropped and counted. */
typedef struct tu_line {
    int (*send)(void *context, const uint8_t *bytes, size_t count);
    void *context;
} tu_line;

typedef struct tu_service tu_service;

/* Bytes of the service's own arena (aligned to 8 bytes), beside the learner's; 0 when the plan is not valid. */
size_t tu_service_bytes(const tu_plan *plan);

/* Sets up learner and service. The plan is not copied. */
int tu_service_start(tu_service **service, const tu_plan *plan, void *learner_arena, size_t learner_bytes, void *arena,
                     size_t bytes);

tu_learner *tu_service_learner(tu_service *service);

/* A sample, from an interrupt: [channels], then [inputs]. 0: the FIFO is full; the sample is counted and becomes a gap
 * of true length.
 */
int tu_service_push(tu_service *service, const tu_real *row);

/* Ticks of the sample clock without a sample; call it from where tu_service_push is called. */
void tu_service_skip(tu_service *service, uint32_t ticks);

/* Learns from waiting samples until about `budget` thousand instructions of a Cortex-M4F are spent or nothing is left.
 * The results do not depend on the budget. Returns 1 if there is more to do.
 */
int tu_service_work(tu_service *service, int32_t budget);

/* dx/dt at a state: known physics and learned part, from a complete model. TU_NOT_READY: still calibrating. */
int tu_service_predict(tu_service *service, const tu_real *x, const tu_real *u, tu_real *dx);

void tu_service_health(tu_service *service, tu_health *health);

/* Selected terms and parameters: returns how many there are, and writes up to `most` of them. */
int tu_service_terms(tu_service *service, tu_term *terms, int most);

/* Bytes of one slot: a multiple of TU_SAVE_PIECE. */
uint32_t tu_service_save_bytes(tu_service *service);

/* From now on tu_service_work writes the learner's state to the older slot, a piece at a time. The state does not
 * change meanwhile, and samples wait. A running save is not restarted.
 */
int tu_service_save(tu_service *service, const tu_storage *storage);

/* Loads the newest complete state and continues as after a gap. Call it before the sample clock runs. */
int tu_service_load(tu_service *service, const tu_storage *storage);

/* Starts over from a model, discarding what was learned since. */
int tu_service_restart(tu_service *service, const tu_model *model);

/* From now on tu_service_work sends telemetry (docs/telemetry.md): a row every `row_ticks` samples, all else once in
 * `status_ticks`. `storage` (or NULL) is what the command to save uses.
 */
void tu_service_report(tu_service *service, const tu_line *line, uint32_t row_ticks, uint32_t status_ticks,
                       const tu_storage *storage);

/* Bytes received from the line; the next tu_service_work executes their commands. */
void tu_service_receive(tu_service *service, const uint8_t *bytes, size_t count);

#ifdef __cplusplus
}
#endif

#endif
