/* A uniform sample of an unbounded stream in fixed memory (Vitter's algorithm R), or the most recent entries. */
#ifndef TU_RESERVOIR_H
#define TU_RESERVOIR_H

#include "numeric/rng.h"

typedef struct {
    void *entries;        /* capacity x width, tu_real or int16_t; the caller's memory */
    uint8_t *fresh;       /* a bit per entry: stored since tu_reservoir_settle; the caller's memory, NULL: not marked */
    const tu_real *scale; /* NULL: entries are tu_real. Else int16_t, each column in steps of its scale (> 0) */
    uint32_t capacity;    /* > 0 */
    uint32_t width;       /* columns of an entry */
    uint32_t seen;        /* entries offered since the last clear; saturates at UINT32_MAX */
    uint32_t next;        /* the slot a rolling reservoir writes next */
    int rolling;          /* keep the newest instead of a uniform sample */
} tu_reservoir;

/* Size of `entries` in bytes: half as many for int16_t as for float. */
size_t tu_reservoir_bytes(uint32_t capacity, uint32_t width, int compact);

void tu_reservoir_init(tu_reservoir *res, void *entries, uint8_t *fresh, const tu_real *scale, uint32_t capacity,
                       uint32_t width, int rolling);

/* Removes all entries. */
void tu_reservoir_clear(tu_reservoir *res);

/* From here on the entries held are old ones. */
void tu_reservoir_settle(tu_reservoir *res);

/* Whether an entry was stored since. */
int tu_reservoir_is_fresh(const tu_reservoir *res, uint32_t index);

/* Entries held: min(seen, capacity). */
uint32_t tu_reservoir_count(const tu_reservoir *res);

/* Offers one entry (width finite values). Only a full, non-rolling reservoir draws from the generator. */
void tu_reservoir_offer(tu_reservoir *res, const tu_real *entry, tu_rng *rng);

/* Indices of a minibatch, with replacement. The reservoir must not be empty. */
void tu_reservoir_draw(const tu_reservoir *res, int batch, tu_rng *rng, uint32_t *indices);

/* Copies columns first .. first + columns - 1 of the given entries, one after the other. */
void tu_reservoir_gather(const tu_reservoir *res, const uint32_t *indices, int count, int first, int columns,
                         tu_real *out);

/* The same; column c of entry i goes to out[i * entry_step + c * column_step]. */
void tu_reservoir_spread(const tu_reservoir *res, const uint32_t *indices, int count, int first, int columns,
                         int entry_step, int column_step, tu_real *out);

/* Adds to columns first .. first + columns - 1 of one entry. */
void tu_reservoir_add(tu_reservoir *res, uint32_t index, int first, int columns, const tu_real *values);

#endif
