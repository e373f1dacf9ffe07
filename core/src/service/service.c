/* Passes samples to the learner and the learner's model to predictions, in the order of the stream. */
#include "numeric/elementary.h"
#include "numeric/finite.h"
#include "service/service_state.h"

#include <string.h>

typedef char tu_service_must_fit[sizeof(tu_service) <= TU_SERVICE_STATE_BYTES || sizeof(void *) > 4 ? 1 : -1];

enum { LEAST_COST = 1 };    /* minimum cost of a slice, in thousands of instructions */
enum { NOISE_KNOWN = 128 }; /* samples; the noise estimate needs 74 without a gap, and before that it is next to 0 */
static const tu_real MINUTE = TU_R(60.0);

static void carve(tu_service *s, tu_arena *arena, const tu_plan *plan)
{
    const tu_config *config = plan->config;
    tu_arena_take(arena, sizeof(tu_service) > TU_SERVICE_STATE_BYTES ? sizeof(tu_service) : TU_SERVICE_STATE_BYTES);
    tu_fifo_carve(&s->fifo, arena, config->channels + config->inputs, plan->fifo_depth);
    tu_snapshot_carve(&s->snapshot, arena, config);
    tu_observer_carve(&s->observer, arena, config);
    s->row = tu_arena_reals(arena, config->channels + config->inputs);
    s->missing = tu_arena_reals(arena, config->channels);
}

size_t tu_service_bytes(const tu_plan *plan)
{
    tu_service counted;
    tu_arena nowhere = {NULL, 0};
    if (plan->fifo_depth < 1 || plan->fifo_depth > 65535 || tu_config_check(plan->config) != TU_OK) {
        return 0;
    }
    carve(&counted, &nowhere, plan);
    return nowhere.used;
}

void tu_service_publish(tu_service *s)
{
    tu_view view;
    tu_learner_view(s->learner, &view);
    tu_snapshot_write(&s->snapshot, &view, tu_snapshot_begin(&s->snapshot));
    tu_snapshot_publish(&s->snapshot);
    s->published_updates = s->learner->counters.updates;
    s->published_blocks = s->learner->library.blocks;
    s->published_recalibrations = s->learner->counters.recalibrations;
}

int tu_service_restart(tu_service *s, const tu_model *model)
{
    const tu_plan *plan = s->plan;
    int status = tu_learner_init(&s->learner, plan->config, plan->known, s->learner_arena, s->learner_bytes);
    if (status == TU_OK && model) {
        status = tu_learner_start_begin(s->learner, model);
    }
    s->busy = status == TU_OK && model; /* slices of the start */
    s->waiting = 0;
    s->write = NULL;                                   /* a partly written image would mix two states */
    s->snapshot.whole = model ? s->snapshot.whole : 0; /* predictions use the old model until there is a new one */
    s->snapshot.begun = s->snapshot.whole;
    tu_observer_clear(&s->observer);
    tu_clear(s->observer.ratio, plan->config->channels);
    tu_clear(s->observer.far, plan->config->channels);
    s->observer.steps = 0;
    if (status == TU_OK && model) {
        tu_service_publish(s);
    }
    return status;
}

int tu_service_start(tu_service **service, const tu_plan *plan, void *learner_arena, size_t learner_bytes, void *arena,
                     size_t bytes)
{
    tu_arena whole = {arena, 0};
    size_t needed = tu_service_bytes(plan);
    if (needed == 0) {
        return TU_BAD_CONFIG;
    }
    if (!arena || (uintptr_t)arena % 8 != 0 || bytes < needed) {
        return TU_BAD_ARENA;
    }
    tu_service *s = arena;
    memset(arena, 0, needed);
    carve(s, &whole, plan);
    s->plan = plan;
    s->learner_arena = learner_arena;
    s->learner_bytes = learner_bytes;
    s->snapshot.known = plan->known;
    s->step_left = 1; /* the first sample is due for the observer and for a row */
    *service = s;
    return tu_service_restart(s, plan->model);
}

tu_learner *tu_service_learner(tu_service *s) { return s->learner; }

int tu_service_push(tu_service *s, const tu_real *row) { return tu_fifo_push(&s->fifo, row); }

void tu_service_skip(tu_service *s, uint32_t ticks) { tu_fifo_skip(&s->fifo, ticks); }

