/* The model for predictions and for the link: one array of numbers, in two copies, so that a reader never sees a partly
 * written model.
 *
 *     window_half, window_spacing, sigma_scale, x_scale [states], u_scale [inputs], dx_scale [states],
 *     network_on [on], coefficients [columns], errors [columns], weights [parameters of the network]
 */
#ifndef TU_SNAPSHOT_H
#define TU_SNAPSHOT_H

#include "network/mlp.h"
#include "numeric/arena.h"

enum { TU_SNAPSHOT_SCALES = 3 }; /* offset of x_scale, u_scale and dx_scale */

typedef struct {
    const tu_config *config;
    const tu_known *known;
    tu_mlp net;
    int count; /* numbers in a model */
    int columns;
    tu_real *models[2];
    tu_real *work;           /* working memory of a prediction */
    volatile uint32_t whole; /* models published; the newest is models[whole % 2], none at 0 */
    volatile uint32_t begun; /* models begun */
} tu_snapshot;

void tu_snapshot_carve(tu_snapshot *snapshot, tu_arena *arena, const tu_config *config);

/* Returns where to write the next model; readers use the other copy until it is published. */
tu_real *tu_snapshot_begin(tu_snapshot *snapshot);

void tu_snapshot_publish(tu_snapshot *snapshot);

/* The newest model; NULL: none yet. */
const tu_real *tu_snapshot_model(const tu_snapshot *snapshot);

/* Writes the numbers of a calibrated learner's model. */
void tu_snapshot_write(const tu_snapshot *snapshot, const tu_view *view, tu_real *model);

/* Reads the same numbers into a model that a learner can start from; network_on [on] is the caller's memory. */
void tu_snapshot_read(const tu_snapshot *snapshot, const tu_real *model, int32_t *network_on, tu_model *read);

/* N(x, u) of the newest published model; same bits as tu_learner_residual. */
int tu_snapshot_residual(tu_snapshot *snapshot, const tu_real *x, const tu_real *u, tu_real *residual);

#endif
