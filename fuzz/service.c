/* libFuzzer target for the service layer: any bytes on the serial link, any content of the storage, calls in any order.
 *
 * Random bytes hardly ever pass a checksum, so there are also complete frames, models and saved states with changed
 * content and matching checksum.
 */
#include "service/cobs.h"
#include "service/crc.h"
#include "service/telemetry.h"
#include "small.h"
#include "source.h"

#include <string.h>

enum { SLOT = 1 << 14, LONGEST = 32, HEAD = 24, MOST_NUMBERS = 64 };
enum { FINGERPRINT = 0x1234 };

static void field(void *context, const tu_real *x, const tu_real *u, tu_real *dx)
{
    (void)context;
    dx[0] = x[1];
    dx[1] = u[0] - x[0];
}

static void jacobian(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    (void)context;
    (void)x;
    (void)u;
    out[0] = out[3] = 0;
    out[1] = 1;
    out[2] = -1;
}

static void terms(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    (void)context;
    (void)u;
    out[0] = x[0];
    out[1] = x[1];
}

static void sensitivity(void *context, const tu_real *x, const tu_real *u, tu_real *out)
{
    (void)context;
    (void)u;
    out[0] = x[0];
}

static const tu_known KNOWN = {field, jacobian, terms, sensitivity, NULL, NULL, &tu_network, &tu_fusion, &tu_paper};
static const char *const STATES[] = {"theta", "omega"}, *const INPUTS[] = {"tau"}, *const PARAMETERS[] = {"k"};
static const char *const TERMS[] = {"theta", "omega"};
static const tu_real BASE[] = {1};

static const tu_real SCALES[] = {1, 1}, COEFFICIENTS[] = {0, (tu_real)0.1, (tu_real)-0.2}, ERRORS[3] = {0},
                     WEIGHTS[MOST_NUMBERS] = {0};
static const int32_t NETWORK_ON[] = {1, 0};
static const tu_model MODEL = {6, 1, 1, SCALES, SCALES, SCALES, WEIGHTS, NETWORK_ON, COEFFICIENTS, ERRORS};

/* Memory of a board, allocated once: the blocks have exactly the required size. */
typedef struct {
    tu_config config;
    tu_plan plan;
    size_t learner_bytes, bytes;
    unsigned char *arena, *own;
} board;

static board *board_of(int which)
{
    static board boards[SMALL_CONFIGS];
    board *b = &boards[which];
    if (!b->arena) {
        b->config = small_config(which);
        tu_plan plan = {&b->config,  &KNOWN, which == 1 || which == 2 ? &MODEL : NULL,
                        FINGERPRINT, 8,      2,
                        "rig",       STATES, INPUTS,
                        PARAMETERS,  BASE,   TERMS};
        b->plan = plan;
        b->learner_bytes = tu_learner_bytes(&b->config);
        b->bytes = tu_service_bytes(&b->plan);
        b->arena = malloc(b->learner_bytes);
        b->own = malloc(b->bytes);
        REQUIRE(b->learner_bytes && b->bytes && b->arena && b->own);
    }
    return b;
}

typedef struct {
    uint8_t bytes[2 * SLOT];
    int failing; /* calls until one fails; 0: none fails */
} disk;

static int fails(disk *d) { return d->failing > 0 && --d->failing == 0; }

static int write_disk(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    disk *d = context;
    REQUIRE((uint64_t)offset + count <= sizeof d->bytes);
    memcpy(d->bytes + offset, bytes, count);
    return fails(d);
}

static int read_disk(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    disk *d = context;
    REQUIRE((uint64_t)offset + count <= sizeof d->bytes);
    memcpy(bytes, d->bytes + offset, count);
    return fails(d);
}

static int send_line(void *context, const uint8_t *bytes, size_t count)
{
    volatile uint8_t sum = 0;
    (void)context;
    for (size_t i = 0; i < count; i++) {
        sum = (uint8_t)(sum + bytes[i]); /* reads every byte that is sent */
    }
    return sum != 1;
}

/* Most are small or at the end of a range, some are arbitrary bits. */
static uint32_t word(source *s)
{
    static const uint32_t odd[] = {0xffffffffu, 0x7fffffffu, 0x80000000u, 0x7fc00000u,
                                   0x7f800000u, 0x3f800000u, 0xbf800000u, 0x58635fa9u};
    uint32_t kind = take(s, 1);
    return kind < 200 ? kind : kind < 208 ? odd[kind - 200] : take(s, 4);
}

/* A frame with a valid checksum. */
static void send_frame(tu_service *service, int type, const uint8_t *body, size_t count)
{
    uint8_t frame[TU_FRAME_BYTES] = {TU_LINK_VERSION, (uint8_t)type, 1, 0}, stuffed[TU_COBS_BYTES(TU_FRAME_BYTES)];
    REQUIRE(count <= sizeof frame - TU_HEAD_BYTES - TU_TAIL_BYTES);
    memcpy(frame + TU_HEAD_BYTES, body, count);
    count += TU_HEAD_BYTES;
    uint16_t crc = tu_crc16(TU_CRC16_START, frame, count);
    frame[count++] = (uint8_t)(crc & 255u);
    frame[count++] = (uint8_t)(crc >> 8);
    tu_service_receive(service, stuffed, tu_cobs_encode(frame, count, stuffed));
}

