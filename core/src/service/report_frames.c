/* Telemetry: frames that tu_service_work sends after a sample, and when it is otherwise idle. */
#include "service/telemetry.h"

static const tu_real WATCH = TU_R(1.3), WRONG = TU_R(2.0); /* health ratios */
static const tu_real BACK = TU_R(0.9); /* of a limit: the ratio at which it no longer counts as crossed */
enum { TERMS_A_FRAME = 16 };

static void put_tick(tu_service *s, tu_writer *w)
{
    tu_put(w, (uint32_t)s->tick, 4);
    tu_put(w, (uint32_t)(s->tick >> 32), 4);
}

static void send_or_count(tu_service *s, tu_writer *w) { s->reporter.dropped += !tu_frame_send(s, w); }

static void put_reals(tu_writer *w, const tu_real *values, int count)
{
    for (int i = 0; i < count; i++) {
        tu_put_real(w, values[i]);
    }
}

static void send_row(tu_service *s)
{
    const tu_config *config = s->plan->config;
    tu_writer w = tu_frame_begin(s, TU_FRAME_ROW);
    put_tick(s, &w);
    tu_put(&w, (uint32_t)s->predicted, 1);
    put_reals(&w, s->row, config->channels);
    put_reals(&w, s->observer.predicted, config->channels);
    put_reals(&w, s->observer.expected, config->channels);
    put_reals(&w, s->row + config->channels, config->inputs);
    send_or_count(s, &w);
}

static void send_terms(tu_service *s)
{
    tu_term terms[TERMS_A_FRAME];
    int count = tu_service_terms(s, terms, TERMS_A_FRAME), written = count < TERMS_A_FRAME ? count : TERMS_A_FRAME;
    tu_writer w = tu_frame_begin(s, TU_FRAME_TERMS);
    put_tick(s, &w);
    tu_put(&w, (uint32_t)count, 1);
    for (int i = 0; i < written; i++) {
        tu_put(&w, (uint32_t)terms[i].column, 2);
        tu_put_real(&w, terms[i].value);
        tu_put_real(&w, terms[i].half_width);
    }
    send_or_count(s, &w);
}

static void send_health(tu_service *s, const tu_health *health)
{
    const tu_config *config = s->plan->config;
    tu_writer w = tu_frame_begin(s, TU_FRAME_HEALTH);
    put_tick(s, &w);
    tu_put_real(&w, health->ratio);
    tu_put_real(&w, health->worst);
    tu_put(&w, health->changed_at, 4);
    for (int c = 0; c < config->channels; c++) {
        tu_put(&w, health->flags[c], 1);
    }
    for (int c = 0; c < config->channels; c++) {
        tu_put_real(&w, s->learner->noise.sigma[c]);
    }
    put_reals(&w, health->state, config->states);
    send_or_count(s, &w);
}

static void send_counters(tu_service *s, const tu_health *health)
{
    const tu_counters *counters = &s->learner->counters;
    const uint32_t values[] = {counters->samples,
                               health->lost,
                               health->gaps,
                               (uint32_t)health->deepest,
                               counters->filled,
                               counters->replaced,
                               counters->windows,
                               counters->accepted,
                               counters->updates,
                               counters->rolled_back,
                               counters->recalibrations,
                               counters->changes,
                               health->saves,
                               health->save_errors,
                               s->reporter.dropped};
    tu_writer w = tu_frame_begin(s, TU_FRAME_COUNTERS);
    put_tick(s, &w);
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        tu_put(&w, values[i], 4);
    }
    for (int i = 0; i < TU_REASONS; i++) {
        tu_put(&w, s->learner->counters.rejected[i], 4);
    }
    send_or_count(s, &w);
}

static void send_event(tu_service *s, int kind, tu_real value)
{
    tu_writer w = tu_frame_begin(s, TU_FRAME_EVENT);
    put_tick(s, &w);
    tu_put(&w, (uint32_t)kind, 1);
    tu_put_real(&w, value);
    send_or_count(s, &w);
}

/* Sends an event if a counter has changed since it was last reported. */
static void report_change(tu_service *s, uint32_t *told, uint32_t now, int kind, tu_real value)
{
    if (*told != now) {
        *told = now;
        send_event(s, kind, value);
    }
}

/* Limits that the ratio has crossed: a ratio that stays close to one does not cross it again and again. */
static uint32_t level_of(tu_real ratio, uint32_t before)
{
    uint32_t level = 0;
    level += ratio > WATCH * (before > 0 ? BACK : 1);
    level += ratio > WRONG * (before > 1 ? BACK : 1);
    return level;
}

/* After a restart, counters and health begin anew: their return to 0 is no event. */
static void report_restart(tu_service *s)
{
    tu_told *told = &s->reporter.told;
    if (told->restarts != s->restarts) {
        told->recalibrations = told->changes = told->level = 0;
    }
    report_change(s, &told->restarts, s->restarts, TU_EVENT_RESTARTED, 0);
}

static void report_events(tu_service *s, const tu_health *health)
{
    tu_told *told = &s->reporter.told;
    const tu_learner *l = s->learner;
    report_restart(s);
    report_change(s, &told->calibrated, (uint32_t)l->calibrated, TU_EVENT_CALIBRATED, (tu_real)l->setup.window.half);
    report_change(s, &told->recalibrations, l->counters.recalibrations, TU_EVENT_RECALIBRATED,
                  (tu_real)l->setup.window.half);
    report_change(s, &told->changes, l->counters.changes, TU_EVENT_CHANGED, (tu_real)l->counters.changes);
    report_change(s, &told->gaps, health->gaps, TU_EVENT_GAP, (tu_real)health->lost);
    report_change(s, &told->saves, health->saves, TU_EVENT_SAVED, (tu_real)health->saves);
    report_change(s, &told->save_errors, health->save_errors, TU_EVENT_NOT_SAVED, (tu_real)health->save_errors);
    report_change(s, &told->level, level_of(health->worst, told->level), TU_EVENT_HEALTH, health->worst);
    for (int c = 0; c < s->plan->config->channels; c++) {
        report_change(s, &told->flags[c], health->flags[c], TU_EVENT_SENSOR, (tu_real)(c + 16 * (int)health->flags[c]));
    }
}

/* Called after a sample, or with 0 when idle. */
static void report(tu_service *s, int sampled)
{
    tu_reporter *r = &s->reporter;
    tu_health health;
    if (sampled && tu_service_due(s, &r->row_left, r->row_ticks)) {
        send_row(s);
    }
    if (sampled && tu_service_due(s, &r->status_left, r->status_ticks)) {
        tu_service_health(s, &health);
        report_events(s, &health);
        send_health(s, &health);
        send_counters(s, &health);
        send_terms(s);
    }
    if (r->part >= 0) {
        tu_send_part(s);
    }
}

void tu_service_report(tu_service *s, const tu_line *line, uint32_t row_ticks, uint32_t status_ticks,
                       const tu_storage *storage)
{
    tu_reporter *r = &s->reporter;
    r->line = *line;
    r->storage = storage;
    r->row_ticks = row_ticks ? row_ticks : 1;
    r->status_ticks = status_ticks ? status_ticks : 1;
    r->row_left = s->step_left; /* in phase with the observer's steps, so that rows have predictions */
    r->status_left = r->status_ticks;
    r->part_kind = TU_FRAME_NAME;
    r->part = 0; /* send a hello at the start, without a request */
    s->report = report;
}
