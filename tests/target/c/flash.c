/* Saved states on pages of a simulated flash: programming only clears bits, a power cut may fall anywhere, pages wear.
 */
#define ONE_BOARD
#include "board.h"

#include "tinyude_flash.h"

enum { PAGES = 160, MOST_PAGE = 4096 };

typedef struct {
    unsigned char bytes[PAGES * MOST_PAGE];
    uint32_t wear[PAGES];
    uint32_t page_bytes;
    uint32_t weak, endurance; /* a page, and how often it can be erased; 0: always */
    uint32_t left;            /* bytes to erase or to program until the power cut */
    uint32_t random;
} pages;

static pages memory;

static uint32_t until_cut(pages *p, uint32_t bytes)
{
    uint32_t done = bytes < p->left ? bytes : p->left;
    p->left -= done;
    return done;
}

/* Erasing cut short leaves any of the bits set that were not. */
static int erase(void *context, uint32_t page_offset)
{
    pages *p = context;
    uint32_t page = page_offset / p->page_bytes, done;
    CHECK(page_offset % p->page_bytes == 0 && page < PAGES);
    if (p->left == 0) {
        return -1;
    }
    done = until_cut(p, p->page_bytes);
    p->wear[page]++;
    for (uint32_t i = 0; i < p->page_bytes; i++) {
        p->bytes[page_offset + i] |= done == p->page_bytes ? 0xffu : (unsigned char)draw(&p->random);
    }
    if (p->endurance && page == p->weak && p->wear[page] > p->endurance) {
        p->bytes[page_offset + p->page_bytes / 2] = 0x55; /* bits that cannot be set any more */
    }
    return done < p->page_bytes;
}

static int program(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    pages *p = context;
    const unsigned char *from = bytes;
    CHECK(count == TU_SAVE_PIECE && offset % count == 0 && offset + count <= PAGES * p->page_bytes);
    uint32_t done = until_cut(p, count);
    for (uint32_t i = 0; i < done; i++) {
        CHECK(p->bytes[offset + i] == 0xff || p->endurance); /* erased before, and not written since */
        p->bytes[offset + i] &= from[i];
    }
    if (done < count && done) { /* the byte at the cut: some of its bits */
        p->bytes[offset + done - 1] |= (unsigned char)draw(&p->random);
    }
    return done < count;
}

static int read_back(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    const pages *p = context;
    CHECK(offset + count <= PAGES * p->page_bytes);
    memcpy(bytes, p->bytes + offset, count);
    return 0;
}

static tu_flash new_flash(uint32_t page_bytes, uint32_t used, uint32_t seed)
{
    tu_flash f = {erase, program, read_back, &memory, page_bytes, used};
    memset(&memory, 0, sizeof memory);
    memset(memory.bytes, 0xa5, sizeof memory.bytes); /* whatever was there before */
    memory.page_bytes = page_bytes;
    memory.left = UINT32_MAX;
    memory.random = seed;
    return f;
}

static tu_config small_config(void)
{
    tu_config config = base_config();
    config.reservoir = 20;
    config.holdout = 4;
    config.batch = 4;
    return config;
}

static unsigned char *image_of(board *b)
{
    flash f;
    save_all(b, &f);
    return f.bytes;
}

static uint32_t most_wear(uint32_t used, uint32_t *least)
{
    uint32_t most = 0;
    *least = UINT32_MAX;
    for (uint32_t i = 0; i < used; i++) {
        most = memory.wear[i] > most ? memory.wear[i] : most;
        *least = memory.wear[i] < *least ? memory.wear[i] : *least;
    }
    return most;
}

/* A board whose power fails within every other save: it goes on from the newest whole state, with its bits. */
static void random_cuts_leave_a_whole_state(uint32_t page_bytes, uint32_t areas, int cuts)
{
    tu_config config = small_config();
    tu_flash_storage storage;
    board b;
    plant p;
    board_start(&b, &config);
    plant_start(&p, config.states, 9);
    push_stream(&b, &p, 1500);
    uint32_t bytes = tu_service_save_bytes(b.service), whole = TU_SAVE_PIECE + bytes;
    uint32_t used = (whole + page_bytes - 1) / page_bytes * areas, least;
    tu_flash f = new_flash(page_bytes, used, 3);
    CHECK(used <= PAGES && tu_flash_open(&storage, &f, bytes) == TU_OK);
    CHECK(storage.areas == (int32_t)areas && tu_service_load(b.service, &storage.storage) == TU_NOTHING_SAVED);
    unsigned char *kept = NULL;
    int old = 0, fresh = 0, span = (int)(whole + used / areas * page_bytes) * 5 / 4; /* some cuts come after the save */
    for (int i = 0; i < 2 * cuts; i++) {
        push_stream(&b, &p, 3);
        unsigned char *now = image_of(&b);
        memory.left = i % 2 ? draw(&memory.random) % (uint32_t)span : UINT32_MAX;
        CHECK(tu_service_save(b.service, &storage.storage) == TU_OK);
        run_all(&b);
        int is_done = b.service->save_errors == 0;
        CHECK(is_done || i % 2);
        memory.left = UINT32_MAX;
        board_free(&b);
        board_start(&b, &config);
        CHECK(tu_flash_open(&storage, &f, bytes) == TU_OK);
        CHECK(tu_service_load(b.service, &storage.storage) == TU_OK);
        unsigned char *found = image_of(&b);
        int is_new = memcmp(found, now, bytes) == 0;
        CHECK(is_new || (!is_done && memcmp(found, kept, bytes) == 0));
        fresh += is_new && i % 2;
        old += !is_new;
        free(kept);
        free(now);
        kept = found;
    }
    uint32_t most = most_wear(used, &least);
    CHECK(old > cuts / 2 && fresh > 0);
    CHECK(tu_flash_wear(&storage) + (uint32_t)cuts >= most && tu_flash_wear(&storage) <= most + 1);
    printf("%d random cuts, %u areas of %u-byte pages: %d times the state before, %d times the new one; wear %u to %u, "
           "counted %u\n",
           cuts, (unsigned)areas, (unsigned)page_bytes, old, fresh, (unsigned)least, (unsigned)most,
           (unsigned)tu_flash_wear(&storage));
    free(kept);
    board_free(&b);
}

