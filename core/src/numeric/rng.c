#include "numeric/rng.h"

void tu_rng_seed(tu_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->increment = (stream << 1) | 1u;
    tu_rng_next(rng);
    rng->state += seed;
    tu_rng_next(rng);
}

tu_real tu_rng_normal(tu_rng *rng)
{
    int32_t total = -6 * (1 << 24); /* in integers the sum is exact; only its conversion rounds */
    for (int i = 0; i < 12; i++) {
        total += (int32_t)(tu_rng_next(rng) >> 8);
    }
    return (tu_real)total / TU_R(16777216.0);
}
