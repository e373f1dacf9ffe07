/* The last samples of every channel and input, in fixed memory. */
#ifndef TU_RING_H
#define TU_RING_H

#include "numeric/arena.h"

typedef struct {
    tu_real *values; /* columns x span: columns are contiguous, so a window is at most two runs */
    int span;
    int columns;
    int next; /* slot written next */
    int held; /* samples since the last clear, up to span */
} tu_ring;

void tu_ring_carve(tu_ring *ring, tu_arena *arena, int span, int columns);

void tu_ring_clear(tu_ring *ring);

void tu_ring_push(tu_ring *ring, const tu_real *row);

/* Slot of the sample pushed `back` (< span) ticks ago; 0: the newest. */
TU_INLINE int tu_ring_slot(const tu_ring *ring, int back)
{
    int slot = ring->next - 1 - back;
    return slot < 0 ? slot + ring->span : slot;
}

TU_INLINE tu_real tu_ring_at(const tu_ring *ring, int column, int back)
{
    return ring->values[column * ring->span + tu_ring_slot(ring, back)];
}

/* The newest `count` samples of a column, oldest first; copied to `buffer` only if they wrap around the ring's end. */
const tu_real *tu_ring_last(const tu_ring *ring, int column, int count, tu_real *buffer);

#endif
