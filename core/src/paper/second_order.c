#include "paper/second_order.h"

#include "numeric/elementary.h"

size_t tu_second_order_scratch(const tu_mlp *net, int block)
{
    size_t rows = (size_t)block, units = tu_mlp_block(net) / TU_BLOCK, outputs = (size_t)net->sizes[net->layers];
    size_t known = 2 * outputs + TU_MAX_INPUTS + rows * outputs * outputs; /* a node, a field, Jacobians */
    return rows * (3 * units + 2 * outputs) + known;
}

static int smaller(int a, int b) { return a < b ? a : b; }

/* The working memory of one block of tu_second_order_loss. */
typedef struct {
    tu_real *acts, *tans, *bend;
    tu_real *r1, *r2;   /* targets, then residuals (rows x n) */
    tu_real *node;      /* n states, then inputs */
    tu_real *field;     /* n */
    tu_real *jacobians; /* rows x n x n */
} block;

static block place_block(const tu_mlp *net, tu_real *memory)
{
    size_t size = tu_mlp_block(net), n = (size_t)net->sizes[0];
    block b;
    b.acts = memory;
    b.tans = b.acts + size;
    b.bend = b.tans + size;
    b.r1 = b.bend + size;
    b.r2 = b.r1 + TU_BLOCK * n;
    b.node = b.r2 + TU_BLOCK * n;
    b.field = b.node + n + TU_MAX_INPUTS;
    b.jacobians = b.field + n;
    return b;
}

/* For one sample; x, answer, v, tan, v_bar and y are rows of a layer. */

/* r1 -= N; r2 (ddx_hat) -= J_known F; v = F / x_scale, with F = f_known + s1 N. */
static void known_part(const tu_second_order *second, int n, const tu_real *x, const tu_real *answer, tu_real *node,
                       tu_real *field, tu_real *jacobian, tu_real *r1, tu_real *r2, tu_real *v)
{
    for (int i = 0; i < n; i++) {
        node[i] = x[i * TU_UNIT_STEP] * second->x_scale[i];
        r1[i] -= answer[i * TU_UNIT_STEP];
    }
    second->known(second->context, node, field, jacobian);
    for (int i = 0; i < n; i++) {
        field[i] += second->s1[i] * answer[i * TU_UNIT_STEP];
        v[i * TU_UNIT_STEP] = field[i] / second->x_scale[i];
    }
    for (int i = 0; i < n; i++) {
        tu_real lie = 0;
        for (int j = 0; j < n; j++) {
            lie += jacobian[i * n + j] * field[j];
        }
        r2[i] -= lie;
    }
}

/* |(ddx_hat - J_F F) / s2|^2; r2 becomes the cotangent of J_F F, tan (J_N v) its own. */
static tu_real lie_part(const tu_second_order *second, int n, tu_real scale, tu_real *r2, tu_real *tan)
{
    tu_real total = 0;
    for (int i = 0; i < n; i++) {
        tu_real residual = (r2[i] - second->s1[i] * tan[i * TU_UNIT_STEP]) / second->s2[i];
        total += residual * residual;
        r2[i] = scale * second->weight * residual / second->s2[i];
        tan[i * TU_UNIT_STEP] = second->s1[i] * r2[i];
    }
    return total;
}

/* y becomes the cotangent of N, directly and through F. */
static void flow_part(const tu_second_order *second, int n, tu_real scale, const tu_real *jacobian, const tu_real *r1,
                      const tu_real *lie_bar, const tu_real *v_bar, tu_real *y)
{
    for (int j = 0; j < n; j++) {
        tu_real flow_bar = v_bar[j * TU_UNIT_STEP] / second->x_scale[j];
        for (int i = 0; i < n; i++) {
            flow_bar += jacobian[i * n + j] * lie_bar[i];
        }
        y[j * TU_UNIT_STEP] = scale * r1[j] + second->s1[j] * flow_bar;
    }
}

/* The inputs of one entry's node, in physical units; `entry` counts within the block. */
static void known_inputs(const tu_batch *batch, int entry, int n, const tu_real *scale, tu_real *node)
{
    int columns = batch->sees ? batch->columns : n;
    if (columns > n) {
        tu_reservoir_gather(batch->reservoir, batch->indices + entry, 1, n, columns - n, node + n);
    }
    for (int i = n; i < columns; i++) {
        node[i] *= scale[i];
    }
}

