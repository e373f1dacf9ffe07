/* libFuzzer target for the service layer: any bytes on the serial line, any content of the storage, calls in any order.
 */
#include "small.h"
#include "tinyude_service.h"

#include <string.h>

enum { SLOT = 1 << 15, LONGEST = 32 };

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

static const tu_known KNOWN = {field, jacobian, terms, sensitivity, NULL, &tu_network, &tu_fusion, NULL};
static const char *const STATES[] = {"theta", "omega"}, *const INPUTS[] = {"tau"}, *const PARAMETERS[] = {"k"};
static const char *const TERMS[] = {"theta", "omega"};
static const tu_real BASE[] = {1};
static const tu_plan PLAN = {&SMALL, &KNOWN, NULL, 0x1234u, 8, 2, "rig", STATES, INPUTS, PARAMETERS, BASE, TERMS};

typedef struct {
    uint8_t bytes[2 * SLOT];
    int failing; /* calls until one fails; 0: none does */
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
        sum = (uint8_t)(sum + bytes[i]); /* every byte that is sent was written before */
    }
    return sum != 1;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const uint8_t *end = data + size;
    size_t learner_bytes = tu_learner_bytes(&SMALL), bytes = tu_service_bytes(&PLAN);
    unsigned char *arena = malloc(learner_bytes), *own = malloc(bytes);
    disk *d = calloc(1, sizeof *d);
    tu_service *service = NULL;
    tu_real row[3] = {0}, dx[2];
    REQUIRE(arena && own && d && tu_service_start(&service, &PLAN, arena, learner_bytes, own, bytes) == TU_OK);
    const tu_storage storage = {write_disk, read_disk, d, SLOT};
    const tu_line line = {send_line, NULL};
    tu_service_report(service, &line, 1, 7, &storage);
    while (data < end) {
        uint8_t choice = *data++;
        size_t count = (size_t)(end - data) < choice % LONGEST ? (size_t)(end - data) : choice % LONGEST;
        switch (choice >> 5) {
        case 0:
            tu_service_receive(service, data, count), data += count;
            break;
        case 1: /* what is saved is changed, at a place that the bytes choose */
            if (count > 2) {
                size_t place = (size_t)(data[0] << 8 | data[1]) * 2 % (sizeof d->bytes - LONGEST);
                memcpy(d->bytes + place, data + 2, count - 2);
            }
            data += count;
            break;
        case 2:
            (void)tu_service_load(service, &storage);
            break;
        case 3:
            (void)tu_service_save(service, &storage);
            break;
        case 4:
            d->failing = choice % 8;
            break;
        case 5:
            tu_service_skip(service, (uint32_t)choice << (choice % 25));
            break;
        case 6:
            (void)tu_service_restart(service, NULL);
            break;
        default:
            for (int i = 0; i < choice % LONGEST; i++) {
                row[0] += (tu_real)((i * 7 + choice) % 17 - 8) / 64;
                row[1] += (tu_real)((i * 5 + choice) % 13 - 6) / 64;
                (void)tu_service_push(service, row);
                (void)tu_service_work(service, 100);
            }
        }
        (void)tu_service_work(service, 50);
        (void)tu_service_predict(service, row, row + 2, dx);
    }
    free(d);
    free(own);
    free(arena);
    return 0;
}
