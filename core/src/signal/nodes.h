/* Points of a window at which a field is evaluated, and their weights in the field filtered by the derivative rows. */
#ifndef TU_NODES_H
#define TU_NODES_H

#include "signal/window.h"

typedef struct {
    int count;
    int outputs;
    int orders;       /* number of derivative orders of states with respect to their channels, including 0 */
    int half;         /* > 0: nodes in the middle of every sampling interval of a window with this half width */
    tu_real *values;  /* else: orders x count x (poly + 1), coefficients to node values */
    int32_t *ticks;   /* else: ticks before the window's newest sample, for inputs held between samples */
    tu_real *weights; /* count x outputs: of node q in the target of a residual state */
} tu_nodes;

/* State of the weights' computation, which runs in slices. All 0 at the start. */
typedef struct {
    int output; /* output computed next */
    int done;   /* samples of its window added so far */
    tu_real moments[TU_MAX_NODES];
} tu_nodes_work;

/* Reserves `count` nodes; more than TU_MAX_NODES are possible only for intervals. */
void tu_nodes_carve(tu_nodes *nodes, tu_arena *arena, const tu_config *config, int count);

/* The window's centre only, as in the paper. */
void tu_nodes_centre(tu_nodes *nodes, const tu_window *window);

/* Gauss points, with weights that reproduce the effect of the derivative row on any polynomial of degree < count.
 * orders: derivative order of each output's state with respect to its channel.
 */
void tu_nodes_gauss(tu_nodes *nodes, const tu_window *window, int count, const int32_t *orders);

/* The middle of every sampling interval: exact for inputs that are constant or linear between samples. */
void tu_nodes_intervals(tu_nodes *nodes, const tu_window *window, const int32_t *orders);

/* Both in slices of at most 128 samples: call again while they return 1. */
int tu_nodes_gauss_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, int count,
                         const int32_t *orders);
int tu_nodes_intervals_slice(tu_nodes *nodes, tu_nodes_work *work, const tu_window *window, const int32_t *orders);

/* The row that maps coefficients to the polynomial's value, or time derivative, at one node; may be written to `buffer`
 * (poly + 1).
 */
const tu_real *tu_nodes_basis(const tu_nodes *nodes, const tu_window *window, int node, int order, tu_real *buffer);

TU_INLINE int tu_nodes_ticks(const tu_nodes *nodes, int node)
{
    return nodes->half ? 2 * nodes->half - node : nodes->ticks[node];
}

#endif
