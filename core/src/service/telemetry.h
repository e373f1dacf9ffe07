/* Frames of the link, both ways (docs/telemetry.md). */
#ifndef TU_TELEMETRY_H
#define TU_TELEMETRY_H

#include "service/service_state.h"

#define TU_LINK_VERSION 1

enum tu_frame_type {
    TU_FRAME_HELLO = 1,
    TU_FRAME_NAME = 2,
    TU_FRAME_ROW = 3,
    TU_FRAME_TERMS = 4,
    TU_FRAME_HEALTH = 5,
    TU_FRAME_COUNTERS = 6,
    TU_FRAME_EVENT = 7,
    TU_FRAME_MODEL = 8,
    TU_FRAME_REPLY = 9,
    TU_COMMAND_HELLO = 0x81,
    TU_COMMAND_MODEL = 0x82, /* request the model */
    TU_COMMAND_TAKE = 0x83,  /* a piece of a model to load */
    TU_COMMAND_SAVE = 0x84,
    TU_COMMAND_RESET = 0x85
};

enum tu_event {
    TU_EVENT_CALIBRATED = 1,
    TU_EVENT_RECALIBRATED = 2,
    TU_EVENT_CHANGED = 3,
    TU_EVENT_GAP = 4,    /* value: samples lost so far */
    TU_EVENT_SENSOR = 5, /* value: channel + 16 * flags */
    TU_EVENT_HEALTH = 6, /* value: the ratio; it crossed 1.3 or 2 */
    TU_EVENT_SAVED = 7,
    TU_EVENT_NOT_SAVED = 8,
    TU_EVENT_RESTARTED = 9
};

enum { TU_HEAD_BYTES = 4, TU_TAIL_BYTES = 2 };
enum { TU_MODEL_PIECE = 40 }; /* numbers in a frame of a model */

/* A frame being written. */
typedef struct {
    uint8_t *bytes;
    size_t count;
} tu_writer;

void tu_put(tu_writer *writer, uint32_t value, int bytes);
void tu_put_real(tu_writer *writer, tu_real value);

tu_writer tu_frame_begin(tu_service *service, int type);

/* Closes the frame and sends it. Returns 0 if the link is full. */
int tu_frame_send(tu_service *service, tu_writer *writer);

/* Sends the next name or piece of a model. Returns 0 if the link is full: call again later. */
int tu_send_part(tu_service *service);

/* Executes a command: a frame without its CRC. */
void tu_command(tu_service *service, const uint8_t *frame, size_t count);

#endif