/* Without cuts the count is exact, and no area is erased more than once more often than another. */
static void wear_is_levelled_and_counted(uint32_t areas)
{
    tu_config config = small_config();
    tu_flash_storage storage;
    board b;
    plant p;
    board_start(&b, &config);
    plant_start(&p, config.states, 9);
    push_stream(&b, &p, 500);
    uint32_t bytes = tu_service_save_bytes(b.service), used = (TU_SAVE_PIECE + bytes + 511) / 512 * areas, least;
    CHECK(used <= PAGES);
    tu_flash f = new_flash(512, used, 3);
    CHECK(tu_flash_open(&storage, &f, bytes) == TU_OK && tu_flash_wear(&storage) == 0);
    for (int i = 0; i < 100; i++) {
        CHECK(tu_service_save(b.service, &storage.storage) == TU_OK);
        run_all(&b);
        CHECK(b.service->save_errors == 0);
    }
    uint32_t most = most_wear(used, &least);
    CHECK(most - least <= 1 && most == (100 + areas - 1) / areas && tu_flash_wear(&storage) == most);
    CHECK(tu_flash_open(&storage, &f, bytes) == TU_OK && tu_flash_wear(&storage) == most);
    board_free(&b);
}

/* A page that has worn out costs the save that finds it; from then on the others are used, until two are left. */
static void worn_pages_are_left_out(void)
{
    enum { AREAS = 4 };
    tu_config config = small_config();
    tu_flash_storage storage;
    board b;
    plant p;
    board_start(&b, &config);
    plant_start(&p, config.states, 9);
    push_stream(&b, &p, 500);
    uint32_t bytes = tu_service_save_bytes(b.service), used = (TU_SAVE_PIECE + bytes + 511) / 512 * AREAS;
    tu_flash f = new_flash(512, used, 3);
    CHECK(tu_flash_open(&storage, &f, bytes) == TU_OK);
    memory.weak = used / AREAS + 1; /* in the second area */
    memory.endurance = 5;
    for (int i = 0; i < 20 * AREAS; i++) {
        CHECK(tu_service_save(b.service, &storage.storage) == TU_OK);
        run_all(&b);
    }
    CHECK(b.service->save_errors == 1 && memory.wear[memory.weak] == 6 && tu_flash_wear(&storage) == 25);
    CHECK(tu_flash_open(&storage, &f, bytes) == TU_OK && tu_service_load(b.service, &storage.storage) == TU_OK);
    board_free(&b);
}

static int never(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    (void)context, (void)offset, (void)bytes, (void)count;
    return -1;
}

static void impossible_flash_is_rejected(void)
{
    tu_flash_storage storage;
    tu_flash f = new_flash(1024, 80, 3);
    uint32_t least = 1024 - TU_SAVE_PIECE;
    char piece[TU_SAVE_PIECE] = {0};
    CHECK(tu_flash_open(&storage, &f, least) == TU_OK && storage.areas == TU_FLASH_AREAS);
    CHECK(storage.storage.write(&storage, TU_SAVE_PIECE, piece, TU_SAVE_PIECE) != 0); /* not begun */
    CHECK(storage.storage.write(&storage, 2 * least, piece, TU_SAVE_PIECE) != 0);
    CHECK(storage.storage.read(&storage, 0, piece, TU_SAVE_PIECE) != 0);
    memory.left = 0;
    CHECK(storage.storage.write(&storage, 0, piece, TU_SAVE_PIECE) != 0);
    f.read = never;
    CHECK(tu_flash_open(&storage, &f, least) == TU_STORAGE_FAILED);
    f.pages = 1;
    CHECK(tu_flash_open(&storage, &f, least) == TU_NO_STORAGE);
    f.pages = UINT32_MAX;
    CHECK(tu_flash_open(&storage, &f, least) == TU_NO_STORAGE);
    f.page_bytes = 100;
    CHECK(tu_flash_open(&storage, &f, least) == TU_NO_STORAGE);
    f.page_bytes = 0;
    CHECK(tu_flash_open(&storage, &f, least) == TU_NO_STORAGE);
}

int main(void)
{
    random_cuts_leave_a_whole_state(512, 2, 300);
    random_cuts_leave_a_whole_state(1024, 3, 300);
    random_cuts_leave_a_whole_state(4096, 5, 300);
    wear_is_levelled_and_counted(2);
    wear_is_levelled_and_counted(3);
    wear_is_levelled_and_counted(5);
    worn_pages_are_left_out();
    impossible_flash_is_rejected();
    return 0;
}
