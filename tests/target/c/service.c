/* A learner as a board keeps it for years: slices, overruns, power cuts, predictions, health. */
#include "board.h"

#include "service/cobs.h"
#include "service/crc.h"
#include "service/telemetry.h"

#include <math.h>

enum { SAMPLES = 1800 };

/* An image of the state as it is. */
static unsigned char *image_of(board *b)
{
    flash f;
    save_all(b, &f);
    return f.bytes;
}

static int same_state(board *a, board *b)
{
    unsigned char *one = image_of(a), *other = image_of(b);
    int same = memcmp(one, other, tu_service_save_bytes(a->service)) == 0;
    free(one);
    free(other);
    return same;
}

/* Samples that wait, work in slices of any size: the bits of pushing them one by one. */
static void any_budget_gives_the_same_bits(const setup *tried)
{
    tu_config config = config_of(tried);
    board sliced, whole;
    plant p, q;
    uint32_t random = 5;
    tu_real row[MAX_ROW];
    board_start(&sliced, &config);
    board_start(&whole, &config);
    plant_start(&p, config.states, 1);
    plant_start(&q, config.states, 1);
    for (int i = 0; i < SAMPLES; i++) {
        plant_row(&p, &config, 0.002, row);
        while (!(sliced.service->fifo.deepest < DEPTH) && tu_service_work(sliced.service, 1)) {
        }
        CHECK(tu_service_push(sliced.service, row));
        tu_service_work(sliced.service, (int32_t)(draw(&random) % 40u));
        while ((sliced.service->fifo.in + DEPTH + 1 - sliced.service->fifo.out) % (DEPTH + 1) > DEPTH - 2) {
            tu_service_work(sliced.service, 1);
        }
    }
    run_all(&sliced);
    for (int i = 0; i < SAMPLES; i++) {
        plant_row(&q, &config, 0.002, row);
        tu_learner_push(whole.service->learner, row);
    }
    CHECK(sliced.service->learner->counters.samples == SAMPLES && sliced.service->gaps == 0);
    CHECK(same_state(&sliced, &whole));
    board_free(&sliced);
    board_free(&whole);
}

/* A state that is loaded goes on as the learner itself does after a gap. */
static void loading_is_a_gap(const setup *tried, int samples)
{
    tu_config config = config_of(tried);
    board first, second;
    flash f;
    plant p;
    start_pair(&first, &second, &config, &p, 3, samples);
    tu_storage storage = storage_of(&f, tu_service_save_bytes(first.service));
    CHECK(tu_service_load(second.service, &storage) == TU_NOTHING_SAVED);
    CHECK(tu_service_save(first.service, &storage) == TU_OK);
    CHECK(tu_service_save(first.service, &storage) == TU_OK); /* under way already */
    run_all(&first);
    CHECK(tu_service_load(second.service, &storage) == TU_OK);
    tu_learner_gap(first.service->learner);
    CHECK(same_state(&first, &second));
    tu_real row[MAX_ROW];
    for (int i = 0; i < SAMPLES / 2; i++) {
        plant_row(&p, &config, 0.002, row);
        CHECK(tu_service_push(first.service, row) && tu_service_push(second.service, row));
        run_all(&first);
        run_all(&second);
    }
    CHECK(same_state(&first, &second));
    second.plan.fingerprint++; /* another model's firmware */
    CHECK(tu_service_load(second.service, &storage) == TU_NOTHING_SAVED);
    storage.slot_bytes = TU_SAVE_PIECE;
    CHECK(tu_service_save(first.service, &storage) == TU_NO_STORAGE);
    board_free(&first);
    board_free(&second);
    free(f.bytes);
}

