#include "network/last_layer.h"

#include "numeric/cholesky.h"
#include "numeric/elementary.h"
#include "numeric/finite.h"

#include <string.h>

enum { ROWS_A_SLICE = 2 };
/* After a change, only terms and last layer are learned for 1 / this of the schedule. */
enum { RELEARNING = 2 };
enum { MOST_TERMS = 8 }; /* maximum per residual state that are solved with its last layer */

/* Triangular factor R of the rows so far, by Givens rotations: normal equations would square the condition number, too
 * much for float. R is stored transposed and packed, as in cholesky.h.
 */
typedef struct {
    int count;      /* columns: the last hidden layer's units, 1 for the bias, terms */
    tu_real *lower; /* R' */
    tu_real *right; /* right-hand side of R change = right; then the change */
    tu_real *row;   /* the row to add */
} triangle;

size_t tu_last_layer_work(const tu_mlp *net)
{
    int count = net->sizes[net->layers - 1] + 1 + MOST_TERMS;
    return (size_t)(tu_packed(count) + 2 * count);
}

/* The model's coefficients before a change. */
static const tu_real *before(const tu_learner *l)
{
    return l->last_good.credit ? l->last_good.coefficients : l->library.coefficients;
}

/* Columns of that model's terms for a residual state. */
static int find_terms(const tu_learner *l, int output, int columns[MOST_TERMS])
{
    int count = 0;
    for (int k = 0; l && k < l->library.terms && count < MOST_TERMS; k++) {
        int column = tu_library_column(&l->library, output, l->library.parameters + k);
        columns[count] = column;
        count += before(l)[column] != 0;
    }
    return count;
}

static triangle place(const tu_mlp *net, int terms, tu_real *work)
{
    triangle t;
    t.count = net->sizes[net->layers - 1] + 1 + terms;
    t.lower = work;
    t.right = t.lower + tu_packed(t.count);
    t.row = t.right + t.count;
    return t;
}

/* Adds the row with its target; overwrites the row. */
static void add_row(const triangle *t, tu_real target)
{
    for (int j = 0; j < t->count; j++) {
        tu_real *diagonal = t->lower + tu_packed(j) + j;
        tu_real norm = tu_sqrt(*diagonal * *diagonal + t->row[j] * t->row[j]);
        if (!(norm > 0)) {
            continue;
        }
        tu_real cosine = *diagonal / norm, sine = t->row[j] / norm, right = t->right[j];
        *diagonal = norm;
        for (int k = j + 1; k < t->count; k++) {
            tu_real *above = t->lower + tu_packed(k) + j, before = *above;
            *above = cosine * before + sine * t->row[k];
            t->row[k] = cosine * t->row[k] - sine * before;
        }
        t->right[j] = cosine * right + sine * target;
        target = cosine * target - sine * right;
    }
}

/* Terms solved together with the last layer. */
typedef struct {
    tu_learner *learner;
    int count;
    int columns[MOST_TERMS]; /* of the library */
} rows_beside;

void tu_last_layer_terms(tu_learner *l, const tu_reservoir *store, uint32_t index, const tu_real *coefficients)
{
    const tu_config *config = l->config;
    const tu_nodes *nodes = &l->network_nodes;
    const int columns = config->states + config->inputs, on = config->on_count, terms = config->library_terms;
    const int width = config->parameters + terms;
    tu_real *node = l->targets.node, *design = l->targets.design;
    tu_clear(design, on * width);
    for (int q = 0; q < nodes->count; q++) {
        tu_reservoir_gather(store, &index, 1, q * columns, columns, node);
        for (int i = 0; i < columns; i++) {
            node[i] *= l->setup.scales.x[i];
        }
        l->known.terms(l->known.context, node, node + config->states, l->targets.terms);
        for (int i = 0; i < on; i++) {
            tu_real weight = nodes->weights[q * on + i] / l->setup.scales.dx[config->on[i]];
            for (int k = 0; k < terms; k++) {
                design[i * width + config->parameters + k] += weight * l->targets.terms[k];
            }
        }
    }
    for (int i = 0; i < on; i++) {
        for (int k = config->parameters; k < width; k++) {
            tu_real share = design[i * width + k] * coefficients[tu_library_column(&l->library, i, k)];
            design[i * width + k] = tu_usable(share) ? share : 0;
        }
    }
}

/* Contribution of these terms to a stored window. */
static void write_terms(const rows_beside *beside, uint32_t index, int output, tu_real *row)
{
    tu_learner *l = beside->learner;
    if (beside->count) {
        tu_last_layer_terms(l, &l->reservoir, index, before(l));
        const tu_real *shares = l->targets.design + output * (l->config->parameters + l->config->library_terms);
        for (int k = 0; k < beside->count; k++) {
            row[k] = shares[beside->columns[k] - output * l->config->library_terms];
        }
    }
}

/* The windows of one evaluated block, from entry `first` on: each gives one row, the hidden layer filtered by the
 * window, and its remaining target. Adds the targets' squares to `squares` one by one, so that the bits do not depend
 * on the slice size.
 */
static void add_windows(const tu_mlp *net, int windows, int nodes, const tu_real *weights, const tu_real *acts,
                        const tu_real *targets, const triangle *t, tu_layer *at, const rows_beside *beside)
{
    const int units = net->sizes[net->layers - 1], outputs = net->sizes[net->layers], output = at->output;
    const tu_real *hidden = acts + tu_mlp_offset(net, net->layers - 1);
    const tu_real *answer = acts + tu_mlp_offset(net, net->layers) + output * TU_UNIT_STEP;
    for (int w = 0; w < windows; w++) {
        tu_real left = targets[w * outputs + output];
        tu_clear(t->row, t->count);
        for (int q = 0; q < nodes; q++) {
            const int row = w * nodes + q;
            tu_real weight = weights[q * outputs + output];
            for (int k = 0; k < units; k++) {
                t->row[k] += weight * hidden[row * TU_ROW_STEP(units) + k * TU_UNIT_STEP];
            }
            t->row[units] += weight;
            left -= weight * answer[row * TU_ROW_STEP(outputs)];
        }
        write_terms(beside, at->next++, output, t->row + units + 1);
        at->squares += left * left;
        add_row(t, left);
    }
}

