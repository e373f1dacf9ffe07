#include "signal/ring.h"

void tu_ring_carve(tu_ring *ring, tu_arena *arena, int span, int columns)
{
    ring->values = tu_arena_reals(arena, span * columns);
    ring->span = span;
    ring->columns = columns;
    tu_ring_clear(ring);
}

void tu_ring_clear(tu_ring *ring)
{
    ring->next = 0;
    ring->held = 0;
}

void tu_ring_push(tu_ring *ring, const tu_real *row)
{
    tu_real *slot = ring->values + ring->next;
    for (int column = 0; column < ring->columns; column++) {
        *slot = row[column];
        slot += ring->span;
    }
    ring->next = ring->next + 1 < ring->span ? ring->next + 1 : 0;
    ring->held += ring->held < ring->span;
}

const tu_real *tu_ring_last(const tu_ring *ring, int column, int count, tu_real *buffer)
{
    const tu_real *values = ring->values + column * ring->span;
    int first = tu_ring_slot(ring, count - 1);
    if (first + count <= ring->span) {
        return values + first;
    }
    for (int i = 0; i < count; i++) {
        buffer[i] = values[first];
        first = first + 1 < ring->span ? first + 1 : 0;
    }
    return buffer;
}