/* Power goes at every byte of the second save: what is loaded is the first state or the second, whole. */
static void every_power_cut_leaves_a_whole_state(void)
{
    tu_config config = base_config();
    board b, cut;
    flash f;
    plant p;
    config.reservoir = 20;
    config.holdout = 4;
    config.batch = 4;
    start_pair(&b, &cut, &config, &p, 4, 1500);
    uint32_t bytes = tu_service_save_bytes(b.service);
    tu_storage storage = storage_of(&f, bytes);
    CHECK(tu_service_save(b.service, &storage) == TU_OK);
    run_all(&b);
    unsigned char *before = malloc(f.size), *states[2];
    memcpy(before, f.bytes, f.size);
    states[0] = image_of(&b);
    push_stream(&b, &p, 500);
    states[1] = image_of(&b);
    int old = 0, fresh = 0;
    for (uint32_t offset = 0; offset <= bytes; offset++) {
        memcpy(f.bytes, before, f.size);
        f.left = offset;
        CHECK(tu_service_save(b.service, &storage) == TU_OK);
        run_all(&b);
        CHECK(tu_service_load(cut.service, &storage) == TU_OK);
        unsigned char *found = image_of(&cut);
        int first = memcmp(found, states[0], bytes) == 0, second = memcmp(found, states[1], bytes) == 0;
        CHECK(first != second && (offset < bytes || second));
        old += first;
        fresh += second;
        free(found);
    }
    CHECK(b.service->save_errors == bytes);
    printf("power cut at %u offsets: %d times the state before, %d times the new one\n", (unsigned)bytes, old, fresh);
    free(before);
    free(states[0]);
    free(states[1]);
    free(f.bytes);
    board_free(&b);
    board_free(&cut);
}

/* What finds no room is counted, and time stays true. */
static void overruns_become_gaps(void)
{
    tu_config config = base_config();
    board b;
    plant p;
    tu_health health;
    tu_real row[MAX_ROW];
    board_start(&b, &config);
    plant_start(&p, config.states, 6);
    push_stream(&b, &p, 1000);
    for (int i = 0; i < DEPTH + 10; i++) {
        plant_row(&p, &config, 0.002, row);
        CHECK(tu_service_push(b.service, row) == (i < DEPTH));
    }
    run_all(&b);
    push_stream(&b, &p, 1);
    CHECK(b.service->tick == 1000 + DEPTH + 10);
    CHECK(b.service->learner->ring.held < 10);
    tu_service_skip(b.service, 1);
    push_stream(&b, &p, 1);
    CHECK(b.service->tick == 1002 + DEPTH + 10);
    CHECK(b.service->learner->counters.samples == 1000 + DEPTH + 3); /* the one missing sample is filled */
    b.service->fifo.tick = b.service->due = UINT32_MAX - 3;          /* years later */
    push_stream(&b, &p, 10);
    tu_service_health(b.service, &health);
    CHECK(health.lost == 10 && health.gaps == 2 && health.deepest == DEPTH);
    board_free(&b);
}

/* Predictions are the learner's own, bit for bit, from the model last published. */
static void predictions_are_the_learners(const setup *tried)
{
    tu_config config = config_of(tried);
    board b;
    plant p;
    tu_real x[TU_MAX_STATES], u[TU_MAX_INPUTS] = {0}, dx[TU_MAX_STATES], own[TU_MAX_STATES], field[TU_MAX_STATES];
    board_start(&b, &config);
    plant_start(&p, config.states, 8);
    for (int i = 0; i < config.states; i++) {
        x[i] = (tu_real)(0.3 + 4 * i);
    }
    CHECK(tu_service_predict(b.service, x, u, dx) == TU_NOT_READY);
    push_stream(&b, &p, SAMPLES);
    CHECK(tu_service_predict(b.service, x, u, dx) == TU_OK);
    CHECK(tu_learner_residual(tu_service_learner(b.service), x, u, own) == TU_OK);
    b.known.field(b.known.context, x, u, field);
    for (int i = 0; i < config.on_count; i++) {
        field[config.on[i]] += own[i];
    }
    CHECK(memcmp(field, dx, (size_t)config.states * sizeof *dx) == 0);
    board_free(&b);
}

