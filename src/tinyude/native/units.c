#include "units.h"

#include "numeric/elementary.h"

#include <string.h>

/* exp(-square / 2), square >= 0. */
TU_INLINE tu_real unit(tu_real square)
{
#ifdef TU_REAL_DOUBLE
    double power, p = tu_exp_parts(square < 1400.0 ? -0.5 * square : -700.0, &power);
    return power + power * p;
#else
    return tu_exp(TU_R(-0.5) * square);
#endif
}

static void node_values(const tu_units *units, const tu_real *z, tu_real *restrict values)
{
    const int32_t count = units->units;
    const tu_real *centres = units->centres;
    tu_clear(values, count);
    for (int32_t d = 0; d < units->features; d++, centres += count) {
        TU_LANES
        for (int32_t u = 0; u < count; u++) {
            tu_real apart = z[d] - centres[u];
            values[u] += apart * apart;
        }
    }
    TU_LANES
    for (int32_t u = 0; u < count; u++) {
        values[u] = unit(values[u]);
    }
}

void tu_units_sums(const tu_units *units, tu_real *values, tu_real *sums)
{
    const int32_t count = units->units;
    for (int64_t w = 0; w < units->windows; w++, sums += count) {
        tu_real *restrict sum = sums;
        tu_clear(sum, count);
        for (int64_t n = units->starts[w]; n < units->starts[w + 1]; n++) {
            const tu_real *value = values + n * count;
            node_values(units, units->z + n * units->features, values + n * count);
            TU_LANES
            for (int32_t u = 0; u < count; u++) {
                sum[u] += units->weights[n] * value[u];
            }
        }
    }
}

void tu_units_by_length(const tu_units *units, const tu_real *values, const tu_real *slopes, tu_real *by_length)
{
    const int32_t count = units->units;
    tu_clear(by_length, units->features * count);
    for (int64_t w = 0; w < units->windows; w++) {
        const tu_real *slope = slopes + w * count;
        for (int64_t n = units->starts[w]; n < units->starts[w + 1]; n++) {
            const tu_real *value = values + n * count, *z = units->z + n * units->features;
            for (int32_t d = 0; d < units->features; d++) {
                const tu_real *centre = units->centres + d * count;
                tu_real *restrict sum = by_length + d * count;
                TU_LANES
                for (int32_t u = 0; u < count; u++) {
                    tu_real apart = z[d] - centre[u];
                    sum[u] += units->weights[n] * slope[u] * value[u] * (apart * apart);
                }
            }
        }
    }
}
