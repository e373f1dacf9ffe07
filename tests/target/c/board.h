/* A service on a board of its own, and memory that outlives its power. */
#ifndef BOARD_H
#define BOARD_H

#include "plant.h"

#include "service/service_state.h"

#include <string.h>

enum { DEPTH = 24 };

/* Memory that keeps what was written, and whose power can be cut within a write. */
typedef struct {
    unsigned char *bytes;
    uint32_t size;
    uint32_t left; /* bytes until the cut */
} flash;

static int flash_write(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    flash *f = context;
    uint32_t whole = count < f->left ? count : f->left;
    CHECK(offset % TU_SAVE_PIECE == 0 && offset + count <= f->size);
    memcpy(f->bytes + offset, bytes, whole);
    f->left -= whole;
    return whole < count;
}

static int flash_read(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    const flash *f = context;
    CHECK(offset + count <= f->size);
    memcpy(bytes, f->bytes + offset, count);
    return 0;
}

static tu_storage storage_of(flash *f, uint32_t slot_bytes)
{
    tu_storage storage = {flash_write, flash_read, f, slot_bytes};
    f->size = 2 * slot_bytes;
    f->left = UINT32_MAX;
    f->bytes = malloc(f->size);
    memset(f->bytes, 0xff, f->size);
    return storage;
}

/* A service between its arenas. */
typedef struct {
    tu_config config;
    tu_known known;
    tu_plan plan;
    tu_service *service;
    void *arenas[2];
} board;

static void board_start(board *b, const tu_config *config)
{
    static const tu_real base[TU_MAX_STATES] = {0};
    memset(b, 0, sizeof *b);
    b->config = *config;
    b->known = known_of(&b->config);
    b->plan.config = &b->config;
    b->plan.known = &b->known;
    b->plan.fingerprint = 77;
    b->plan.fifo_depth = DEPTH;
    b->plan.interval = 2;
    b->plan.parameter_base = base;
    b->plan.name = "plant";
    size_t own = tu_service_bytes(&b->plan), learner = tu_learner_bytes(&b->config);
    b->arenas[0] = malloc(learner);
    b->arenas[1] = malloc(own);
    CHECK(tu_service_start(&b->service, &b->plan, b->arenas[0], learner, b->arenas[1], own) == TU_OK);
}

static void board_free(board *b)
{
    free(b->arenas[0]);
    free(b->arenas[1]);
}

static void run_all(board *b)
{
    while (tu_service_work(b->service, 100)) {
    }
}

/* Saves the state into an erased flash. */
static tu_storage save_all(board *b, flash *f)
{
    tu_storage storage = storage_of(f, tu_service_save_bytes(b->service));
    CHECK(tu_service_save(b->service, &storage) == TU_OK);
    run_all(b);
    return storage;
}

static void push_stream(board *b, plant *p, int samples)
{
    tu_real row[MAX_ROW];
    for (int i = 0; i < samples; i++) {
        plant_row(p, &b->config, 0.002, row);
        CHECK(tu_service_push(b->service, row));
        run_all(b);
    }
}

#ifndef ONE_BOARD
/* Two boards alike; the first has learned from a stream. */
static void start_pair(board *first, board *second, const tu_config *config, plant *p, uint32_t seed, int samples)
{
    board_start(first, config);
    board_start(second, config);
    plant_start(p, config->states, seed);
    push_stream(first, p, samples);
}
#endif

#endif
