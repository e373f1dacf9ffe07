#include "regression/targets.h"

#include "config.h"
#include "network/network_part.h"
#include "numeric/elementary.h"
#include "numeric/finite.h"
#include "regression/last_good.h"

enum { HOLDOUT_EVERY = 8 }; /* one block in this many is held out */
enum { PARTS = 4 };         /* parts of a block; each is one observation in the tests of the network and of a change */
enum { TAGS = 32768 };      /* parts that a compact entry can distinguish */
enum { NODES_A_SLICE = 8 }; /* of a window's physics; with a frozen network in it, one */
enum { SOLVE_EVERY = 8 };   /* blocks between two solutions of the library */

/* An input in the middle of a sampling interval; for other nodes, at the last sample up to the node. */
static tu_real input_at(const tu_learner *l, int input, const tu_nodes *nodes, int q)
{
    int column = l->config->channels + input, oldest = l->ring.span - 1;
    int back = tu_nodes_ticks(nodes, q) - l->config->shift[input];
    back = back < 0 ? 0 : back > oldest ? oldest : back;
    tu_real value = tu_ring_at(&l->ring, column, back);
    int linear = l->config->linear[input] && nodes->half && back > 0;
    return linear ? TU_R(0.5) * (value + tu_ring_at(&l->ring, column, back - 1)) : value;
}

/* States from the window's polynomial and inputs from the ring, at one node. */
static void node_at(tu_learner *l, const tu_nodes *nodes, int q)
{
    const tu_config *config = l->config;
    const tu_window *window = &l->setup.window;
    tu_real buffer[TU_MAX_POLY + 1];
    const tu_real *basis = NULL;
    for (int i = 0; i < config->states; i++) {
        const tu_real *coefficients = l->targets.fit.coefficients + config->channel[i] * (window->poly + 1);
        tu_real value = 0;
        if (i == 0 || config->order[i] != config->order[i - 1]) {
            basis = tu_nodes_basis(nodes, window, q, config->order[i], buffer);
        }
        for (int j = 0; j <= window->poly; j++) {
            value += basis[j] * coefficients[j];
        }
        l->targets.node[i] = value;
    }
    for (int i = 0; i < config->inputs; i++) {
        l->targets.node[config->states + i] = input_at(l, i, nodes, q);
    }
}

/* A state's time derivative at the window's centre. */
static tu_real derivative_of(const tu_learner *l, int state, int derivative)
{
    const tu_window *window = &l->setup.window;
    const tu_real *coefficients = l->targets.fit.coefficients + l->config->channel[state] * (window->poly + 1);
    return tu_window_at(window, coefficients, 0, l->config->order[state] + derivative);
}

/* The library's terms and sensitivities at the node; design_row makes rows of them. */
static void evaluate_library(tu_learner *l)
{
    const tu_real *x = l->targets.node, *u = x + l->config->states;
    if (l->config->parameters) {
        l->known.sensitivity(l->known.context, x, u, l->targets.sensitivity);
    }
    if (l->config->library_terms) {
        l->known.terms(l->known.context, x, u, l->targets.terms);
    }
}

/* One residual state's row, in units of its scale: parameters first, then its own terms. */
static const tu_real *design_row(tu_learner *l, int output)
{
    int parameters = l->config->parameters;
    tu_real unit = l->setup.scales.dx[l->config->on[output]];
    for (int k = 0; k < parameters; k++) {
        l->targets.row[k] = l->targets.sensitivity[output * parameters + k] / unit;
    }
    for (int k = 0; k < l->config->library_terms; k++) {
        l->targets.row[parameters + k] = l->targets.terms[k] / unit;
    }
    return l->targets.row;
}

void tu_targets_library_at(tu_learner *l, const tu_real *coefficients, const tu_real *weights, tu_real *out)
{
    evaluate_library(l);
    for (int i = 0; i < l->config->on_count; i++) {
        out[i] += weights[i] * tu_library_dot(&l->library, i, design_row(l, i), coefficients);
    }
}

