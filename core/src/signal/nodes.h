/* Points of a window at which a field is evaluated, and its weights once filtered by the derivative rows. */
#ifndef TU_NODES_H
#define TU_NODES_H

#include "signal/window.h"

typedef struct {
    int count;
    int outputs;
    int orders;       /* derivatives that states are of their channels, 0 included */
    int half;         /* > 0: nodes in the middle of every sampling interval of a window with this half width */
    tu_real *values;  /* else: orders x count x (poly + 1), coefficients to node values */
    int32_t *ticks;   /* else: ticks before the window's newest sample, for inputs held between samples */
    tu_real *weights; /* count x outputs: of node q in the target of a residual state */
} tu_nodes;

/* Weights on their way: a long window's are made in slices. All 0 to begin with. */
typedef struct {
    int output; /* whose weights are next */
    int done;   /* samples of its window that are added up */
    tu_real moments[TU_MAX_NODES];
} tu_nodes_work;

/* Room for `count` nodes; more than TU_MAX_NODES can only be intervals. */
void tu_nodes_carve(tu_nodes *nodes, tu_arena *arena, const tu_config *config, int count);

/* The window's centre alone: the paper's matching. */
void tu_nodes_centre(tu_nodes *nodes, const tu_window *window);

/* Gauss points with weights that reproduce what the derivative row does to any polynomial of degree < count.
 * orders: of the derivative that each output's state is of its channel.
 */
void tu_nodes_gauss(tu_nodes *nodes, const tu_window *window, int count, const int32_t *orders);

/* The middle of every sampling interval: exact for inputs that are constant or linear between samples. */
void tu_nodes_intervals(tu_nodes *nodes, const tu_window *window, const int32_t *orders);

/* The same two in slices of at most 128 samples: while they return 1. */
int tu_nodes_gauss_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, int count,
                         const int32_t *orders);
int tu_nodes_intervals_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, const int32_t *orders);

/* Coefficients to the value, or time derivative, of the polynomial at one node; `buffer` (poly + 1) may hold it. */
const tu_real *tu_nodes_basis(const tu_nodes *nodes, const tu_window *window, int node, int order, tu_real *buffer);

TU_INLINE int tu_nodes_ticks(const tu_nodes *nodes, int node)
{
    return nodes->half ? 2 * nodes->half - node : nodes->ticks[node];
}

#endif
