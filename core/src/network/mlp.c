#include "network/mlp.h"

#include "numeric/elementary.h"

static int whole_tiles(int rows) { return (rows + TU_ROWS - 1) / TU_ROWS * TU_ROWS; }

size_t tu_mlp_count(const tu_mlp *net)
{
    size_t count = 0;
    for (int l = 0; l < net->layers; l++) {
        count += (size_t)net->sizes[l + 1] * ((size_t)net->sizes[l] + 1);
    }
    return count;
}

size_t tu_mlp_offset(const tu_mlp *net, int layer)
{
    size_t units = 0;
    for (int l = 0; l < layer; l++) {
        units += (size_t)net->sizes[l];
    }
    return TU_BLOCK * units;
}

size_t tu_mlp_block(const tu_mlp *net) { return tu_mlp_offset(net, net->layers + 1); }

int tu_mlp_widest(const tu_mlp *net)
{
    int most = 0;
    for (int i = 0; i <= net->layers; i++) {
        most = net->sizes[i] > most ? net->sizes[i] : most;
    }
    return most;
}

void tu_mlp_init(const tu_mlp *net, tu_rng *rng, tu_real *params)
{
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real scale = (l == net->layers - 1 ? TU_R(0.1) : TU_R(1.0)) / tu_sqrt((tu_real)inputs);
        for (int i = 0; i < outputs * inputs; i++) {
            *params++ = scale * tu_rng_normal(rng);
        }
        for (int j = 0; j < outputs; j++) {
            *params++ = 0;
        }
    }
}

size_t tu_mlp_transposed(const tu_mlp *net) { return TU_FORWARD(tu_mlp_count(net), 0); }

const tu_real *tu_mlp_weights(const tu_mlp *net, const tu_real *params)
{
    tu_real *transposed = net->transposed;
    if (TU_FORWARD(0, 1)) {
        return params;
    }
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        for (int k = 0; k < inputs; k++) {
            for (int j = 0; j < outputs; j++) {
                transposed[k * outputs + j] = params[j * inputs + k];
            }
        }
        params += inputs * outputs;
        transposed += inputs * outputs;
        for (int j = 0; j < outputs; j++) {
            *transposed++ = *params++;
        }
    }
    return net->transposed;
}

void tu_mlp_pad(int rows, int units, tu_real *layer)
{
    for (int row = rows; row < whole_tiles(rows); row++) {
        for (int unit = 0; unit < units; unit++) {
            layer[row * TU_ROW_STEP(units) + unit * TU_UNIT_STEP] = 0;
        }
    }
}

void tu_mlp_forward(const tu_mlp *net, const tu_real *weights, int rows, tu_real *acts)
{
    rows = whole_tiles(rows);
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *out = acts + TU_BLOCK * inputs;
        if (l + 1 < net->layers) {
            tu_affine_tanh(acts, weights, rows, inputs, outputs, out);
        } else {
            tu_affine(acts, weights, rows, inputs, outputs, out);
        }
        weights += outputs * (inputs + 1);
        acts = out;
    }
}

const tu_real *tu_mlp_run(const tu_mlp *net, const tu_real *params, tu_real *in, tu_real *out)
{
    for (int layer = 0; layer < net->layers; layer++) {
        int inputs = net->sizes[layer], outputs = net->sizes[layer + 1];
        const tu_real *biases = params + inputs * outputs;
        for (int j = 0; j < outputs; j++) {
            tu_real sum = biases[j];
            for (int i = 0; i < inputs; i++) {
                sum += *params++ * in[i];
            }
            out[j] = layer + 1 < net->layers ? tu_tanh(sum) : sum;
        }
        params += outputs;
        tu_real *swap = in;
        in = out;
        out = swap;
    }
    return in;
}

void tu_mlp_jvp(const tu_mlp *net, const tu_real *weights, int rows, const tu_real *acts, tu_real *tans)
{
    rows = whole_tiles(rows);
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *out = tans + TU_BLOCK * inputs;
        acts += TU_BLOCK * inputs;
        if (l + 1 < net->layers) {
            tu_forward_slope(tans, weights, rows, inputs, outputs, acts, out);
        } else {
            tu_forward(tans, weights, rows, inputs, outputs, out);
        }
        weights += outputs * (inputs + 1);
        tans = out;
    }
}

void tu_mlp_backward(const tu_mlp *net, const tu_real *params, int rows, tu_real *acts, tu_real *bend, tu_real *grad)
{
    size_t last = tu_mlp_offset(net, net->layers), count = tu_mlp_count(net);
    tu_real *bar = acts + last;
    rows = whole_tiles(rows);
    bend = bend ? bend + last : NULL;
    params += count;
    grad += count;
    for (int l = net->layers - 1; l >= 0; l--) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *in = bar - TU_BLOCK * inputs;
        params -= outputs * (inputs + 1);
        grad -= outputs * (inputs + 1);
        tu_add_layer(bar, in, rows, outputs, inputs, grad);
        if (l > 0) {
            bend = bend ? bend - TU_BLOCK * inputs : NULL;
            tu_backward_slope(bar, params, rows, outputs, inputs, bend, in);
        }
        bar = in;
    }
}

void tu_mlp_jvp_backward(const tu_mlp *net, const tu_real *params, int rows, const tu_real *acts, tu_real *tans,
                         tu_real *bend, tu_real *grad)
{
    size_t last = tu_mlp_offset(net, net->layers), count = tu_mlp_count(net);
    tu_real *bar = tans + last;
    rows = whole_tiles(rows);
    acts += last;
    bend += last;
    params += count;
    grad += count;
    for (int l = net->layers - 1; l >= 0; l--) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *in = bar - TU_BLOCK * inputs;
        acts -= TU_BLOCK * inputs;
        bend -= TU_BLOCK * inputs;
        params -= outputs * (inputs + 1);
        grad -= outputs * (inputs + 1);
        tu_add_outer(bar, in, rows, outputs, inputs, grad);
        if (l > 0) {
            tu_backward_split(bar, params, rows, outputs, inputs, acts, bend, in);
        } else {
            tu_backward(bar, params, rows, outputs, inputs, in);
        }
        bar = in;
    }
}
