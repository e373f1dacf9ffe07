#include "covariance.h"

/* Four sums side by side, in a fixed order. */
static tu_real dot(const tu_real *a, const tu_real *b, int64_t count)
{
    tu_real sums[4] = {0, 0, 0, 0};
    int64_t k = 0;
    for (; k + 4 <= count; k += 4) {
        for (int lane = 0; lane < 4; lane++) {
            sums[lane] += a[k + lane] * b[k + lane];
        }
    }
    for (; k < count; k++) {
        sums[0] += a[k] * b[k];
    }
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

void tu_band_covariance(int64_t rows, const int64_t *first, const int64_t *begin, const int64_t *length,
                        const tu_real *weights, int64_t width, tu_real *band)
{
    for (int64_t d = 0; d <= width; d++) {
        for (int64_t j = 0; j < rows; j++) {
            const int64_t i = j + d;
            tu_real value = 0;
            if (i < rows) {
                const int64_t from = first[i] > first[j] ? first[i] : first[j];
                const int64_t end_i = first[i] + length[i], end_j = first[j] + length[j];
                const int64_t count = (end_i < end_j ? end_i : end_j) - from;
                if (count > 0) {
                    value = dot(weights + begin[i] + (from - first[i]), weights + begin[j] + (from - first[j]), count);
                }
            }
            band[d * rows + j] = value;
        }
    }
}
