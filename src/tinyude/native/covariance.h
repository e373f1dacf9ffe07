/* Covariance of sums of noise, on the host: every row is a weighted sum of a segment of unit noise, and segments
 * overlap.
 */
#ifndef TU_COVARIANCE_H
#define TU_COVARIANCE_H

#include "tinyude.h"

/* band[d * rows + j] = covariance of rows j + d and j, for d = 0 .. width; 0 beyond the last row.
 *
 * Row j weights the noise from first[j] on by weights[begin[j]] .. weights[begin[j] + length[j] - 1].
 */
void tu_band_covariance(int64_t rows, const int64_t *first, const int64_t *begin, const int64_t *length,
                        const tu_real *weights, int64_t width, tu_real *band);

#endif
