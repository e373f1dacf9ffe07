/* The service's whole state. */
#ifndef TU_SERVICE_STATE_H
#define TU_SERVICE_STATE_H

#include "service/fifo.h"
#include "service/image.h"
#include "service/observer.h"
#include "state.h"

#define TU_FRAME_BYTES 224 /* of a frame before COBS encoding: head, body, CRC */

/* Size of a service on a 32-bit chip, used on every machine, so that the arena size is the same everywhere. */
#define TU_SERVICE_STATE_BYTES 1024

/* Values last reported; a difference is an event. */
typedef struct {
    uint32_t flags[TU_MAX_STATES];
    uint32_t calibrated, changes, recalibrations, gaps, saves, save_errors, restarts;
    uint32_t level; /* of health */
} tu_told;

/* Telemetry and commands; all 0 until tu_service_report. */
typedef struct {
    tu_line line;
    const tu_storage *storage;
    uint32_t row_ticks, status_ticks;
    uint32_t row_left, status_left; /* ticks until the next one */
    uint32_t sequence;
    uint32_t dropped; /* frames dropped because the link was full */
    int part;         /* next name or piece of the model to send; -1: none */
    int part_kind;
    uint8_t frame[TU_FRAME_BYTES]; /* being assembled */
    uint8_t in[TU_FRAME_BYTES + TU_FRAME_BYTES / 254 + 2];
    size_t in_count;
    int in_spoilt;     /* the incoming frame is too long: skip to its end */
    tu_real *arriving; /* a model being received, in the snapshot's unused copy; NULL: none */
    uint32_t arrived;  /* numbers received */
    tu_told told;
} tu_reporter;

struct tu_service {
    const tu_plan *plan;
    tu_learner *learner;
    void *learner_arena;
    size_t learner_bytes;
    tu_fifo fifo;
    tu_snapshot snapshot;
    tu_observer observer;
    tu_real *row;       /* the current sample */
    tu_real *missing;   /* by channel: share of samples of the last minute that were not finite */
    uint64_t tick;      /* tick of that sample, from the start */
    uint32_t due;       /* the tick after the last sample's */
    uint32_t elapsed;   /* ticks since the previous sample */
    uint32_t step_left; /* ticks until the observer's next step */
    int busy;           /* the learner is processing a sample */
    int waiting;        /* the current sample waits for a missing one before it */
    int predicted;      /* the observer made a step at this sample */
    uint32_t gaps, saves, save_errors, restarts;
    uint32_t published_updates, published_blocks,
        published_recalibrations; /* of the learner, when its model was last published */
    tu_image_writer writer;
    int (*write)(struct tu_service *service);                /* writes a piece of an image; NULL: nothing to save */
    void (*report)(struct tu_service *service, int sampled); /* NULL: no telemetry */
    tu_reporter reporter;
};

/* Whether a periodic task is due at this sample; left: ticks until the next time. */
int tu_service_due(const tu_service *service, uint32_t *left, uint32_t every);

/* Makes the learner's model the one that predictions use. */
void tu_service_publish(tu_service *service);

#endif
