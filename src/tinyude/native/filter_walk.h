/* What the two halves of the filter share: filter.c corrects at rows, filter_time.c carries the state to the next one.
 */
#ifndef TU_FILTER_WALK_H
#define TU_FILTER_WALK_H

#include "filter.h"
#include "numeric/real.h"

/* The filter on its way through one stretch. Matrices are by rows; Z is [Phi | M]. */
typedef struct tu_walk {
    const tu_filter *filter;
    int n, columns;     /* of Z: the states, and the unknowns where sensitivities are formed */
    int rejected;       /* rows in a row */
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

/* State, covariance and sensitivities to the next row, in equal steps. */
void tu_filter_advance(tu_walk *w, tu_real span, const tu_real *inputs);

#endif