/* A complete model in pieces, with a few numbers replaced and a valid checksum. */
static void send_model(tu_service *service, source *s, uint32_t changes)
{
    const tu_real *own = tu_snapshot_model(&service->snapshot);
    uint32_t count = (uint32_t)service->snapshot.count, crc = TU_CRC32_START, body[4 + TU_MODEL_PIECE];
    float numbers[4 * MOST_NUMBERS];
    REQUIRE(count <= sizeof numbers / sizeof *numbers);
    for (uint32_t i = 0; i < count; i++) {
        numbers[i] = own ? (float)own[i] : 1.0f;
    }
    for (; changes > 0; changes--) {
        uint32_t place = take(s, 1) % count, bits = word(s);
        float small = (float)bits;
        memcpy(&numbers[place], bits < 200 ? (const void *)&small : (const void *)&bits, sizeof bits);
    }
    crc = ~tu_crc32(crc, numbers, count * sizeof *numbers);
    for (uint32_t first = 0; first < count; first += TU_MODEL_PIECE) {
        uint32_t piece = count - first < TU_MODEL_PIECE ? count - first : TU_MODEL_PIECE;
        uint32_t facts[4] = {first, count, crc, FINGERPRINT};
        memcpy(body, facts, sizeof facts);
        memcpy(body + 4, numbers + first, piece * sizeof *numbers);
        send_frame(service, TU_COMMAND_TAKE, (const uint8_t *)body, (4 + piece) * sizeof *body);
    }
}

/* A saved state with a few words replaced and a valid checksum. */
static void forge(tu_service *service, disk *d, source *s, uint32_t changes, uint32_t slot)
{
    uint8_t *image = d->bytes + slot * SLOT;
    uint32_t length;
    memcpy(&length, image + HEAD - 8, sizeof length);
    if (length == 0 || length + HEAD + 4 > tu_service_save_bytes(service)) {
        return; /* nothing saved there */
    }
    for (; changes > 0; changes--) {
        uint32_t wide = take(s, 1), place = wide < 128 ? wide : take(s, 2); /* most at the start: the numbers */
        uint32_t bits = word(s);
        memcpy(image + HEAD + place % (length / 4) * 4, &bits, sizeof bits);
    }
    uint32_t crc = ~tu_crc32(TU_CRC32_START, image, HEAD + length);
    memcpy(image + HEAD + length, &crc, sizeof crc);
}

static void finish_saving(tu_service *service)
{
    for (int i = 0; i < 100 && service->write; i++) {
        (void)tu_service_work(service, 200);
    }
}

static void other_call(tu_service *service, disk *d, const tu_storage *storage, uint32_t which)
{
    tu_health health;
    tu_term told[2];
    if (which < 8) {
        d->failing = (int)which;
    } else if (which < 16) {
        tu_service_skip(service, 1u << (4 * (which - 8)) % 31);
    } else if (which < 20) {
        (void)tu_service_restart(service, which % 2 ? &MODEL : NULL);
    } else if (which < 24) {
        (void)tu_service_load(service, storage);
    } else if (which < 28) {
        (void)tu_service_save(service, storage);
    } else {
        tu_service_health(service, &health);
        (void)tu_service_terms(service, told, 2);
    }
}

static void push(tu_service *service, tu_real *row, uint32_t many)
{
    for (uint32_t i = 0; i < many; i++) {
        row[0] += (tu_real)((int32_t)((i * 7 + many) % 17) - 8) / 64;
        row[1] += (tu_real)((int32_t)((i * 5 + many) % 13) - 6) / 64;
        (void)tu_service_push(service, row);
        (void)tu_service_work(service, 100);
    }
}

static void step(tu_service *service, disk *d, const tu_storage *storage, source *s, tu_real *row)
{
    uint32_t choice = take(s, 1), many = choice % LONGEST;
    size_t left = (size_t)(s->end - s->at), count = left < many ? left : many;
    switch (choice >> 5) {
    case 0:
        tu_service_receive(service, s->at, count), s->at += count;
        break;
    case 1:
        if (count) {
            send_frame(service, 0x80 | *s->at % 8, s->at + 1, count - 1), s->at += count;
        }
        break;
    case 2:
        send_model(service, s, many % 8);
        break;
    case 3: /* save, change, load */
        (void)tu_service_save(service, storage);
        finish_saving(service);
        forge(service, d, s, many % 8, many / 16);
        (void)tu_service_load(service, storage);
        break;
    case 4: /* change the saved state at a position chosen by the input */
        if (left > LONGEST) {
            uint32_t place = take(s, 2) * 2 % (sizeof d->bytes - LONGEST);
            memcpy(d->bytes + place, s->at, count - count / 8), s->at += count - count / 8;
        }
        break;
    case 5:
        other_call(service, d, storage, many);
        break;
    case 6:
        for (int i = 0; i < 3; i++) {
            uint32_t bits = word(s);
            float odd;
            memcpy(&odd, &bits, sizeof odd);
            row[i] = bits < 200 ? (tu_real)((int32_t)bits - 100) / 16 : (tu_real)odd;
        }
        push(service, row, 1);
        break;
    default:
        push(service, row, many);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static disk d;
    source s = {data, data + size};
    const board *b = board_of((int)(take(&s, 1) % SMALL_CONFIGS));
    tu_service *service = NULL;
    tu_real row[3] = {0}, dx[2];
    memset(&d, 0, sizeof d);
    REQUIRE(tu_service_start(&service, &b->plan, b->arena, b->learner_bytes, b->own, b->bytes) == TU_OK);
    const tu_storage storage = {write_disk, read_disk, &d, SLOT};
    const tu_line line = {send_line, NULL};
    tu_service_report(service, &line, 3, 17, &storage);
    while (s.at < s.end) {
        step(service, &d, &storage, &s, row);
        (void)tu_service_work(service, 50);
        (void)tu_service_predict(service, row, row + 2, dx);
    }
    return 0;
}
