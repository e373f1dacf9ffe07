#include "rng.h"

void tu_rng_seed(tu_rng *rng, uint64_t seed, uint64_t stream)
{
    rng->state = 0;
    rng->increment = (stream << 1) | 1u;
    tu_rng_next(rng);
    rng->state += seed;
    tu_rng_next(rng);
}

uint32_t tu_rng_next(tu_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * UINT64_C(6364136223846793005) + rng->increment;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t turn = (uint32_t)(old >> 59);
    return (shifted >> turn) | (shifted << ((32u - turn) & 31u));
}

uint32_t tu_rng_below(tu_rng *rng, uint32_t bound)
{
    return (uint32_t)(((uint64_t)tu_rng_next(rng) * bound) >> 32);
}

tu_real tu_rng_normal(tu_rng *rng)
{
    int32_t total = -6 * (1 << 24); /* in integers the sum is exact; only its conversion rounds */
    for (int i = 0; i < 12; i++) {
        total += (int32_t)(tu_rng_next(rng) >> 8);
    }
    return (tu_real)total / TU_R(16777216.0);
}
