/* Queue of samples from an interrupt to the learner: one producer, one consumer, no lock.
 *
 * Every push is a tick of the sample clock, whether there is room or not, and each row is stored with its tick. A late
 * consumer sees how many ticks are missing, never a wrong time.
 */
#ifndef TU_FIFO_H
#define TU_FIFO_H

#include "numeric/arena.h"

typedef struct {
    tu_real *rows;   /* slots x columns */
    uint32_t *ticks; /* of each row */
    int columns;
    int slots;              /* capacity in rows + 1 */
    volatile int in;        /* slot written next, by the producer */
    volatile int out;       /* slot read next, by the consumer */
    volatile uint32_t tick; /* ticks so far, modulo 2^32; this and what follows is written by the producer */
    volatile uint32_t lost; /* rows lost because the queue was full */
    volatile int deepest;   /* largest number of waiting rows so far */
} tu_fifo;

void tu_fifo_carve(tu_fifo *fifo, tu_arena *arena, int columns, int depth);

/* Constant time; may be called from an interrupt. Returns 0 if there is no room: the row is lost and counted. */
int tu_fifo_push(tu_fifo *fifo, const tu_real *row);

/* Counts ticks without a sample. */
void tu_fifo_skip(tu_fifo *fifo, uint32_t ticks);

/* Takes the oldest row. Returns 0 if there is none. */
int tu_fifo_pop(tu_fifo *fifo, tu_real *row, uint32_t *tick);

#endif
