/* Valid input numbers: finite, with squares that can be summed in float32. */
#ifndef TU_FINITE_H
#define TU_FINITE_H

#include "numeric/real.h"

#define TU_LIMIT TU_R(1e15)

TU_INLINE int tu_usable(tu_real x) { return x > -TU_LIMIT && x < TU_LIMIT; }

TU_INLINE int tu_finite(tu_real x) { return x - x == 0; }

#endif