/* 1 while noise is all that is wrong; more when the plant is no longer the one that was learned. */
static void health_tells_a_worn_plant(void)
{
    tu_config config = base_config();
    board b;
    plant p;
    tu_health healthy, worn;
    tu_term terms[8];
    config.follow = 0;
    config.hidden_count = 0;
    config.reservoir = 0;
    config.holdout = 0;
    board_start(&b, &config);
    plant_start(&p, config.states, 9);
    push_stream(&b, &p, 9000);
    tu_service_health(b.service, &healthy);
    int count = tu_service_terms(b.service, terms, 8);
    CHECK(count >= 1 && terms[0].state == 1 && terms[0].half_width > 0);
    p.damping *= 3;
    push_stream(&b, &p, 2500);
    tu_service_health(b.service, &worn);
    printf("health %.2f, of the worn plant %.2f\n", (double)healthy.worst, (double)worn.worst);
    CHECK(healthy.ratio > 0.8f && healthy.worst < 1.3f && worn.worst > 1.5f * healthy.worst);
    CHECK(fabs((double)healthy.state[0]) < 10 && healthy.steps > 4000);
    tu_real still[2] = {(tu_real)0.1, (tu_real)NAN};
    for (int i = 0; i < 3000; i++) {
        CHECK(tu_service_push(b.service, still));
        run_all(&b);
    }
    tu_service_health(b.service, &worn);
    CHECK(worn.flags[0] & TU_SENSOR_STUCK && worn.flags[1] & TU_SENSOR_MISSING);
    board_free(&b);
}

/* A board that starts from a model predicts at once, but what its sensors' noise allows it learns first. */
static void sound_start_is_healthy(void)
{
    tu_config config = base_config();
    board first, second;
    plant p;
    tu_view found;
    tu_health health;
    config.hidden_count = 0;
    config.reservoir = 0;
    config.holdout = 0;
    start_pair(&first, &second, &config, &p, 9, 9000);
    tu_learner_view(first.service->learner, &found);
    tu_model model = {found.window_half, found.window_spacing, found.sigma_scale, found.x_scale,      found.u_scale,
                      found.dx_scale,    found.average,        found.network_on,  found.coefficients, found.errors};
    CHECK(tu_service_restart(second.service, &model) == TU_OK);
    tu_real worst = 0;
    for (int i = 0; i < 400; i++) {
        push_stream(&second, &p, 10);
        tu_service_health(second.service, &health);
        CHECK(!health.flags[0] && !health.flags[1]);
        CHECK(fabs((double)(health.state[0] - second.service->row[0])) < 0.1); /* of the sensors until then */
        worst = health.worst > worst ? health.worst : worst;
    }
    printf("health of a sound start %.2f at worst, %.2f in the end\n", (double)worst, (double)health.worst);
    CHECK(worst < 2 && health.worst > 0.7f && health.worst < 1.3f);
    board_free(&first);
    board_free(&second);
}

static void cobs_returns_what_it_was_given(void)
{
    uint8_t bytes[600], stuffed[TU_COBS_BYTES(600)];
    uint32_t random = 3;
    for (size_t count = 0; count < sizeof bytes; count++) {
        for (size_t i = 0; i < count; i++) {
            bytes[i] = draw(&random) % 4u ? (uint8_t)draw(&random) : 0;
            bytes[i] = count % 3 ? bytes[i] : 7;
        }
        size_t length = tu_cobs_encode(bytes, count, stuffed);
        CHECK(length <= TU_COBS_BYTES(count) && memchr(stuffed, 0, length) == stuffed + length - 1);
        CHECK(tu_cobs_decode(stuffed, length - 1) == count && memcmp(stuffed, bytes, count) == 0);
    }
    CHECK((tu_crc32(TU_CRC32_START, "123456789", 9) ^ 0xffffffffu) == 0xcbf43926u);
    CHECK(tu_crc16(TU_CRC16_START, "123456789", 9) == 0x29b1u);
}

/* What a line carries. */
typedef struct {
    uint8_t bytes[1 << 16];
    size_t count;
    size_t room;
    tu_service *to; /* a command channel: frames go on to this service */
} wire;

static int wire_send(void *context, const uint8_t *bytes, size_t count)
{
    wire *w = context;
    if (w->count + count > w->room) {
        return 0;
    }
    memcpy(w->bytes + w->count, bytes, count);
    w->count += count;
    return 1;
}

