/* libFuzzer target for the learner: any configuration, any model to start from, any stream, calls in any order.
 *
 * The input is read as a list of choices: a valid configuration and changes to it, then a model or none, then calls.
 * The arena is a heap block of exactly the size that the core requires, so that the address sanitiser detects any
 * overrun.
 */
#include "any_operation.h"
#include "small.h"
#include "source.h"

#include <string.h>

enum { MOST_BYTES = 4 << 20, MOST_CALLS = 250, MOST_ROW = TU_MAX_STATES + TU_MAX_INPUTS, MOST_UPDATES = 4 };

/* A number of any size: most are small, some are arbitrary bits. */
static tu_real number(source *s)
{
    uint32_t kind = take(s, 1);
    union {
        uint64_t bits;
        tu_real value;
    } any = {0};
    if (kind < 200) {
        return (tu_real)((int32_t)kind - 100) / (tu_real)16;
    }
    any.bits = (uint64_t)take(s, 4) << 32 | take(s, 4);
    return any.value;
}

static void numbers(source *s, tu_real *values, int count)
{
    for (int i = 0; i < count; i++) {
        values[i] = number(s);
    }
}

/* Overwrites a few 32-bit words of the configuration at arbitrary positions. */
static void change_config(source *s, tu_config *config)
{
    for (uint32_t changes = take(s, 1) % 12; changes > 0; changes--) {
        size_t place = take(s, 1) % (sizeof *config / sizeof(int32_t));
        uint32_t kind = take(s, 1);
        int32_t value = kind < 230 ? (int32_t)(kind % 23) - 1 : (int32_t)take(s, 4);
        memcpy((char *)config + place * sizeof value, &value, sizeof value);
    }
}

static void known_vector(const tu_config *c, const tu_real *x, const tu_real *u, tu_real *out, int count)
{
    for (int i = 0; i < count; i++) {
        out[i] = x[i % c->states] * (tu_real)(i + 1) + (c->inputs ? u[i % c->inputs] : 0);
    }
}

static void field(void *context, const tu_real *x, const tu_real *u, tu_real *dx)
{
    const tu_config *c = context;
    known_vector(c, x, u, dx, c->states);
}

static void jacobian(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_config *c = context;
    known_vector(c, x, u, out, c->states * c->states);
}

static void terms(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_config *c = context;
    known_vector(c, x, u, out, c->library_terms);
}

static void sensitivity(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    const tu_config *c = context;
    known_vector(c, x, u, out, c->on_count * c->parameters);
}

/* Starts from a model with a few invalid numbers. */
static void start(source *s, tu_learner *learner, const tu_config *c)
{
    tu_view view;
    tu_learner_view(learner, &view);
    size_t weights = (size_t)view.params_count, columns = (size_t)view.columns;
    size_t count = 2 * (size_t)c->states + (size_t)c->inputs + weights + 2 * columns;
    tu_real *values = malloc((count + 1) * sizeof *values);
    int32_t on[TU_MAX_STATES] = {1}, half = c->dense ? c->max_half : c->taps;
    REQUIRE(values);
    for (size_t i = 0; i < count; i++) {
        values[i] = (tu_real)(1 + i % 5) / 4;
    }
    tu_model model = {half, 1, 1, values, values, values, values, on, values, values};
    for (uint32_t changes = take(s, 1) % 8; changes > 0; changes--) {
        uint32_t place = take(s, 2);
        values[place % (count + 1)] = number(s);
        on[place % TU_MAX_STATES] = place >> 15;
        model.sigma_scale = values[count] = place % 7 ? 1 : number(s);
        model.window_half = place % 11 ? half : (int32_t)take(s, 1) - 1;
        model.window_spacing = place % 13 ? 1 : (int32_t)take(s, 1) % 4;
    }
    model.u_scale = model.x_scale + c->states;
    model.dx_scale = model.u_scale + c->inputs;
    model.weights = model.dx_scale + c->states;
    model.coefficients = model.weights + weights;
    model.errors = model.coefficients + columns;
    (void)tu_learner_start(learner, &model);
    free(values); /* the learner must not need it afterwards */
}

static void call(source *s, tu_learner *learner, const tu_config *c, tu_real *row)
{
    tu_real answer[TU_MAX_STATES];
    tu_view view;
    uint32_t choice = take(s, 1);
    if (choice < OPERATIONS) {
        any_operation(learner, choice, choice == STEP ? take(s, 1) % MOST_UPDATES : 0);
        return;
    }
    switch (choice) {
    case OPERATIONS:
        (void)tu_learner_residual(learner, row, row + c->states, answer);
        break;
    case OPERATIONS + 1:
        tu_learner_view(learner, &view);
        break;
    case OPERATIONS + 2:
        numbers(s, row, MOST_ROW);
        break;
    default: /* many samples around the last row from one byte */
        for (uint32_t i = 0; i < choice / 8; i++) {
            for (int k = 0; k < c->channels + c->inputs; k++) {
                row[k] += (tu_real)((int32_t)((i * 7 + choice * 3 + (uint32_t)k * 5) % 17) - 8) / (tu_real)64;
            }
            tu_learner_push(learner, row);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    source s = {data, data + size};
    tu_config config = small_config((int)(take(&s, 1) % SMALL_CONFIGS));
    tu_memory memory;
    tu_learner *learner = NULL;
    change_config(&s, &config);
    size_t bytes = tu_learner_bytes(&config);
    if (tu_config_check(&config) != TU_OK) {
        REQUIRE(bytes == 0 && tu_learner_memory(&config, &memory) == TU_BAD_CONFIG);
        return 0;
    }
    REQUIRE(bytes > 0 && tu_learner_memory(&config, &memory) == TU_OK && memory.total + memory.host == bytes);
    if (bytes > MOST_BYTES || config.updates > 1000 || config.reservoir > 4096) {
        return 0; /* valid, but too slow to fuzz */
    }
    const tu_known known = {field, jacobian, terms, sensitivity, NULL, &config, &tu_network, &tu_fusion, &tu_paper};
    unsigned char *arena = malloc(bytes);
    tu_real row[2 * MOST_ROW] = {0};
    REQUIRE(arena && tu_learner_init(&learner, &config, &known, arena, bytes - 1) == TU_BAD_ARENA);
    REQUIRE(tu_learner_init(&learner, &config, &known, arena, bytes) == TU_OK);
    if (take(&s, 1) & 1) {
        start(&s, learner, &config);
    }
    for (int calls = 0; s.at < s.end && calls < MOST_CALLS; calls++) {
        call(&s, learner, &config, row);
    }
    tu_view view;
    tu_learner_view(learner, &view);
    for (int32_t i = 0; i < view.params_count; i++) {
        REQUIRE(view.average[i] - view.average[i] == 0); /* no stream and no model may leave a non-finite weight */
    }
    free(arena);
    return 0;
}