/* Loss (times the batch) and gradient of one gathered block. */
static tu_real block_second(const tu_mlp *net, const tu_real *params, const tu_real *forward, const tu_batch *batch,
                            const tu_second_order *second, int rows, const block *b, tu_real *grad)
{
    int n = net->sizes[0];
    tu_real scale = TU_R(-2.0) / (tu_real)batch->size, loss2 = 0;
    size_t last = tu_mlp_offset(net, net->layers);
    tu_real *answer = b->acts + last, *tan = b->tans + last;

    tu_mlp_pad(rows, n, b->acts);
    tu_mlp_forward(net, forward, rows, b->acts);
    for (int row = 0, at = 0; row < rows; row++, at += n) {
        known_inputs(batch, row, n, second->x_scale, b->node);
        int start = row * TU_ROW_STEP(n);
        known_part(second, n, b->acts + start, answer + start, b->node, b->field, b->jacobians + at * n, b->r1 + at,
                   b->r2 + at, b->tans + start);
    }
    tu_mlp_pad(rows, n, b->tans);
    tu_mlp_jvp(net, forward, rows, b->acts, b->tans);
    for (int row = 0; row < rows; row++) {
        loss2 += lie_part(second, n, scale, b->r2 + row * n, tan + row * TU_ROW_STEP(n));
    }
    tu_mlp_pad(rows, n, tan);
    tu_mlp_jvp_backward(net, params, rows, b->acts, b->tans, b->bend, grad);
    for (int row = 0, at = 0; row < rows; row++, at += n) {
        int start = row * TU_ROW_STEP(n);
        flow_part(second, n, scale, b->jacobians + at * n, b->r1 + at, b->r2 + at, b->tans + start, answer + start);
    }
    tu_mlp_pad(rows, n, answer);
    tu_mlp_backward(net, params, rows, b->acts, b->bend, grad);
    return tu_sum_squares(b->r1, rows * n) + second->weight * loss2;
}

tu_real tu_second_order_loss(const tu_mlp *net, const tu_real *params, const tu_batch *batch,
                             const tu_second_order *second, tu_real *scratch, tu_real *grad)
{
    int n = net->sizes[0];
    const tu_real *forward = tu_mlp_weights(net, params);
    block b = place_block(net, scratch);
    int target = tu_loss_columns(batch, net);
    tu_real loss = 0;

    tu_clear(grad, (int)tu_mlp_count(net));
    /* Blocks of the chip's size on every machine: two passes add to grad alternately. */
    for (int first = 0; first < batch->size; first += TU_CHIP_BLOCK) {
        int rows = smaller(TU_CHIP_BLOCK, batch->size - first);
        tu_reservoir_draw(batch->reservoir, rows, batch->rng, batch->indices);
        tu_reservoir_spread(batch->reservoir, batch->indices, rows, 0, n, TU_ROW_STEP(n), TU_UNIT_STEP, b.acts);
        tu_reservoir_gather(batch->reservoir, batch->indices, rows, target, n, b.r1);
        tu_reservoir_gather(batch->reservoir, batch->indices, rows, target + n, n, b.r2);
        loss += block_second(net, params, forward, batch, second, rows, &b, grad);
    }
    return loss / (tu_real)batch->size;
}

/* The known part at a node. */
static void known_at(void *context, const tu_real *node, tu_real *field, tu_real *jacobian)
{
    const tu_learner *l = context;
    const tu_real *inputs = node + l->config->states;
    l->known.field(l->known.context, node, inputs, field);
    l->known.jacobian(l->known.context, node, inputs, jacobian);
}

tu_real tu_second_order_gradient(tu_learner *l, const tu_batch *batch)
{
    const tu_scales *scales = &l->setup.scales;
    tu_second_order second = {known_at, l, scales->x, scales->dx, scales->ddx, l->setup.second_order};
    return tu_second_order_loss(&l->net, l->params, batch, &second, l->loss_scratch, l->grad);
}