/* A command as a frame: type, sequence, body. */
static void command(board *b, int type, const uint8_t *body, size_t count)
{
    uint8_t frame[TU_FRAME_BYTES] = {TU_LINK_VERSION, (uint8_t)type, 9, 0}, stuffed[TU_COBS_BYTES(TU_FRAME_BYTES)];
    memcpy(frame + 4, body, count);
    uint16_t crc = tu_crc16(TU_CRC16_START, frame, count + 4);
    frame[count + 4] = (uint8_t)(crc & 255u);
    frame[count + 5] = (uint8_t)(crc >> 8);
    tu_service_receive(b->service, stuffed, tu_cobs_encode(frame, count + 6, stuffed));
}

/* Frames of a type that a wire carried, one after the other; the head is left out. */
static size_t next_frame(const wire *w, size_t *at, int type, uint8_t *frame)
{
    while (*at < w->count) {
        const uint8_t *end = memchr(w->bytes + *at, 0, w->count - *at);
        size_t count = (size_t)(end - (w->bytes + *at));
        memcpy(frame, w->bytes + *at, count);
        *at += count + 1;
        count = tu_cobs_decode(frame, count);
        CHECK(count >= 6 && tu_crc16(TU_CRC16_START, frame, count - 2) ==
                                (uint16_t)(frame[count - 2] | (uint32_t)frame[count - 1] << 8));
        if (frame[1] == type) {
            memmove(frame, frame + 4, count - 6);
            return count - 6;
        }
    }
    return 0;
}

/* A model goes from one board to another over the line, in pieces; damaged and foreign ones are rejected. */
static void models_travel(void)
{
    tu_config config = base_config();
    board from, to;
    plant p;
    static wire out, in;
    uint8_t frame[TU_FRAME_BYTES + 8], body[TU_FRAME_BYTES];
    size_t at = 0, count;
    tu_real x[2] = {(tu_real)0.4, (tu_real)1.5}, u[1] = {0}, dx[2][2];
    out.room = in.room = sizeof out.bytes;
    board_start(&from, &config);
    board_start(&to, &config);
    tu_line line = {wire_send, &out}, other = {wire_send, &in};
    plant_start(&p, config.states, 11);
    command(&from, TU_COMMAND_SAVE, body, 0); /* the line is not open yet */
    tu_service_report(from.service, &line, 2, 100, NULL);
    tu_service_report(to.service, &other, 2, 100, NULL);
    push_stream(&from, &p, SAMPLES);
    CHECK(next_frame(&out, &at, TU_FRAME_HELLO, frame) > 0);
    out.count = at = 0;
    command(&from, TU_COMMAND_MODEL, body, 0);
    for (int i = 0; i < 100; i++) {
        tu_service_work(from.service, 1);
    }
    int pieces = 0;
    while ((count = next_frame(&out, &at, TU_FRAME_MODEL, frame)) > 0) {
        const uint8_t fingerprint[4] = {77, 0, 0, 0};
        memcpy(body, frame, 12);
        memcpy(body + 12, fingerprint, 4);
        memcpy(body + 16, frame + 12, count - 12);
        if (pieces == 1) { /* out of order, foreign, damaged: rejected without harm */
            uint8_t bad[TU_FRAME_BYTES];
            memcpy(bad, body, count + 4);
            bad[0] = (uint8_t)(bad[0] + 1);
            command(&to, TU_COMMAND_TAKE, bad, count + 4);
            bad[12] = 3;
            command(&to, TU_COMMAND_TAKE, bad, count + 4);
            tu_service_receive(to.service, bad, 30);
            tu_service_receive(to.service, (const uint8_t *)"", 1);
        }
        command(&to, TU_COMMAND_TAKE, body, count + 4);
        command(&to, TU_COMMAND_TAKE, body, count + 4); /* twice is no harm */
        pieces++;
    }
    CHECK(pieces > 1 && to.service->restarts >= 1);
    CHECK(tu_service_predict(from.service, x, u, dx[0]) == TU_OK &&
          tu_service_predict(to.service, x, u, dx[1]) == TU_OK);
    for (size_t i = 0; i < sizeof dx[0] / sizeof dx[0][0]; i++) { /* frames carry float32: exact for a board's reals */
        tu_real apart = dx[0][i] - dx[1][i], most = sizeof(tu_real) == 4 ? 0 : (tu_real)1e-5;
        CHECK(apart <= most && apart >= -most);
    }
    command(&to, TU_COMMAND_RESET, body, 0);
    CHECK(tu_service_predict(to.service, x, u, dx[1]) == TU_NOT_READY);
    out.room = 0; /* a line without room drops frames and counts them */
    push_stream(&from, &p, 200);
    CHECK(from.service->reporter.dropped > 100);
    board_free(&from);
    board_free(&to);
}

