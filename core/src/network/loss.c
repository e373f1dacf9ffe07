#include "network/loss.h"

#include "numeric/elementary.h"

static int smaller(int a, int b) { return a < b ? a : b; }

size_t tu_loss_scratch(const tu_mlp *net, int block)
{
    size_t units = tu_mlp_block(net) / TU_BLOCK, outputs = (size_t)net->sizes[net->layers];
    return (size_t)block * (units + outputs);
}

/* Copies the network's inputs at the nodes of some windows to a layer of a block. */
static void gather_nodes(const tu_batch *batch, const tu_mlp *net, int windows, int nodes, tu_real *layer)
{
    const int inputs = net->sizes[0], step = TU_ROW_STEP(inputs), columns = tu_loss_columns(batch, net);
    const uint32_t *indices = batch->indices;
    for (int q = 0; q < nodes; q++, layer += step) {
        if (!batch->sees) {
            tu_reservoir_spread(batch->reservoir, indices, windows, q * columns, inputs, nodes * step, TU_UNIT_STEP,
                                layer);
        }
        for (int i = 0; i < inputs && batch->sees; i++) {
            tu_reservoir_spread(batch->reservoir, indices, windows, q * columns + batch->sees[i], 1, nodes * step, 1,
                                layer + i * TU_UNIT_STEP);
        }
    }
}

void tu_loss_gather(const tu_batch *batch, const tu_mlp *net, int windows, int nodes, tu_real *acts, tu_real *targets)
{
    gather_nodes(batch, net, windows, nodes, acts);
    tu_reservoir_gather(batch->reservoir, batch->indices, windows, nodes * tu_loss_columns(batch, net),
                        net->sizes[net->layers], targets);
    tu_mlp_pad(windows * nodes, net->sizes[0], acts);
}

/* residual (windows x outputs) -= network outputs; y, a layer, becomes their cotangent, -2/batch residual. */
static void match(int windows, int outputs, tu_real scale, tu_real *residual, tu_real *y)
{
    for (int run = 0; run < TU_RUNS(outputs); run++, y += TU_BLOCK) {
        tu_real *left = residual + run;
        for (int i = 0; i < TU_RUN(windows, outputs); i++, left += TU_RUNS(outputs)) {
            *left -= y[i];
            y[i] = scale * *left;
        }
    }
}

/* The same with several nodes per window: outputs are weighted and summed, cotangents weighted. */
static void match_nodes(const tu_real *weights, int windows, int nodes, int outputs, tu_real scale, tu_real *residual,
                        tu_real *y)
{
    const int step = TU_ROW_STEP(outputs);
    for (int w = 0; w < windows; w++) {
        for (int q = 0; q < nodes; q++) {
            for (int o = 0; o < outputs; o++) {
                residual[o] -= weights[q * outputs + o] * y[q * step + o * TU_UNIT_STEP];
            }
        }
        for (int q = 0; q < nodes; q++) {
            for (int o = 0; o < outputs; o++) {
                y[q * step + o * TU_UNIT_STEP] = scale * residual[o] * weights[q * outputs + o];
            }
        }
        residual += outputs;
        y += nodes * step;
    }
}

/* One block; weights in the layout of tu_mlp_forward. */
static int loss_block(const tu_mlp *net, const tu_real *params, const tu_real *forward, const tu_batch *batch,
                      int nodes, const tu_real *weights, tu_real *scratch, tu_real *grad, int first, tu_real *loss)
{
    int outputs = net->sizes[net->layers];
    int part = TU_CHIP_BLOCK / nodes; /* windows in a chip's block; losses are summed in such parts everywhere */
    int group = TU_BLOCK / TU_CHIP_BLOCK * part;
    int windows = smaller(group, batch->size - first), rows = windows * nodes;
    tu_real *acts = scratch;
    tu_real *residual = acts + tu_mlp_block(net);
    tu_real *answer = acts + tu_mlp_offset(net, net->layers);
    tu_real scale = TU_R(-2.0) / (tu_real)batch->size;
    if (first == 0) {
        tu_clear(grad, (int)tu_mlp_count(net));
        *loss = 0;
    }
    tu_reservoir_draw(batch->reservoir, windows, batch->rng, batch->indices);
    tu_loss_gather(batch, net, windows, nodes, acts, residual);
    tu_mlp_forward(net, forward, rows, acts);
    if (weights) {
        match_nodes(weights, windows, nodes, outputs, scale, residual, answer);
    } else {
        match(windows, outputs, scale, residual, answer);
    }
    tu_mlp_pad(rows, outputs, answer);
    tu_mlp_backward(net, params, rows, acts, NULL, grad);
    for (int from = 0; from < windows; from += part) {
        *loss += tu_sum_squares(residual + from * outputs, smaller(part, windows - from) * outputs);
    }
    return first + windows;
}

int tu_loss_first_slice(const tu_mlp *net, const tu_real *params, const tu_batch *batch, int nodes,
                        const tu_real *weights, tu_real *scratch, tu_real *grad, int first, tu_real *loss)
{
    return loss_block(net, params, tu_mlp_weights(net, params), batch, nodes, weights, scratch, grad, first, loss);
}

tu_real tu_loss_first(const tu_mlp *net, const tu_real *params, const tu_batch *batch, int nodes,
                      const tu_real *weights, tu_real *scratch, tu_real *grad)
{
    const tu_real *forward = tu_mlp_weights(net, params);
    tu_real loss = 0;
    for (int first = 0; first < batch->size;) {
        first = loss_block(net, params, forward, batch, nodes, weights, scratch, grad, first, &loss);
    }
    return loss / (tu_real)batch->size;
}