/* Moves an output's weights and bias by the solution, and the terms. */
static void apply(const triangle *t, int units, int outputs, int output, tu_real *last, const rows_beside *beside)
{
    tu_cholesky_backward(t->count, t->lower, t->right);
    for (int k = 0; k < units; k++) {
        last[output * units + k] += t->right[k];
    }
    last[outputs * units + output] += t->right[units];
    for (int k = 0; k < beside->count; k++) {
        int column = beside->columns[k];
        beside->learner->library.moved[column] = t->right[units + 1 + k] * before(beside->learner)[column];
    }
}

int tu_last_layer_solve_slice(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes,
                              const tu_real *weights, tu_real overlap, tu_real *scratch, tu_real *work, tu_layer *at,
                              tu_learner *beside)
{
    const int outputs = net->sizes[net->layers], units = net->sizes[net->layers - 1];
    rows_beside terms = {.learner = beside};
    terms.count = find_terms(beside, at->output, terms.columns);
    const triangle t = place(net, terms.count, work);
    const uint32_t count = tu_reservoir_count(batch->reservoir), all = count + (uint32_t)t.count;
    tu_real *targets = scratch + tu_mlp_block(net), *last = params + tu_mlp_count(net) - outputs * (units + 1);
    if (at->next == 0) {
        at->squares = 0;
        tu_clear(work, tu_packed(t.count) + t.count);
    }
    if (at->next < count) {
        uint32_t most = TU_BLOCK / nodes < ROWS_A_SLICE ? 1 : ROWS_A_SLICE; /* as many as a block holds */
        int windows = (int)(count - at->next < most ? count - at->next : most);
        for (int w = 0; w < windows; w++) {
            batch->indices[w] = at->next + (uint32_t)w;
        }
        tu_loss_gather(batch, net, windows, nodes, scratch, targets);
        tu_mlp_forward(net, tu_mlp_weights(net, params), windows * nodes, scratch);
        add_windows(net, windows, nodes, weights, scratch, targets, &t, at, &terms);
        return 1;
    }
    tu_real ridge = tu_sqrt(overlap * at->squares / (tu_real)count);
    int solvable = ridge > 0 && tu_usable(ridge);
    for (int i = 0; solvable && i < ROWS_A_SLICE && at->next < all; i++) { /* penalty on the change of each weight */
        tu_clear(t.row, t.count);
        t.row[at->next++ - count] = ridge;
        add_row(&t, 0);
    }
    if (solvable && at->next < all) {
        return 1;
    }
    if (solvable) {
        apply(&t, units, outputs, at->output, last, &terms);
    }
    at->next = 0; /* the next output begins */
    at->output = at->output + 1 < outputs ? at->output + 1 : 0;
    return at->output > 0;
}

void tu_last_layer_solve(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes, const tu_real *weights,
                         tu_real overlap, tu_real *scratch, tu_real *work)
{
    tu_layer at = {0, 0, 0};
    while (tu_last_layer_solve_slice(net, params, batch, nodes, weights, overlap, scratch, work, &at, NULL)) {
    }
}

/* Whether there is a last layer to solve, and enough data. */
static int is_solvable(const tu_learner *l)
{
    const tu_config *config = l->config;
    int enough = tu_reservoir_count(&l->reservoir) >= (uint32_t)config->batch;
    return config->last_layer && config->hidden_count && enough && !(l->setup.second_order > 0);
}

/* Number of windows that start within half a window's length: their noise is nearly the same. After training on a whole
 * record, every window counts.
 */
static tu_real overlap_of(const tu_learner *l)
{
    if (!l->config->judged) {
        return 1;
    }
    return tu_larger(1, (tu_real)tu_window_reach(&l->setup.window) / (tu_real)l->config->stride);
}

static int solve_slice(tu_learner *l, tu_layer *at, tu_learner *beside)
{
    const tu_config *config = l->config;
    tu_batch all = {&l->reservoir, &l->rng, l->indices, config->batch, config->states + config->inputs, config->sees};
    return tu_last_layer_solve_slice(&l->net, l->average, &all, config->network_nodes, l->network_nodes.weights,
                                     overlap_of(l), l->loss_scratch, l->grad, at, beside);
}

void tu_last_layer_finish(tu_learner *l)
{
    tu_layer at = {0, 0, 0};
    while (is_solvable(l) && solve_slice(l, &at, NULL)) {
    }
}

int tu_last_layer_relearns(const tu_learner *l)
{
    int early = l->counters.changes && l->since_change < (uint32_t)l->config->updates / RELEARNING;
    return early && tu_any(l->network_on, l->config->on_count) && is_solvable(l);
}

int tu_last_layer_relearn_slice(tu_learner *l)
{
    tu_layer *at = &l->watch.layer;
    if (at->next == 0 && at->output == 0) {
        tu_clear(l->library.moved, l->library.columns);
        if (!tu_last_layer_relearns(l)) {
            return 0;
        }
        const tu_real *weights = l->last_good.credit ? l->last_good.weights : l->good;
        memcpy(l->average, weights, (size_t)l->adam.count * sizeof *weights);
    }
    return solve_slice(l, at, l);
}
