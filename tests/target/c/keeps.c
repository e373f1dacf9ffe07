/* An export called "model" whose storage is an adapter of its examples: power fails between any two pieces of a save.
 */
#include "model.h"
#include "storage.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition) check(condition, #condition, __LINE__)

static const tu_storage *inner;
static int32_t left; /* pieces until the power fails */

static void check(int is_true, const char *text, int line)
{
    if (!is_true) {
        fprintf(stderr, "keeps.c:%d: %s\n", line, text);
        exit(1);
    }
}

static int cut_write(void *unused, uint32_t offset, const void *bytes, uint32_t count)
{
    (void)unused;
    return left-- <= 0 ? -1 : inner->write(inner->context, offset, bytes, count);
}

static int whole_read(void *unused, uint32_t offset, void *bytes, uint32_t count)
{
    (void)unused;
    return inner->read(inner->context, offset, bytes, count);
}

static tu_storage outer = {cut_write, whole_read, NULL, 0};

static void power_up(void)
{
    CHECK(model_start() == TU_OK);
    inner = open_storage();
    CHECK(inner != NULL && inner->slot_bytes >= tu_service_save_bytes(model_service()));
    outer.slot_bytes = inner->slot_bytes;
}

static void live(int samples)
{
    static int tick;
    float row[MODEL_ROW];
    for (int i = 0; i < samples; i++, tick++) {
        for (int j = 0; j < MODEL_ROW; j++) {
            row[j] = sinf(0.03f * (float)(tick + 40 * j)) + 1e-3f * (float)(tick * (17 + j) % 23);
        }
        CHECK(model_push(row));
        while (model_work(100)) {
        }
    }
}

static tu_health save(int32_t pieces)
{
    tu_health health;
    left = pieces;
    CHECK(model_save(&outer) == TU_OK);
    while (model_work(100)) {
    }
    model_health(&health);
    return health;
}

/* The samples that the learner has seen, which a saved state contains, and its sums with them. */
static uint32_t samples_seen(void)
{
    tu_view view;
    tu_learner_view(model_learner(), &view);
    return view.samples;
}

int main(void)
{
    int32_t pieces;
    power_up();
    CHECK(model_load(&outer) == TU_NOTHING_SAVED);
    pieces = (int32_t)(tu_service_save_bytes(model_service()) / TU_SAVE_PIECE);
    live(100);
    CHECK(save(pieces).save_errors == 0);
    uint32_t kept = samples_seen();
    for (int32_t cut = 0; cut <= pieces; cut++) {
        live(10);
        uint32_t now = samples_seen();
        CHECK(now > kept && save(cut).save_errors == (cut < pieces));
        power_up();
        CHECK(model_load(&outer) == TU_OK && samples_seen() == (cut < pieces ? kept : now));
        kept = samples_seen();
    }
    printf("%d cuts\n", (int)pieces);
    return 0;
}
