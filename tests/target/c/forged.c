/* Saved states whose checksum is right and whose content is not: rejected, or gone on from within the arena. */
#include "board.h"

#include "service/crc.h"
#include "service/kept.h"

enum { LEARNED = 1500, GONE_ON = 12, HEAD = 24, ARENA_EVERY = 311 };

static const uint32_t VALUES[] = {0xffffffffu, 0x7fffffffu, 0x7fc00000u, 0u, 64u};
enum { VALUE_COUNT = sizeof VALUES / sizeof VALUES[0] };

/* Numbers that choose places in memory. */
static void check_places(const tu_learner *l)
{
    const tu_window *window = &l->setup.window;
    CHECK(!l->calibrated || (window->half >= 1 && window->spacing >= 1 && window->half <= l->config->max_half &&
                             window->half * window->spacing <= l->config->max_half));
    CHECK(l->calibrated || l->calibrating);
    CHECK(l->calibration.next >= 0 && l->calibration.next < l->calibration.candidates);
    CHECK(l->bad_reason >= 0 && l->bad_reason < TU_REASONS && l->noise.seen >= 0 && l->library.windows >= 0);
    CHECK(l->config->second_order > 0 || !(l->setup.second_order > 0));
}

static void check_finite(tu_service *service, const tu_config *config)
{
    tu_real x[TU_MAX_STATES] = {(tu_real)0.3}, u[TU_MAX_INPUTS] = {0}, dx[TU_MAX_STATES];
    if (tu_service_predict(service, x, u, dx) == TU_OK) {
        for (int i = 0; i < config->states; i++) {
            CHECK(dx[i] - dx[i] == 0);
        }
    }
}

/* Loads a state with one word replaced; 1: it was taken. */
static int load_forged(board *b, plant p, const tu_storage *storage, const unsigned char *whole, uint32_t place,
                       uint32_t value)
{
    flash *f = storage->context;
    uint32_t length;
    memcpy(f->bytes, whole, f->size / 2);
    memcpy(&length, f->bytes + HEAD - 8, sizeof length);
    memcpy(f->bytes + HEAD + 4 * place, &value, sizeof value);
    uint32_t crc = ~tu_crc32(TU_CRC32_START, f->bytes, HEAD + length);
    memcpy(f->bytes + HEAD + length, &crc, sizeof crc);
    int status = tu_service_load(b->service, storage);
    CHECK(status == TU_OK || status == TU_STORAGE_FAILED);
    check_places(b->service->learner);
    check_finite(b->service, &b->config);
    push_stream(b, &p, GONE_ON);
    check_places(b->service->learner);
    return status == TU_OK;
}

static void forged_states_stay_in_the_arena(const setup *tried, int *taken, int *rejected)
{
    tu_config config = config_of(tried);
    board first, second;
    flash f;
    plant p;
    start_pair(&first, &second, &config, &p, 3, LEARNED);
    tu_storage storage = save_all(&first, &f);
    unsigned char *whole = malloc(storage.slot_bytes);
    memcpy(whole, f.bytes, storage.slot_bytes);
    uint32_t numbers = sizeof(tu_kept) / 4, all = (storage.slot_bytes - HEAD) / 4 - 64;
    for (uint32_t place = 0; place < all; place += place < numbers ? 1 : ARENA_EVERY) {
        for (int i = 0; i < VALUE_COUNT; i++) {
            int ok = load_forged(&second, p, &storage, whole, place, VALUES[i]);
            *taken += ok;
            *rejected += !ok;
        }
    }
    free(whole);
    free(f.bytes);
    board_free(&first);
    board_free(&second);
}

/* A reset while a state is being written: what is loaded later is the state before, not half of each. */
static void a_reset_ends_the_save(void)
{
    tu_config config = base_config();
    board b, other;
    flash f;
    plant p;
    start_pair(&b, &other, &config, &p, 5, LEARNED);
    tu_storage storage = save_all(&b, &f);
    CHECK(tu_service_load(other.service, &storage) == TU_OK);
    uint32_t samples = other.service->learner->counters.samples;
    push_stream(&b, &p, 300);
    CHECK(tu_service_save(b.service, &storage) == TU_OK);
    tu_service_work(b.service, 2);
    CHECK(b.service->write && tu_service_restart(b.service, NULL) == TU_OK);
    run_all(&b);
    CHECK(b.service->saves == 1 && tu_service_load(other.service, &storage) == TU_OK);
    CHECK(other.service->learner->counters.samples == samples);
    free(f.bytes);
    board_free(&b);
    board_free(&other);
}

int main(void)
{
    int taken = 0, rejected = 0;
    a_reset_ends_the_save();
    for (int i = 0; i < SETUPS_COUNT; i++) {
        forged_states_stay_in_the_arena(&SETUPS[i], &taken, &rejected);
    }
    CHECK(taken > 0 && rejected > 0);
    printf("forged states: %d taken, %d rejected\n", taken, rejected);
    return 0;
}
