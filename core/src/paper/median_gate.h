/* The paper's acceptance test (eq. qgate): a window's misfit against the running median of recent windows. */
#ifndef TU_MEDIAN_GATE_H
#define TU_MEDIAN_GATE_H

#include "signal/gates.h"

typedef struct tu_median_gate tu_median_gate;

/* TU_ACCEPTED or TU_MISFIT. */
typedef int (*tu_median_gate_test)(tu_median_gate *gate, const tu_window *window, const tu_ring *ring,
                                   const tu_fit *fit, const tu_noise *noise, tu_real scale);

struct tu_median_gate {
    int channels;
    int kept;                   /* norms in `recent` */
    int next;                   /* slot written next */
    tu_real *recent;            /* channels x RECENT misfit norms, oldest overwritten */
    uint8_t *order;             /* channels x RECENT: their slots, the smallest first */
    tu_median_gate_test accept; /* tu_median_gate_accept, where it is used */
};

/* Memory only where it is `used`. */
void tu_median_gate_carve(tu_median_gate *gate, tu_arena *arena, int channels, int used);

/* Six medians of eleven residuals let a jump through at 5 % noise: the noise's own limit (sigma x scale) caps them. */
int tu_median_gate_accept(tu_median_gate *gate, const tu_window *window, const tu_ring *ring, const tu_fit *fit,
                          const tu_noise *noise, tu_real scale);

/* Whether the slots are those of so many norms, in some order: a saved state may be anything. */
int tu_median_gate_in_order(const tu_median_gate *gate, int kept, int next);

#endif
