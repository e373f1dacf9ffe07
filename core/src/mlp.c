#include "mlp.h"

#include "elementary.h"

/* Passes over one run of a layer; counts are multiples of TU_ROWS. */

static void add(int count, const tu_real *terms, tu_real *sums)
{
    for (int i = 0; i < count; i += TU_ROWS) {
        TU_LANES
        for (int lane = i; lane < i + TU_ROWS; lane++) {
            sums[lane] += terms[lane];
        }
    }
}

/* Through tan = s tanh'(z): from bend = tan_bar, tan becomes s_bar = tan_bar tanh' and bend its share of z_bar,
 * tan_bar s tanh'' = -2 h tan tan_bar.
 */
static void split(int count, const tu_real *acts, tu_real *tan, tu_real *bend)
{
    for (int i = 0; i < count; i += TU_ROWS) {
        TU_LANES
        for (int lane = i; lane < i + TU_ROWS; lane++) {
            tu_real tan_bar = bend[lane], h = acts[lane];
            bend[lane] = -2 * h * tan[lane] * tan_bar;
            tan[lane] = tan_bar * (1 - h * h);
        }
    }
}

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

void tu_mlp_transpose(const tu_mlp *net, const tu_real *params, tu_real *transposed)
{
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        for (int j = 0; j < outputs; j++) {
            tu_real *column = transposed + j;
            for (const tu_real *end = params + inputs; params != end; column += outputs) {
                *column = *params++;
            }
        }
        transposed += inputs * outputs;
        for (int j = 0; j < outputs; j++) {
            *transposed++ = *params++;
        }
    }
}

void tu_mlp_pad(int rows, int units, tu_real *layer)
{
    for (int row = rows; row < whole_tiles(rows); row++) {
        for (int unit = 0; unit < units; unit++) {
            layer[row * TU_ROW_STEP(units) + unit * TU_UNIT_STEP] = 0;
        }
    }
}

void tu_mlp_forward(const tu_mlp *net, const tu_real *transposed, int rows, tu_real *acts)
{
    rows = whole_tiles(rows);
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *out = acts + TU_BLOCK * inputs;
        const tu_real *bias = transposed + outputs * inputs;
        if (l + 1 < net->layers) {
            tu_affine_tanh(acts, transposed, bias, rows, inputs, outputs, out);
        } else {
            tu_affine(acts, transposed, bias, rows, inputs, outputs, out);
        }
        transposed += outputs * (inputs + 1);
        acts = out;
    }
}

void tu_mlp_jvp(const tu_mlp *net, const tu_real *transposed, int rows, const tu_real *acts, tu_real *tans)
{
    rows = whole_tiles(rows);
    for (int l = 0; l < net->layers; l++) {
        int inputs = net->sizes[l], outputs = net->sizes[l + 1];
        tu_real *out = tans + TU_BLOCK * inputs;
        acts += TU_BLOCK * inputs;
        if (l + 1 < net->layers) {
            tu_linear_slope(tans, transposed, rows, inputs, outputs, acts, out);
        } else {
            tu_linear(tans, transposed, rows, inputs, outputs, out);
        }
        transposed += outputs * (inputs + 1);
        tans = out;
    }
}

void tu_mlp_backward(const tu_mlp *net, const tu_real *params, int rows, tu_real *acts, const tu_real *bend,
                     tu_real *grad)
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
            tu_linear_slope(bar, params, rows, outputs, inputs, in, in);
        }
        if (l > 0 && bend) {
            bend -= TU_BLOCK * inputs;
            for (int at = 0; at < TU_RUNS(inputs) * TU_BLOCK; at += TU_BLOCK) {
                add(TU_RUN(rows, inputs), bend + at, in + at);
            }
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
        tu_linear(bar, params, rows, outputs, inputs, l > 0 ? bend : in);
        for (int at = 0; l > 0 && at < TU_RUNS(inputs) * TU_BLOCK; at += TU_BLOCK) {
            split(TU_RUN(rows, inputs), acts + at, in + at, bend + at);
        }
        bar = in;
    }
}
