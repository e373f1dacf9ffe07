#include "network/last_layer.h"

#include "numeric/cholesky.h"
#include "numeric/elementary.h"
#include "numeric/finite.h"

/* The rows so far as a triangle, by Givens rotations: the squared condition number of normal equations is too much for
 * float. R is kept transposed and packed, as cholesky.h solves it.
 */
typedef struct {
    int count;       /* columns: the last hidden layer's units, and 1 for the bias */
    tu_real *lower;  /* R' */
    tu_real *right;  /* what R times the change must be; then the change */
    tu_real *row;    /* the one to be added */
    tu_real squares; /* of the targets added */
} triangle;

size_t tu_last_layer_work(const tu_mlp *net)
{
    int count = net->sizes[net->layers - 1] + 1;
    return (size_t)(tu_packed(count) + 2 * count);
}

static triangle place(const tu_mlp *net, tu_real *work)
{
    triangle t;
    t.count = net->sizes[net->layers - 1] + 1;
    t.lower = work;
    t.right = t.lower + tu_packed(t.count);
    t.row = t.right + t.count;
    t.squares = 0;
    tu_clear(work, tu_packed(t.count) + t.count);
    return t;
}

/* Adds the row, which is used up, with its target. */
static void add_row(triangle *t, tu_real target)
{
    t->squares += target * target;
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

/* One row for every weight, which pulls it back to where training left it. */
static void add_ridge(triangle *t, tu_real ridge)
{
    for (int i = 0; i < t->count; i++) {
        tu_clear(t->row, t->count);
        t->row[i] = ridge;
        add_row(t, 0);
    }
}

/* The windows of one evaluated block: each a row of the hidden layer as the window filters it, with the target left. */
static void add_windows(const tu_mlp *net, int windows, int nodes, const tu_real *weights, int output,
                        const tu_real *acts, const tu_real *targets, triangle *t)
{
    const int units = t->count - 1, outputs = net->sizes[net->layers];
    const tu_real *hidden = acts + tu_mlp_offset(net, net->layers - 1);
    const tu_real *answer = acts + tu_mlp_offset(net, net->layers) + output * TU_UNIT_STEP;
    for (int w = 0; w < windows; w++) {
        tu_real left = targets[w * outputs + output];
        tu_clear(t->row, t->count);
        for (int q = 0; q < nodes; q++) {
            const int at = w * nodes + q;
            tu_real weight = weights[q * outputs + output];
            for (int k = 0; k < units; k++) {
                t->row[k] += weight * hidden[at * TU_ROW_STEP(units) + k * TU_UNIT_STEP];
            }
            t->row[units] += weight;
            left -= weight * answer[at * TU_ROW_STEP(outputs)];
        }
        add_row(t, left);
    }
}

void tu_last_layer_solve(const tu_mlp *net, tu_real *params, const tu_batch *batch, int nodes, const tu_real *weights,
                         tu_real *scratch, tu_real *work)
{
    const int outputs = net->sizes[net->layers], units = net->sizes[net->layers - 1], group = TU_BLOCK / nodes;
    const tu_real *forward = tu_mlp_weights(net, params);
    const uint32_t count = tu_reservoir_count(batch->reservoir);
    tu_real *targets = scratch + tu_mlp_block(net), *last = params + tu_mlp_count(net) - outputs * (units + 1);
    for (int output = 0; output < outputs; output++) {
        triangle t = place(net, work);
        for (uint32_t first = 0; first < count; first += (uint32_t)group) {
            int windows = count - first < (uint32_t)group ? (int)(count - first) : group;
            for (int w = 0; w < windows; w++) {
                batch->indices[w] = first + (uint32_t)w;
            }
            tu_loss_gather(batch, net, windows, nodes, scratch, targets);
            tu_mlp_forward(net, forward, windows * nodes, scratch);
            add_windows(net, windows, nodes, weights, output, scratch, targets, &t);
        }
        tu_real ridge = tu_sqrt(t.squares / (tu_real)count);
        if (ridge > 0 && tu_usable(ridge)) {
            add_ridge(&t, ridge);
            tu_cholesky_backward(t.count, t.lower, t.right);
            for (int k = 0; k < units; k++) {
                last[output * units + k] += t.right[k];
            }
            last[outputs * units + output] += t.right[units];
        }
    }
}

void tu_last_layer_finish(tu_learner *l)
{
    const tu_config *config = l->config;
    tu_batch all = {&l->reservoir, &l->rng, l->indices, config->batch, config->states + config->inputs, config->sees};
    int enough = tu_reservoir_count(&l->reservoir) >= (uint32_t)config->batch;
    if (config->last_layer && config->hidden_count && enough && !(l->setup.second_order > 0)) {
        tu_last_layer_solve(&l->net, l->average, &all, config->network_nodes, l->network_nodes.weights, l->loss_scratch,
                            l->grad);
    }
}
