/* Running mean and standard error (Welford). */
#ifndef TU_STATISTICS_H
#define TU_STATISTICS_H

#include "numeric/elementary.h"

typedef struct {
    tu_real count;
    tu_real mean;
    tu_real squares; /* sum of squared deviations from the mean */
} tu_statistics;

TU_INLINE void tu_statistics_add(tu_statistics *s, tu_real value)
{
    tu_real off = value - s->mean;
    s->count += 1;
    s->mean += off / s->count;
    s->squares += off * (value - s->mean);
}

/* Standard error of the mean; 0 for fewer than two numbers. */
TU_INLINE tu_real tu_statistics_error(const tu_statistics *s)
{
    return s->count > 1 ? tu_sqrt(s->squares / (s->count - 1) / s->count) : 0;
}

#endif
