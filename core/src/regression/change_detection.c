#include "regression/change_detection.h"

/* Distance, in scales and per state or input, at which two windows saw the same. */
static const tu_real NEAR = TU_R(0.15);

/* The entry in store nearest to this window by its middle node; the number of entries when none is near. */
static uint32_t nearest_entry(tu_learner *l, const tu_real *here, int first, int columns)
{
    uint32_t count = tu_reservoir_count(&l->reservoir), nearest = count;
    tu_real least = NEAR * NEAR * (tu_real)columns, *there = l->lesson.node;
    for (uint32_t index = 0; index < count; index++) {
        tu_real distance = 0;
        tu_reservoir_gather(&l->reservoir, &index, 1, first, columns, there);
        for (int i = 0; i < columns; i++) {
            distance += (there[i] - here[i]) * (there[i] - here[i]);
        }
        if (distance < least) {
            least = distance;
            nearest = index;
        }
    }
    return nearest;
}

int tu_trial_compare(tu_learner *l)
{
    const tu_config *config = l->config;
    const tu_lesson *lesson = &l->lesson;
    int columns = config->states + config->inputs, first = config->network_nodes / 2 * columns;
    int rest = config->network_nodes * columns;
    uint32_t nearest = nearest_entry(l, lesson->entry + first, first, columns);
    tu_real *difference = lesson->node;
    if (nearest == tu_reservoir_count(&l->reservoir)) {
        tu_library_compare(&l->library, lesson->design, lesson->target, NULL);
        return 0;
    }
    tu_reservoir_gather(&l->reservoir, &nearest, 1, rest, config->on_count, difference);
    for (int i = 0; i < config->on_count; i++) {
        difference[i] = lesson->entry[rest + i] - difference[i];
    }
    tu_library_compare(&l->library, lesson->design, lesson->target, difference);
    return 1;
}
