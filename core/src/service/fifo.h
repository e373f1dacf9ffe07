/* Samples on their way from an interrupt to the learner: one producer, one consumer, no lock.
 *
 * Every push is a tick of the sample clock, whether there is room or not, and a row keeps the tick it was taken at: a
 * consumer that was late sees how many ticks are missing, never a wrong time.
 */
#ifndef TU_FIFO_H
#define TU_FIFO_H

#include "numeric/arena.h"

typedef struct {
    tu_real *rows;   /* slots x columns */
    uint32_t *ticks; /* of each row */
    int columns;
    int slots;              /* one more than rows fit */
    volatile int in;        /* slot written next: the producer's */
    volatile int out;       /* slot read next: the consumer's */
    volatile uint32_t tick; /* ticks so far, modulo 2^32: the producer's, as what follows */
    volatile uint32_t lost; /* rows that found no room */
    volatile int deepest;   /* most rows that ever waited */
} tu_fifo;

void tu_fifo_carve(tu_fifo *fifo, tu_arena *arena, int columns, int depth);

/* Constant time, from an interrupt if need be. 0: no room, the row is lost and counted. */
int tu_fifo_push(tu_fifo *fifo, const tu_real *row);

/* Ticks at which nothing was sampled. */
void tu_fifo_skip(tu_fifo *fifo, uint32_t ticks);

/* Takes the oldest row. 0: there is none. */
int tu_fifo_pop(tu_fifo *fifo, tu_real *row, uint32_t *tick);

#endif
