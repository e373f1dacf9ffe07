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
    uint8_t *order;             /* channels x RECENT: slots in ascending order of norm */
    tu_median_gate_test accept; /* tu_median_gate_accept, if the gate is used */
};

/* Takes memory only if `used`. */
void tu_median_gate_carve(tu_median_gate *gate, tu_arena *arena, int channels, int used);

/* At 5 % noise, six medians of eleven residuals would accept a jump: the noise limit (sigma x scale) caps them. */
int tu_median_gate_accept(tu_median_gate *gate, const tu_window *window, const tu_ring *ring, const tu_fit *fit,
                          const tu_noise *noise, tu_real scale);

/* Whether `order` is a permutation of the `kept` slots: validates a saved state. */
int tu_median_gate_in_order(const tu_median_gate *gate, int kept, int next);

#endif
