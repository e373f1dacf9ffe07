/* Quantities derived from a configuration alone. */
#ifndef TU_CONFIG_H
#define TU_CONFIG_H

#include "network/mlp.h"

/* The network's layer sizes, input first. */
tu_mlp tu_config_net(const tu_config *config);

/* Library columns: parameters, then the terms of each residual state. */
int tu_config_columns(const tu_config *config);

/* Samples the ring must hold: the longest window. */
int tu_config_span(const tu_config *config);

/* Maximum number of nodes for the known physics in a window: every sampling interval if there are inputs. */
int tu_config_physics_nodes(const tu_config *config);

/* Whether the network is tested on held-out windows while streaming. */
int tu_config_watched(const tu_config *config);

/* Whether the last good model is kept while streaming: not with a network that sees a window at several nodes. */
int tu_config_keeps_good(const tu_config *config);

/* Columns of a reservoir entry: node states and inputs, remainders of the derivatives, second derivatives. */
int tu_config_width(const tu_config *config);

/* Whether a channel senses another's rate. */
int tu_config_fused(const tu_config *config);

#endif