/* Adds a node's contribution to the window's target and design. */
static void add_node(tu_learner *l, int q)
{
    const tu_config *config = l->config;
    tu_targets *targets = &l->targets;
    int on = config->on_count, width = config->parameters + config->library_terms;
    const tu_real *weights = l->physics_nodes.weights + q * on;
    node_at(l, &l->physics_nodes, q);
    l->known.field(l->known.context, targets->node, targets->node + config->states, targets->field);
    evaluate_library(l);
    for (int i = 0; i < on; i++) {
        targets->target[i] += weights[i] * targets->field[config->on[i]];
        const tu_real *row = width ? design_row(l, i) : NULL;
        for (int k = 0; k < width; k++) {
            targets->design[i * width + k] += weights[i] * row[k];
        }
    }
}

void tu_targets_filter_begin(tu_learner *l)
{
    const tu_config *config = l->config;
    tu_clear(l->targets.target, config->on_count);
    tu_clear(l->targets.design, config->on_count * (config->parameters + config->library_terms));
    l->job.node = 0;
}

int tu_targets_filter_slice(tu_learner *l)
{
    const tu_config *config = l->config;
    int most = l->known.outside ? 1 : NODES_A_SLICE;
    for (int i = 0; i < most && l->job.node < l->physics_nodes.count; i++) {
        add_node(l, l->job.node++);
    }
    if (l->job.node < l->physics_nodes.count) {
        return 1;
    }
    for (int i = 0; i < config->on_count; i++) {
        int state = config->on[i];
        l->targets.target[i] = (derivative_of(l, state, 1) - l->targets.target[i]) / l->setup.scales.dx[state];
    }
    return 0;
}

/* Writes an entry: scaled nodes, the target's remainder after the library, second derivatives, the block's tag. Returns
 * its length.
 */
static int write_entry(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    int columns = config->states + config->inputs, on = config->on_count;
    tu_real *entry = l->targets.entry, *rest = entry + nodes->count * columns, *end = rest + on;
    int known = l->physics_nodes.count == nodes->count; /* the same nodes: the design holds their library */
    for (int i = 0; i < on; i++) {
        const tu_real *row = l->targets.design + i * (config->parameters + config->library_terms);
        rest[i] = known ? tu_library_dot(&l->library, i, row, l->library.coefficients) : 0;
    }
    for (int q = 0; q < nodes->count; q++) {
        node_at(l, nodes, q);
        if (l->library.columns && !known) {
            tu_targets_library_at(l, l->library.coefficients, nodes->weights + q * on, rest);
        }
        for (int i = 0; i < columns; i++) {
            *entry++ = l->targets.node[i] / l->setup.scales.x[i];
        }
    }
    for (int i = 0; i < on; i++) {
        rest[i] = l->targets.target[i] - rest[i];
    }
    for (int i = 0; config->second_order > 0 && i < config->states; i++) {
        *end++ = derivative_of(l, i, 2);
    }
    uint32_t part = PARTS * (uint32_t)l->library.windows / (uint32_t)config->block;
    *end = (tu_real)((l->library.blocks / HOLDOUT_EVERY * PARTS + part) % TAGS);
    return (int)(end - l->targets.entry);
}

static int all_usable(const tu_real *values, int count)
{
    int usable = 1;
    for (int i = 0; i < count; i++) {
        usable &= tu_usable(values[i]);
    }
    return usable;
}

void tu_targets_forget(tu_learner *l)
{
    tu_library_clear(&l->library);
    tu_change_clear(&l->change);
    tu_reservoir_clear(&l->reservoir);
    tu_reservoir_clear(&l->holdout);
    l->rate = l->config->rate;
}

/* After a change of the dynamics: discards the data, keeps the model until there is a better one. */
static void start_over(tu_learner *l)
{
    l->counters.changed_at[l->counters.changes++ % TU_MAX_CHANGES] = l->tick;
    tu_targets_forget(l);
    l->since_change = 0;
}

