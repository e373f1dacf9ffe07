#include "service/snapshot.h"

#include "config.h"
#include "network/network_part.h"
#include "numeric/elementary.h"
#include "service/barrier.h"

enum { HALF, SPACING, SIGMA_SCALE, SCALES = TU_SNAPSHOT_SCALES };

/* Offsets of the parts of a model. */
typedef struct {
    int dx, network_on, coefficients, errors, weights, end;
} places;

static places places_of(const tu_snapshot *s)
{
    const tu_config *c = s->config;
    places p;
    p.dx = SCALES + c->states + c->inputs;
    p.network_on = p.dx + c->states;
    p.coefficients = p.network_on + c->on_count;
    p.errors = p.coefficients + s->columns;
    p.weights = p.errors + s->columns;
    p.end = p.weights + (c->hidden_count ? (int)tu_mlp_count(&s->net) : 0);
    return p;
}

void tu_snapshot_carve(tu_snapshot *s, tu_arena *arena, const tu_config *config)
{
    int library = config->library_terms + config->on_count * config->parameters;
    s->config = config;
    s->net = tu_config_net(config);
    s->columns = tu_config_columns(config);
    s->count = places_of(s).end;
    s->models[0] = tu_arena_reals(arena, s->count);
    s->models[1] = tu_arena_reals(arena, s->count);
    s->work = tu_arena_reals(arena, config->states + library + (config->hidden_count ? 2 * tu_mlp_widest(&s->net) : 0));
    s->whole = s->begun = 0;
}

tu_real *tu_snapshot_begin(tu_snapshot *s)
{
    s->begun = s->whole + 1;
    TU_BARRIER();
    return s->models[(s->whole + 1) % 2];
}

void tu_snapshot_publish(tu_snapshot *s)
{
    TU_BARRIER();
    s->whole = s->begun;
}

const tu_real *tu_snapshot_model(const tu_snapshot *s) { return s->whole ? s->models[s->whole % 2] : NULL; }

static tu_real *copy(tu_real *to, const tu_real *from, int count)
{
    for (int i = 0; i < count; i++) {
        to[i] = from[i];
    }
    return to + count;
}

void tu_snapshot_write(const tu_snapshot *s, const tu_view *view, tu_real *model)
{
    const tu_config *c = s->config;
    model[HALF] = (tu_real)view->window_half;
    model[SPACING] = (tu_real)view->window_spacing;
    model[SIGMA_SCALE] = view->sigma_scale;
    model = copy(model + SCALES, view->x_scale, c->states);
    model = copy(model, view->u_scale, c->inputs);
    model = copy(model, view->dx_scale, c->states);
    for (int i = 0; i < c->on_count; i++) {
        *model++ = (tu_real)view->network_on[i];
    }
    model = copy(model, view->coefficients, s->columns);
    model = copy(model, view->errors, s->columns);
    copy(model, view->average, view->params_count);
}

/* Reads a count from a model's numbers; 0: not a valid count. */
static int32_t count_of(tu_real value) { return value > 0 && value < TU_R(32768.0) ? (int32_t)value : 0; }

void tu_snapshot_read(const tu_snapshot *s, const tu_real *model, int32_t *network_on, tu_model *read)
{
    places p = places_of(s);
    read->window_half = count_of(model[HALF]);
    read->window_spacing = count_of(model[SPACING]);
    read->sigma_scale = model[SIGMA_SCALE];
    read->x_scale = model + SCALES;
    read->u_scale = model + SCALES + s->config->states;
    read->dx_scale = model + p.dx;
    for (int i = 0; i < s->config->on_count; i++) {
        network_on[i] = model[p.network_on + i] > 0;
    }
    read->network_on = network_on;
    read->coefficients = model + p.coefficients;
    read->errors = model + p.errors;
    read->weights = model + p.weights;
}

static void add_library(const tu_snapshot *s, const tu_real *model, const tu_real *x, const tu_real *u, tu_real *work,
                        tu_real *residual)
{
    const tu_config *c = s->config;
    places p = places_of(s);
    const tu_real *coefficients = model + p.coefficients;
    tu_real *terms = work, *sensitivity = work + c->library_terms;
    if (c->parameters) {
        s->known->sensitivity(s->known->context, x, u, sensitivity);
    }
    if (c->library_terms) {
        s->known->terms(s->known->context, x, u, terms);
    }
    for (int i = 0; i < c->on_count; i++) {
        tu_real unit = model[p.dx + c->on[i]], sum = 0;
        for (int k = 0; k < c->parameters; k++) {
            sum += sensitivity[i * c->parameters + k] / unit * coefficients[k];
        }
        for (int k = 0; k < c->library_terms; k++) {
            sum += terms[k] / unit * coefficients[c->parameters + i * c->library_terms + k];
        }
        residual[i] += sum;
    }
}

static void residual_of(const tu_snapshot *s, const tu_real *model, const tu_real *x, const tu_real *u,
                        tu_real *residual)
{
    const tu_config *c = s->config;
    tu_real *seen = s->work; /* angles wrapped as in training */
    for (int i = 0; i < c->states; i++) {
        int angle = c->order[i] == 0 && c->wrap[c->channel[i]];
        seen[i] = angle ? tu_angle_wrap(x[i]) : x[i];
    }
    tu_clear(residual, c->on_count);
    if (c->hidden_count) {
        places p = places_of(s);
        s->known->network->add_answer_of(c, &s->net, model + p.weights, model + SCALES, model + p.network_on, seen, u,
                                         s->work + c->states, residual);
    }
    if (s->columns) {
        add_library(s, model, seen, u, s->work + c->states, residual);
    }
    for (int i = 0; i < c->on_count; i++) {
        residual[i] *= model[places_of(s).dx + c->on[i]];
    }
}

int tu_snapshot_residual(tu_snapshot *s, const tu_real *x, const tu_real *u, tu_real *residual)
{
    uint32_t whole;
    tu_clear(residual, s->config->on_count);
    do { /* repeat if the model was overwritten meanwhile: only when the writer interrupts a reader */
        whole = s->whole;
        if (whole == 0) {
            return TU_NOT_READY;
        }
        residual_of(s, s->models[whole % 2], x, u, residual);
        TU_BARRIER();
    } while (s->begun - whole > 1);
    return TU_OK;
}
