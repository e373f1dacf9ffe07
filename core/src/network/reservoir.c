#include "network/reservoir.h"

#include <string.h>

size_t tu_reservoir_bytes(uint32_t capacity, uint32_t width, int compact)
{
    return (size_t)capacity * width * (compact ? sizeof(int16_t) : sizeof(tu_real));
}

void tu_reservoir_init(tu_reservoir *res, void *entries, uint8_t *fresh, const tu_real *scale, uint32_t capacity,
                       uint32_t width, int rolling)
{
    res->entries = entries;
    res->fresh = fresh;
    res->scale = scale;
    res->capacity = capacity;
    res->width = width;
    res->rolling = rolling;
    tu_reservoir_clear(res);
}

void tu_reservoir_clear(tu_reservoir *res)
{
    res->seen = 0;
    res->next = 0;
}

uint32_t tu_reservoir_count(const tu_reservoir *res) { return res->seen < res->capacity ? res->seen : res->capacity; }

void tu_reservoir_settle(tu_reservoir *res) { memset(res->fresh, 0, (res->capacity + 7) / 8); }

int tu_reservoir_is_fresh(const tu_reservoir *res, uint32_t index) { return res->fresh[index / 8] >> index % 8 & 1; }

/* Rounds to the nearest step, halves away from zero, clipped to +-32767. */
static int16_t to_steps(tu_real value, tu_real scale)
{
    tu_real steps = value / scale;
    if (!(steps > TU_R(-32767.0))) {
        return -32767;
    }
    if (steps > TU_R(32767.0)) {
        return 32767;
    }
    return (int16_t)(steps + (steps < 0 ? TU_R(-0.5) : TU_R(0.5)));
}

static void store(tu_reservoir *res, uint32_t index, int first, int columns, const tu_real *values)
{
    size_t start = (size_t)index * res->width + (size_t)first;
    for (int column = 0; column < columns; column++) {
        if (res->scale) {
            ((int16_t *)res->entries)[start + (size_t)column] = to_steps(values[column], res->scale[first + column]);
        } else {
            ((tu_real *)res->entries)[start + (size_t)column] = values[column];
        }
    }
}

void tu_reservoir_offer(tu_reservoir *res, const tu_real *entry, tu_rng *rng)
{
    uint32_t slot = res->next;
    if (!res->rolling && res->seen >= res->capacity) {
        slot = tu_rng_below(rng, res->seen < UINT32_MAX ? res->seen + 1 : UINT32_MAX);
    }
    if (slot < res->capacity) {
        store(res, slot, 0, (int)res->width, entry);
        if (res->fresh) {
            res->fresh[slot / 8] |= (uint8_t)(1u << slot % 8);
        }
    }
    res->next = res->next + 1 < res->capacity ? res->next + 1 : 0;
    if (res->seen < UINT32_MAX) {
        res->seen++;
    }
}

void tu_reservoir_draw(const tu_reservoir *res, int batch, tu_rng *rng, uint32_t *indices)
{
    uint32_t count = tu_reservoir_count(res);
    for (int i = 0; i < batch; i++) {
        indices[i] = tu_rng_below(rng, count);
    }
}

void tu_reservoir_spread(const tu_reservoir *res, const uint32_t *indices, int count, int first, int columns,
                         int entry_step, int column_step, tu_real *out)
{
    const size_t width = res->width;
    for (int column = first; column < first + columns; column++, out += column_step) {
        tu_real *place = out;
        if (res->scale) {
            const int16_t *steps = (const int16_t *)res->entries + column;
            const tu_real scale = res->scale[column];
            for (int i = 0; i < count; i++, place += entry_step) {
                *place = (tu_real)steps[indices[i] * width] * scale;
            }
        } else {
            const tu_real *values = (const tu_real *)res->entries + column;
            for (int i = 0; i < count; i++, place += entry_step) {
                *place = values[indices[i] * width];
            }
        }
    }
}

void tu_reservoir_gather(const tu_reservoir *res, const uint32_t *indices, int count, int first, int columns,
                         tu_real *out)
{
    tu_reservoir_spread(res, indices, count, first, columns, columns, 1, out);
}

void tu_reservoir_add(tu_reservoir *res, uint32_t index, int first, int columns, const tu_real *values)
{
    for (int column = 0; column < columns; column++) {
        tu_real value = 0;
        tu_reservoir_gather(res, &index, 1, first + column, 1, &value);
        value += values[column];
        store(res, index, first + column, 1, &value);
    }
}