/* Closes a full block of windows: solves the library every SOLVE_EVERY blocks, starts over after a change. */
static void count_block(tu_learner *l)
{
    tu_library *library = &l->library;
    int trial = l->change.trial, part = l->config->block < PARTS ? 1 : l->config->block / PARTS;
    if (library->windows % part == 0) {
        tu_change_end_part(&l->change);
    }
    if (library->windows < l->config->block) {
        return;
    }
    tu_library_end_block(library, l->config->forget);
    int changed = tu_change_end_block(&l->change, library->solved);
    if (l->change.settled && l->config->reservoir) {
        tu_reservoir_settle(&l->reservoir);
    }
    if (changed && l->config->follow) {
        start_over(l);
    } else if (tu_last_good_end_block(l)) {
        l->job.go_back = 1;
    } else if (!l->change.trial && (trial || library->blocks % SOLVE_EVERY == 0)) {
        tu_targets_solve_begin(l);
        if (l->known.network) {
            l->known.network->solve(l);
        }
    }
}

/* In a trial: compares the model's remainders of the window and its stored neighbour. Returns 0 if there is none. */
static int compare_with_stored(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    int rest = config->network_nodes * (config->states + config->inputs);
    tu_real *difference = l->job.search.nearest ? targets->node : NULL;
    if (difference) {
        uint32_t nearest = l->job.search.nearest - 1;
        tu_reservoir_gather(&l->reservoir, &nearest, 1, rest, config->on_count, difference);
        for (int i = 0; i < config->on_count; i++) {
            difference[i] = targets->entry[rest + i] - difference[i];
        }
        if (l->known.network) {
            l->known.network->compare(l, nearest, difference);
        }
    }
    tu_change_compare(&l->change, &l->library, targets->design, targets->target, difference);
    return difference != NULL;
}

/* Stores the window to train the network, or in every eighth block to test it. */
static void store(tu_learner *l)
{
    if (l->config->holdout && l->library.blocks % HOLDOUT_EVERY == HOLDOUT_EVERY - 1) {
        tu_reservoir_offer(&l->holdout, l->targets.entry, &l->rng);
    } else if (l->config->reservoir) {
        tu_reservoir_offer(&l->reservoir, l->targets.entry, &l->rng);
    }
}

/* A network that is on counts as known physics for the library. */
static void add_to_library(tu_learner *l)
{
    const tu_targets *targets = &l->targets;
    if (l->library.columns) {
        tu_change_add(&l->change, &l->library, targets->design, targets->left);
        tu_library_add(&l->library, targets->design, targets->left, targets->target);
    } else {
        l->library.windows++;
    }
    tu_last_good_add(l);
    count_block(l);
}

int tu_targets_add(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    int length = write_entry(l);
    int width = config->on_count * (config->parameters + config->library_terms);
    tu_real outside = 0;
    if (!all_usable(targets->design, width) || !all_usable(targets->target, config->on_count) ||
        !all_usable(targets->entry, length)) {
        return TU_NONFINITE;
    }
    if (l->known.outside) {
        l->known.outside(l->known.context, targets->node, targets->node + config->states, &outside);
    }
    if (outside > 0) {
        return TU_OUTSIDE;
    }
    if (l->known.network) {
        l->known.network->leave(l);
    }
    if (l->change.trial) {
        const tu_search nothing = {0, 0, 0};
        l->job.search = nothing;
        l->job.compare = 1;
    } else {
        store(l);
        add_to_library(l);
    }
    return TU_ACCEPTED;
}

int tu_targets_compare_slice(tu_learner *l)
{
    const tu_targets *targets = &l->targets;
    int columns = l->config->states + l->config->inputs,
        first = l->config->network_nodes / 2 * columns; /* the middle */
    if (tu_change_nearest_slice(&l->job.search, &l->reservoir, targets->entry + first, first, columns, l->config,
                                targets->node)) {
        return 1;
    }
    if (!compare_with_stored(l)) {
        store(l);
    }
    add_to_library(l);
    return 0;
}

void tu_targets_add_prior(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_targets *targets = &l->targets;
    int width = config->parameters + config->library_terms;
    evaluate_library(l);
    for (int i = 0; i < config->on_count; i++) {
        const tu_real *row = design_row(l, i);
        for (int k = 0; k < width; k++) {
            targets->design[i * width + k] = row[k];
        }
        targets->target[i] = tu_library_dot(&l->library, i, row, l->library.coefficients);
    }
    if (all_usable(targets->design, config->on_count * width) && all_usable(targets->target, config->on_count)) {
        tu_library_add(&l->library, targets->design, targets->target, targets->target);
    }
}
