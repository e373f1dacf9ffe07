/* Radial units summed over the nodes of windows, on the host. */
#ifndef TU_UNITS_H
#define TU_UNITS_H

#include "tinyude.h"

/* Nodes starts[w] .. starts[w + 1] - 1 are those of window w. Inputs and centres are in units of the lengths. */
typedef struct tu_units {
    int64_t windows;
    int32_t features, units;
    const int64_t *starts;  /* [windows + 1] */
    const tu_real *weights; /* [nodes]: of a node in its window's sum */
    const tu_real *z;       /* [nodes][features] */
    const tu_real *centres; /* [features][units] */
} tu_units;

/* values[nodes][units]: exp(-|z - c|^2 / 2); sums[windows][units]: over the nodes of a window, by their weights. */
void tu_units_sums(const tu_units *units, tu_real *values, tu_real *sums);

/* by_length[features][units]: minus the derivative of the sum of slopes[windows][units] x sums by the logarithm of each
 * inverse length; values: from tu_units_sums.
 */
void tu_units_by_length(const tu_units *units, const tu_real *values, const tu_real *slopes, tu_real *by_length);

#endif
