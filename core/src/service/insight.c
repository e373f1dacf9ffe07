/* Diagnostics of a running board: health, and what it has learned. */
#include "numeric/elementary.h"
#include "service/service_state.h"

static const tu_real OFTEN = TU_R(0.1); /* of the last minute */

static uint32_t flags_of(const tu_service *s, int c)
{
    const tu_noise *noise = &s->learner->noise;
    uint32_t flags = s->missing[c] > OFTEN ? TU_SENSOR_MISSING : 0;
    int still = s->learner->run[c] >= TU_STUCK_RUN && !(noise->smallest[c] >= noise->sigma[c]);
    return flags | (still ? TU_SENSOR_STUCK : 0u) | (s->observer.far[c] > OFTEN ? TU_SENSOR_DEVIATES : 0u);
}

void tu_service_health(tu_service *s, tu_health *health)
{
    const tu_config *config = s->plan->config;
    const tu_counters *counters = &s->learner->counters;
    tu_real mean = 0, worst = 0;
    for (int c = 0; c < config->channels; c++) {
        tu_real own = s->observer.ratio[c];
        mean += own / (tu_real)config->channels;
        worst = own > worst ? own : worst;
        health->flags[c] = flags_of(s, c);
    }
    health->ratio = tu_sqrt(mean);
    health->worst = tu_sqrt(worst);
    health->steps = s->observer.steps;
    health->lost = s->fifo.lost;
    health->gaps = s->gaps;
    health->deepest = s->fifo.deepest;
    health->changes = counters->changes;
    health->changed_at = counters->changes ? counters->changed_at[(counters->changes - 1) % TU_MAX_CHANGES] : 0;
    health->saves = s->saves;
    health->save_errors = s->save_errors;
    for (int i = 0; i < config->states; i++) {
        health->state[i] = s->observer.x[i];
    }
}

int tu_service_terms(tu_service *s, tu_term *terms, int most)
{
    const tu_plan *plan = s->plan;
    const tu_config *config = plan->config;
    const tu_library *library = &s->learner->library;
    int count = 0;
    for (int column = 0; column < library->columns; column++) {
        int own = column - config->parameters, parameter = own < 0;
        if (!parameter && library->coefficients[column] == 0) {
            continue;
        }
        if (count < most) {
            tu_term *term = &terms[count];
            int place = parameter ? column : own % config->library_terms;
            const char *const *names = parameter ? plan->parameters : plan->terms;
            term->name = names ? names[place] : NULL;
            term->column = column;
            term->state = parameter ? -1 : config->on[own / config->library_terms];
            term->value = library->coefficients[column];
            term->value += parameter && plan->parameter_base ? plan->parameter_base[column] : 0;
            term->half_width = plan->interval * library->errors[column];
        }
        count++;
    }
    return count;
}
