/* Solves the library again, and subtracts its change from the stored targets of the network. */
#include "numeric/finite.h"
#include "regression/last_good.h"
#include "regression/targets.h"

enum { REMOVED_A_SLICE = 16 }; /* stored targets per slice */

/* Subtracts the library's change from one stored target. */
static void take_out_moved(tu_learner *l, tu_reservoir *store, uint32_t index)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    int columns = config->states + config->inputs, on = config->on_count;
    tu_real *share = l->targets.target;
    for (int i = 0; i < on; i++) {
        share[i] = 0;
    }
    for (int q = 0; q < nodes->count; q++) {
        tu_reservoir_gather(store, &index, 1, q * columns, columns, l->targets.node);
        for (int i = 0; i < columns; i++) {
            l->targets.node[i] *= l->setup.scales.x[i];
        }
        tu_targets_library_at(l, l->library.moved, nodes->weights + q * on, share);
    }
    for (int i = 0; i < on; i++) {
        share[i] = tu_finite(share[i]) ? -share[i] : 0;
    }
    tu_reservoir_add(store, index, nodes->count * columns, on, share);
}

/* Some entries of the reservoir, then of the holdout. Returns 0 after the last. */
static int take_out_slice(tu_learner *l)
{
    uint32_t first = tu_reservoir_count(&l->reservoir), all = first + tu_reservoir_count(&l->holdout);
    for (int i = 0; i < REMOVED_A_SLICE && l->job.index < all; i++, l->job.index++) {
        int held_back = l->job.index >= first;
        take_out_moved(l, held_back ? &l->holdout : &l->reservoir, l->job.index - (held_back ? first : 0));
    }
    return l->job.index < all;
}

void tu_targets_solve_begin(tu_learner *l)
{
    l->job.solve = l->library.columns ? TU_SOLVING : TU_SOLVED;
    l->job.index = 0;
    tu_library_solve_begin(&l->library_work);
}

/* After a solution: computes the change of the coefficients. Returns 1 if there is one. */
static int move_library(tu_library *library)
{
    int moved = 0;
    for (int j = 0; j < library->columns; j++) {
        library->moved[j] = library->coefficients[j] - library->moved[j];
        moved |= library->moved[j] != 0;
    }
    return moved;
}

int tu_targets_solve_slice(tu_learner *l)
{
    if (l->job.solve == TU_SOLVING) {
        int more = tu_library_solve_slice(&l->library, &l->library_work, l->config->forced, l->config->threshold);
        int moved = 0;
        if (more == 0) {
            tu_last_good_hold(l);
            moved = move_library(&l->library);
        }
        l->job.solve = more > 0 ? TU_SOLVING : moved ? TU_REMOVING : TU_SOLVED;
    } else if (l->job.solve == TU_REMOVING) {
        l->job.solve = take_out_slice(l) ? TU_REMOVING : TU_SOLVED;
    }
    return l->job.solve != TU_SOLVED;
}

void tu_targets_solve(tu_learner *l)
{
    tu_targets_solve_begin(l);
    while (tu_targets_solve_slice(l)) {
    }
}
