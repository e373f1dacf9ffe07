#include "service/fifo.h"

#include "service/barrier.h"

void tu_fifo_carve(tu_fifo *fifo, tu_arena *arena, int columns, int depth)
{
    fifo->columns = columns;
    fifo->slots = depth + 1;
    fifo->rows = tu_arena_reals(arena, fifo->slots * columns);
    fifo->ticks = tu_arena_take(arena, (size_t)fifo->slots * sizeof(uint32_t));
    fifo->in = fifo->out = fifo->deepest = 0;
    fifo->tick = fifo->lost = 0;
}

int tu_fifo_push(tu_fifo *fifo, const tu_real *row)
{
    int in = fifo->in, out = fifo->out, next = in + 1 < fifo->slots ? in + 1 : 0;
    int waiting = (in < out ? in + fifo->slots : in) - out + 1;
    tu_real *slot = fifo->rows + in * fifo->columns;
    uint32_t tick = fifo->tick;
    fifo->tick = tick + 1;
    if (next == out) {
        fifo->lost = fifo->lost + 1;
        return 0;
    }
    for (int i = 0; i < fifo->columns; i++) {
        slot[i] = row[i];
    }
    fifo->ticks[in] = tick;
    fifo->deepest = waiting > fifo->deepest ? waiting : fifo->deepest;
    TU_BARRIER();
    fifo->in = next;
    return 1;
}

void tu_fifo_skip(tu_fifo *fifo, uint32_t ticks) { fifo->tick = fifo->tick + ticks; }

int tu_fifo_pop(tu_fifo *fifo, tu_real *row, uint32_t *tick)
{
    int out = fifo->out;
    if (out == fifo->in) {
        return 0;
    }
    TU_BARRIER();
    for (int i = 0; i < fifo->columns; i++) {
        row[i] = fifo->rows[out * fifo->columns + i];
    }
    *tick = fifo->ticks[out];
    TU_BARRIER();
    fifo->out = out + 1 < fifo->slots ? out + 1 : 0;
    return 1;
}