/* Events of a kind that a wire carried since it was emptied. */
static int events(wire *out, int kind)
{
    uint8_t frame[TU_FRAME_BYTES + 8];
    size_t at = 0;
    int count = 0;
    while (next_frame(out, &at, TU_FRAME_EVENT, frame) > 0) {
        count += frame[8] == kind;
    }
    out->count = 0;
    return count;
}

/* A ratio close to a limit was told again and again; a start over, as another change and as health that came back. */
static void events_tell_what_happened_once(void)
{
    static const tu_real ratios[] = {TU_R(1.35), TU_R(1.25), TU_R(1.35), TU_R(1.0), TU_R(1.35)};
    tu_config config = base_config();
    static wire out;
    board b;
    plant p;
    int told = 0;
    out.room = sizeof out.bytes;
    board_start(&b, &config);
    plant_start(&p, config.states, 13);
    push_stream(&b, &p, SAMPLES);
    tu_line line = {wire_send, &out};
    tu_service_report(b.service, &line, 1000, 20, NULL);
    b.service->observer.ratio[0] = b.service->observer.ratio[1] = 1;
    push_stream(&b, &p, 20);
    out.count = 0;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++) {
        b.service->observer.ratio[0] = ratios[i] * ratios[i];
        push_stream(&b, &p, 20);
        told += events(&out, TU_EVENT_HEALTH);
    }
    CHECK(told == 3);
    b.service->learner->counters.changes++;
    push_stream(&b, &p, 20);
    CHECK(events(&out, TU_EVENT_CHANGED) == 1);
    command(&b, TU_COMMAND_RESET, (const uint8_t *)"", 0);
    push_stream(&b, &p, 20);
    size_t sent = out.count;
    CHECK(events(&out, TU_EVENT_RESTARTED) == 1);
    out.count = sent;
    CHECK(events(&out, TU_EVENT_CHANGED) == 0);
    out.count = sent;
    CHECK(events(&out, TU_EVENT_HEALTH) == 0);
    board_free(&b);
}

/* A stream with all that telemetry tells, for a reader in another language. */
static void record_telemetry(const char *path)
{
    tu_config config = base_config();
    static const char *const states[] = {"theta", "omega"}, *const terms[] = {"1", "omega", "theta", "omega^3"};
    static wire out;
    flash f;
    board b;
    plant p;
    board_start(&b, &config);
    b.plan.states = states;
    b.plan.terms = terms;
    out.room = sizeof out.bytes;
    tu_line line = {wire_send, &out};
    tu_storage storage = storage_of(&f, tu_service_save_bytes(b.service));
    plant_start(&p, config.states, 12);
    tu_service_report(b.service, &line, 8, 200, &storage);
    push_stream(&b, &p, 1000);
    command(&b, TU_COMMAND_SAVE, (const uint8_t *)"", 0);
    push_stream(&b, &p, 1000);
    command(&b, TU_COMMAND_MODEL, (const uint8_t *)"", 0);
    push_stream(&b, &p, 100);
    FILE *file = fopen(path, "wb");
    CHECK(file && fwrite(out.bytes, 1, out.count, file) == out.count && fclose(file) == 0);
    free(f.bytes);
    board_free(&b);
}

int main(int argc, char **argv)
{
    cobs_returns_what_it_was_given();
    for (int i = 0; i < SETUPS_COUNT; i++) {
        any_budget_gives_the_same_bits(&SETUPS[i]);
        loading_is_a_gap(&SETUPS[i], 500 + 600 * (i % 3));
        predictions_are_the_learners(&SETUPS[i]);
    }
    overruns_become_gaps();
    every_power_cut_leaves_a_whole_state();
    health_tells_a_worn_plant();
    sound_start_is_healthy();
    models_travel();
    events_tell_what_happened_once();
    if (argc > 1) {
        record_telemetry(argv[1]);
    }
    return 0;
}
