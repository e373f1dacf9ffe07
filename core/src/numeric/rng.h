/* PCG32 (O'Neill's XSH-RR): a small generator; same numbers as tinyude.reference.numeric.rng. */
#ifndef TU_RNG_H
#define TU_RNG_H

#include "numeric/real.h"

typedef struct {
    uint64_t state;
    uint64_t increment;
} tu_rng;

/* The published seeding sequence; streams with the same seed are independent. */
void tu_rng_seed(tu_rng *rng, uint64_t seed, uint64_t stream);

/* 32 random bits. */
TU_INLINE uint32_t tu_rng_next(tu_rng *rng)
{
    uint64_t old = rng->state;
    rng->state = old * UINT64_C(6364136223846793005) + rng->increment;
    uint32_t shifted = (uint32_t)(((old >> 18) ^ old) >> 27);
    uint32_t rotation = (uint32_t)(old >> 59);
    return (shifted >> rotation) | (shifted << ((32u - rotation) & 31u));
}

/* An index in [0, bound), by multiply and shift: a bias below bound / 2^32 is not worth a rejection loop. */
TU_INLINE uint32_t tu_rng_below(tu_rng *rng, uint32_t bound)
{
    return (uint32_t)(((uint64_t)tu_rng_next(rng) * bound) >> 32);
}

/* Nearly normal, mean 0, variance 1, within +-6: the sum of twelve uniforms. */
tu_real tu_rng_normal(tu_rng *rng);

#endif
