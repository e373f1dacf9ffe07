/* Two slots of saved states on areas of flash pages. */
#include "tinyude_flash.h"

#include "service/crc.h"

#include <string.h>

#define MAGIC 0x4c465554u  /* "TUFL" */
#define MOST 0x10000000u   /* bytes of a page or a state: no sum or product overflows */
#define FAILED 0xffffffffu /* erasures of an area that did not keep what was written */

enum { PIECE = TU_SAVE_PIECE };

/* The first piece of an area. */
typedef struct {
    uint32_t magic;
    uint32_t version;
    uint32_t sequence;
    uint32_t slot;
    uint32_t area_bytes;
    uint32_t areas;
    uint32_t erasures[TU_FLASH_AREAS];
    uint32_t crc; /* of all before it */
} head;

typedef char tu_flash_head_must_fit[sizeof(head) <= PIECE ? 1 : -1];

static uint32_t crc_of(const head *h) { return ~tu_crc32(TU_CRC32_START, h, offsetof(head, crc)); }

static head head_of(const tu_flash_storage *s, uint32_t slot)
{
    head h = {MAGIC, TU_FLASH_VERSION, s->sequence, slot, s->area_bytes, (uint32_t)s->areas, {0}, 0};
    memcpy(h.erasures, s->erasures, sizeof h.erasures);
    h.crc = crc_of(&h);
    return h;
}

static int is_valid(const tu_flash_storage *s, const head *h)
{
    return h->magic == MAGIC && h->version == TU_FLASH_VERSION && h->slot < 2 && h->area_bytes == s->area_bytes &&
           h->areas == (uint32_t)s->areas && h->crc == crc_of(h);
}

static uint32_t place_of(const tu_flash_storage *s, int32_t area) { return (uint32_t)area * s->area_bytes; }

/* The area for a slot's next state: with the fewest erasures, but not the other slot's, which may be the newest. */
static int32_t choose(const tu_flash_storage *s, uint32_t slot)
{
    int32_t other = s->area[1 - slot], best = other == 0 ? 1 : 0;
    for (int32_t area = best + 1; area < s->areas; area++) {
        if (area != other && s->erasures[area] < s->erasures[best]) {
            best = area;
        }
    }
    return best;
}

/* Programs a piece, after erasing the page that it begins. */
static int put(tu_flash_storage *s, int32_t area, uint32_t at, const void *bytes)
{
    unsigned char kept[PIECE];
    const tu_flash *f = s->flash;
    uint32_t place = place_of(s, area) + at;
    int done = (place % f->page_bytes != 0 || f->erase(f->context, place) == 0) &&
               f->program(f->context, place, bytes, PIECE) == 0 && f->read(f->context, place, kept, PIECE) == 0 &&
               memcmp(kept, bytes, PIECE) == 0;
    if (!done) {
        s->erasures[area] = FAILED;
    }
    return !done;
}

/* Begins a slot's next state in another area. */
static int begin(tu_flash_storage *s, uint32_t slot)
{
    unsigned char piece[PIECE];
    int32_t area = choose(s, slot);
    s->area[slot] = -1;
    s->erasures[area] += s->erasures[area] < FAILED - 1;
    s->sequence++;
    head h = head_of(s, slot);
    memset(piece, 0xff, sizeof piece);
    memcpy(piece, &h, sizeof h);
    if (put(s, area, 0, piece) != 0) {
        return TU_STORAGE_FAILED;
    }
    s->area[slot] = area;
    return 0;
}

static int write_piece(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    tu_flash_storage *s = context;
    uint32_t slot = offset / s->storage.slot_bytes, at = offset % s->storage.slot_bytes;
    if (slot > 1 || count != PIECE || (at == 0 && begin(s, slot) != 0) || s->area[slot] < 0) {
        return TU_STORAGE_FAILED;
    }
    return put(s, s->area[slot], PIECE + at, bytes);
}

static int read_bytes(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    const tu_flash_storage *s = context;
    uint32_t slot = offset / s->storage.slot_bytes, at = offset % s->storage.slot_bytes;
    if (slot > 1 || s->area[slot] < 0) {
        return TU_STORAGE_FAILED;
    }
    return s->flash->read(s->flash->context, place_of(s, s->area[slot]) + PIECE + at, bytes, count);
}

/* Reads the heads of all areas: the newest of each slot, and of all the counts. */
static int find_areas(tu_flash_storage *s)
{
    uint32_t newest[2] = {0, 0};
    int found = 0;
    for (int32_t area = 0; area < s->areas; area++) {
        head h;
        if (s->flash->read(s->flash->context, place_of(s, area), &h, (uint32_t)sizeof h) != 0) {
            return TU_STORAGE_FAILED;
        }
        if (!is_valid(s, &h)) {
            continue;
        }
        if (s->area[h.slot] < 0 || (int32_t)(h.sequence - newest[h.slot]) > 0) {
            s->area[h.slot] = area;
            newest[h.slot] = h.sequence;
        }
        if (!found || (int32_t)(h.sequence - s->sequence) > 0) {
            found = 1;
            s->sequence = h.sequence;
            memcpy(s->erasures, h.erasures, sizeof s->erasures);
        }
    }
    return TU_OK;
}

int tu_flash_open(tu_flash_storage *s, const tu_flash *flash, uint32_t state_bytes)
{
    uint32_t page = flash->page_bytes;
    memset(s, 0, sizeof *s);
    if (page == 0 || page % PIECE != 0 || page > MOST || state_bytes > MOST || flash->pages > UINT32_MAX / page) {
        return TU_NO_STORAGE;
    }
    uint32_t pages = (PIECE + state_bytes + page - 1) / page, areas = flash->pages / pages;
    s->storage.write = write_piece;
    s->storage.read = read_bytes;
    s->storage.context = s;
    s->flash = flash;
    s->area_bytes = pages * page;
    s->storage.slot_bytes = s->area_bytes - PIECE;
    s->areas = areas < TU_FLASH_AREAS ? (int32_t)areas : TU_FLASH_AREAS;
    s->area[0] = s->area[1] = -1;
    return areas < 2 ? TU_NO_STORAGE : find_areas(s);
}

uint32_t tu_flash_wear(const tu_flash_storage *s)
{
    uint32_t most = 0;
    for (int32_t area = 0; area < s->areas; area++) {
        uint32_t own = s->erasures[area];
        most = own != FAILED && own > most ? own : most;
    }
    return most;
}
