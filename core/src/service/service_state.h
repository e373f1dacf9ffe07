/* The service's whole state. */
#ifndef TU_SERVICE_STATE_H
#define TU_SERVICE_STATE_H

#include "service/fifo.h"
#include "service/image.h"
#include "service/observer.h"
#include "state.h"

#define TU_FRAME_BYTES 224 /* of a frame before it is stuffed: head, body, CRC */

/* What a service takes on a 32-bit chip: the size of its arena is the same wherever it is asked for. */
#define TU_SERVICE_STATE_BYTES 1024

/* What was last told of the learner, so that a difference is an event. */
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
    uint32_t row_left, status_left; /* ticks to the next one */
    uint32_t sequence;
    uint32_t dropped; /* frames that found no room on the line */
    int part;         /* of what is sent at length: the next name or piece of the model; -1: nothing is */
    int part_kind;
    uint8_t frame[TU_FRAME_BYTES]; /* that is being made */
    uint8_t in[TU_FRAME_BYTES + TU_FRAME_BYTES / 254 + 2];
    size_t in_count;
    int in_spoilt;     /* the frame that comes in is too long: wait for its end */
    tu_real *arriving; /* a model on its way in: the snapshot that nobody reads; NULL: none */
    uint32_t arrived;  /* numbers of it */
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
    tu_real *row;       /* the sample at hand */
    tu_real *missing;   /* by channel: share of samples of the last minute that were not finite */
    uint64_t tick;      /* of that sample, since the start */
    uint32_t due;       /* the tick that would follow on the last one */
    uint32_t elapsed;   /* ticks from the sample before to this one */
    uint32_t step_left; /* ticks to the next step of the observer */
    int busy;           /* the learner is at work on a sample */
    int waiting;        /* the sample at hand waits for one that is missing before it */
    int predicted;      /* the observer made a step with this sample */
    uint32_t gaps, saves, save_errors, restarts;
    uint32_t published_updates, published_blocks,
        published_recalibrations; /* of the learner, when its model was last published */
    tu_image_writer writer;
    int (*write)(struct tu_service *service); /* writes a piece of an image; NULL: nothing is to be saved */
    void (*report)(struct tu_service *service, int sampled); /* NULL: nobody listens */
    tu_reporter reporter;
};

/* Whether what comes every so many ticks falls on this sample; left: ticks to the next time. */
int tu_service_due(const tu_service *service, uint32_t *left, uint32_t every);

/* Makes the learner's model the one that predictions use. */
void tu_service_publish(tu_service *service);

#endif