int tu_service_due(const tu_service *s, uint32_t *left, uint32_t every)
{
    if (s->elapsed < *left) {
        *left -= s->elapsed;
        return 0;
    }
    uint32_t past = (s->elapsed - *left) % every; /* ticks since it was due */
    *left = every - past;
    return past == 0;
}

/* Handles missing ticks before this sample. Returns 1 if there is one that the learner can fill, 0 for a gap. */
static int interrupt_stream(tu_service *s, uint32_t missing)
{
    s->gaps++;
    tu_observer_clear(&s->observer);
    if (missing > 1 || !s->plan->config->repair) {
        tu_learner_gap(s->learner);
        return 0;
    }
    return 1;
}

/* Passes a missing sample to the learner, which fills it. */
static void begin_missing(tu_service *s)
{
    tu_real nothing[TU_MAX_STATES + TU_MAX_INPUTS];
    for (int i = 0; i < s->learner->ring.columns; i++) {
        nothing[i] = (tu_real)NAN;
    }
    tu_learner_begin(s->learner, nothing);
}

static void count_missing(tu_service *s)
{
    const tu_config *config = s->plan->config;
    tu_real share = config->sample_period / MINUTE;
    share = share < TU_R(0.05) ? share : TU_R(0.05);
    for (int c = 0; c < config->channels; c++) {
        s->missing[c] -= share * s->missing[c];
        if (!tu_usable(s->row[c])) {
            s->missing[c] += share;
        }
    }
}

/* Passes a waiting sample to the learner. Returns 0 if there is none. */
static int take_sample(tu_service *s)
{
    uint32_t tick;
    if (!tu_fifo_pop(&s->fifo, s->row, &tick)) {
        return 0;
    }
    uint32_t missing = tick - s->due;
    s->tick += (uint64_t)missing + (s->tick || s->due ? 1u : 0u);
    s->due = tick + 1;
    s->elapsed = missing + 1;
    s->waiting = missing && interrupt_stream(s, missing);
    count_missing(s);
    int due = tu_service_due(s, &s->step_left, (uint32_t)s->observer.every);
    if (s->learner->noise.samples < NOISE_KNOWN) {
        tu_observer_clear(&s->observer);
    }
    s->predicted = tu_observer_push(&s->observer, &s->snapshot, s->learner->noise.sigma, s->row, due);
    if (s->waiting) {
        begin_missing(s);
    } else {
        tu_learner_begin(s->learner, s->row);
    }
    s->busy = 1;
    return 1;
}

static int model_changed(const tu_service *s)
{
    const tu_learner *l = s->learner;
    int network = l->config->hidden_count && s->published_updates != l->counters.updates;
    return l->calibrated && !s->reporter.arriving &&
           (!s->snapshot.whole || network || s->published_blocks != l->library.blocks ||
            s->published_recalibrations != l->counters.recalibrations);
}

/* Runs the next slice of work. Returns its cost, or 0 when idle. */
static int32_t slice(tu_service *s)
{
    int32_t cost = LEAST_COST;
    if (s->busy) {
        cost += tu_learner_cost(s->learner);
        s->busy = tu_learner_advance(s->learner);
        if (!s->busy && s->waiting) {
            s->waiting = 0;
            tu_learner_begin(s->learner, s->row);
            s->busy = 1;
        }
        if (!s->busy && model_changed(s)) {
            tu_service_publish(s);
        }
        if (!s->busy && s->report) {
            s->report(s, 1);
        }
    } else if (s->write) {
        s->write = s->write(s) ? s->write : NULL;
    } else if (!take_sample(s)) {
        cost = 0;
        if (s->report) {
            s->report(s, 0);
        }
    }
    return cost;
}

int tu_service_work(tu_service *s, int32_t budget)
{
    int32_t spent = LEAST_COST;
    for (; budget > 0 && spent > 0; budget -= spent) {
        spent = slice(s);
    }
    return spent > 0;
}

int tu_service_predict(tu_service *s, const tu_real *x, const tu_real *u, tu_real *dx)
{
    const tu_plan *plan = s->plan;
    tu_real residual[TU_MAX_STATES];
    int status = tu_snapshot_residual(&s->snapshot, x, u, residual);
    plan->known->field(plan->known->context, x, u, dx);
    for (int i = 0; i < plan->config->on_count; i++) {
        dx[plan->config->on[i]] += residual[i];
    }
    return status;
}
