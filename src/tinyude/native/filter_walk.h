/* Shared by both halves of the filter: filter.c corrects at rows, filter_time.c propagates to the next row. */
#ifndef TU_FILTER_WALK_H
#define TU_FILTER_WALK_H

#include "filter.h"
#include "numeric/real.h"

/* State of the filter within one stretch. Matrices are row-major; Z is [Phi | M]. */
typedef struct tu_walk {
    const tu_filter *filter;
    int n, columns;     /* of Z: the states, plus the unknowns if sensitivities are computed */
    int rejected;       /* consecutive rows */
    tu_real *x, *P, *M; /* state, covariance [n][n], sensitivities [n][unknowns] */
    tu_real *Z, *Z_stage, *Z_rate, *Z_sum;
    tu_real *k, *k_sum, *stage;
    tu_real *product;   /* [n][n] */
    tu_real *registers; /* of the tape in use; constants and unknowns are loaded once */
    tu_real *outputs;
} tu_walk;

TU_INLINE const tu_tape *tu_filter_tape(const tu_filter *filter)
{
    return filter->frozen ? filter->value : filter->slopes;
}

/* out = base + factor * rate */
TU_INLINE void tu_along(tu_real *out, const tu_real *base, tu_real factor, const tu_real *rate, int count)
{
    for (int i = 0; i < count; i++) {
        out[i] = base[i] + factor * rate[i];
    }
}

/* Propagates state, covariance and sensitivities to the next row, in equal steps. */
void tu_filter_advance(tu_walk *w, tu_real span, const tu_real *inputs);

#endif
