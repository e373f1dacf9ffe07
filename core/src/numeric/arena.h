/* Memory is carved from the caller's arena in one pass; the same pass without an arena (base NULL) counts the bytes.
 * The arena, and the structs in it, must be 0 before.
 */
#ifndef TU_ARENA_H
#define TU_ARENA_H

#include "numeric/real.h"

typedef struct {
    unsigned char *base;
    size_t used;
} tu_arena;

/* A piece aligned to 8 bytes; NULL when only counting. */
TU_INLINE void *tu_arena_take(tu_arena *arena, size_t bytes)
{
    size_t start = arena->used;
    arena->used += (bytes + 7) / 8 * 8;
    return arena->base ? arena->base + start : NULL;
}

TU_INLINE tu_real *tu_arena_reals(tu_arena *arena, int count)
{
    return tu_arena_take(arena, (size_t)count * sizeof(tu_real));
}

TU_INLINE int32_t *tu_arena_ints(tu_arena *arena, int count)
{
    return tu_arena_take(arena, (size_t)count * sizeof(int32_t));
}

#endif
