#include "service/image.h"

#include "service/crc.h"
#include "service/kept.h"

#include <string.h>

#define MAGIC 0x56535554u /* "TUSV" */

enum { PIECE = TU_SAVE_PIECE };

typedef struct {
    uint32_t magic;
    uint32_t version; /* of the format; precision in the upper half */
    uint32_t fingerprint;
    uint32_t sequence;
    uint32_t length; /* of the state */
    uint32_t reserved;
} head;

typedef struct {
    unsigned char *bytes;
    size_t count;
} span;

enum { SPANS = 4 }; /* head, numbers, and the arena before and behind the samples */

/* The parts of an image, in order. */
static void find_spans(tu_learner *l, head *start, tu_kept *kept, span spans[SPANS])
{
    unsigned char *stretch[2], *end[2];
    tu_kept_stretches(l, stretch, end);
    spans[0].bytes = (unsigned char *)start;
    spans[0].count = sizeof *start;
    spans[1].bytes = (unsigned char *)kept;
    spans[1].count = sizeof *kept;
    for (int i = 0; i < 2; i++) {
        spans[2 + i].bytes = stretch[i];
        spans[2 + i].count = (size_t)(end[i] - stretch[i]);
    }
}

static uint32_t state_bytes(tu_learner *l)
{
    span spans[SPANS];
    size_t bytes = 0;
    find_spans(l, NULL, NULL, spans);
    for (int i = 1; i < SPANS; i++) {
        bytes += i == 1 ? sizeof(tu_kept) : spans[i].count;
    }
    return (uint32_t)bytes;
}

static head head_of(tu_learner *l, uint32_t fingerprint, uint32_t sequence)
{
    head h = {MAGIC, TU_SAVE_VERSION | (uint32_t)sizeof(tu_real) << 16, fingerprint, sequence, 0, 0};
    h.length = state_bytes(l);
    return h;
}

uint32_t tu_image_bytes(tu_learner *l)
{
    uint32_t bytes = (uint32_t)sizeof(head) + state_bytes(l) + (uint32_t)sizeof(uint32_t);
    return (bytes + PIECE - 1) / PIECE * PIECE;
}

/* Copies bytes between a piece and the spans, starting at `offset` of the image: to the piece, or from it. */
static void transfer(const span spans[SPANS], uint32_t offset, unsigned char *piece, uint32_t count, int to_piece)
{
    size_t start = 0;
    for (int i = 0; i < SPANS; i++) {
        size_t from = offset > start ? offset : start, end = start + spans[i].count;
        end = end < (size_t)offset + count ? end : (size_t)offset + count;
        if (from < end) {
            unsigned char *own = spans[i].bytes + (from - start), *other = piece + (from - offset);
            memcpy(to_piece ? other : own, to_piece ? own : other, end - from);
        }
        start += spans[i].count;
    }
}

/* Checks the CRC of a slot's image, read piece by piece. Returns 1 if it is valid. */
static int is_whole(tu_learner *l, const tu_storage *storage, uint32_t slot, uint32_t fingerprint, uint32_t *sequence)
{
    unsigned char piece[PIECE];
    head found, wanted = head_of(l, fingerprint, 0);
    uint32_t end = (uint32_t)sizeof(head) + wanted.length, crc = TU_CRC32_START, stored = 0;
    for (uint32_t at = 0; at < tu_image_bytes(l); at += PIECE) {
        if (storage->read(storage->context, slot + at, piece, PIECE) != 0) {
            return 0;
        }
        if (at == 0) {
            memcpy(&found, piece, sizeof found);
            wanted.sequence = found.sequence;
            if (memcmp(&found, &wanted, sizeof found) != 0) {
                return 0;
            }
        }
        uint32_t own = at >= end ? 0 : end - at < PIECE ? end - at : PIECE;
        crc = tu_crc32(crc, piece, own);
        for (uint32_t i = own; i < PIECE && at + i < end + sizeof stored; i++) { /* may span two pieces */
            ((unsigned char *)&stored)[at + i - end] = piece[i];
        }
    }
    *sequence = wanted.sequence;
    return stored == ~crc;
}

/* Finds the slot of the newest valid image and its sequence number. */
static void find_newest(tu_image_writer *writer, tu_learner *l, const tu_storage *storage, uint32_t fingerprint)
{
    writer->known_storage = storage;
    writer->newest = -1;
    writer->newest_sequence = 0;
    for (int slot = 0; slot < 2; slot++) {
        uint32_t own;
        if (is_whole(l, storage, (uint32_t)slot * storage->slot_bytes, fingerprint, &own) &&
            (writer->newest < 0 || (int32_t)(own - writer->newest_sequence) > 0)) {
            writer->newest = slot;
            writer->newest_sequence = own;
        }
    }
}

/* Whether the newest image is still in its slot; reads only its head. */
static int is_there(const tu_image_writer *writer, tu_learner *l, const tu_storage *storage, uint32_t fingerprint)
{
    const head wanted = head_of(l, fingerprint, writer->newest_sequence);
    head found;
    uint32_t slot = writer->newest > 0 ? storage->slot_bytes : 0;
    return writer->newest >= 0 && storage->read(storage->context, slot, &found, (uint32_t)sizeof found) == 0 &&
           memcmp(&found, &wanted, sizeof found) == 0;
}

static int fits(tu_learner *l, const tu_storage *storage)
{
    return storage && storage->slot_bytes >= tu_image_bytes(l);
}

int tu_image_begin(tu_image_writer *writer, tu_learner *l, const tu_storage *storage, uint32_t fingerprint)
{
    if (!fits(l, storage)) {
        return TU_NO_STORAGE;
    }
    if (writer->known_storage != storage || !is_there(writer, l, storage, fingerprint)) {
        find_newest(writer, l, storage, fingerprint);
    }
    writer->slot = writer->newest == 0 ? storage->slot_bytes : 0;
    writer->sequence = writer->newest_sequence + 1;
    writer->written = 0;
    writer->crc = TU_CRC32_START;
    writer->storage = storage;
    return TU_OK;
}

int tu_image_write(tu_image_writer *writer, tu_learner *l, uint32_t fingerprint)
{
    unsigned char piece[PIECE] = {0};
    span spans[SPANS];
    tu_kept kept;
    head start = head_of(l, fingerprint, writer->sequence);
    const tu_storage *storage = writer->storage;
    uint32_t at = writer->written, end = (uint32_t)sizeof start + start.length;
    uint32_t own = at >= end ? 0 : end - at < PIECE ? end - at : PIECE;
    tu_kept_read(l, &kept);
    find_spans(l, &start, &kept, spans);
    transfer(spans, at, piece, PIECE, 1);
    writer->crc = tu_crc32(writer->crc, piece, own);
    uint32_t crc = ~writer->crc;
    for (uint32_t i = own; i < PIECE && at + i < end + sizeof crc; i++) {
        piece[i] = ((const unsigned char *)&crc)[at + i - end];
    }
    if (storage->write(storage->context, writer->slot + at, piece, PIECE) != 0) {
        writer->storage = NULL;
        return TU_STORAGE_FAILED;
    }
    writer->written = at + PIECE;
    if (writer->written < tu_image_bytes(l)) {
        return 1;
    }
    writer->storage = NULL;
    writer->newest = writer->slot ? 1 : 0;
    writer->newest_sequence = writer->sequence;
    return 0;
}

int tu_image_load(tu_image_writer *writer, tu_learner *l, const tu_storage *storage, uint32_t fingerprint)
{
    unsigned char piece[PIECE];
    span spans[SPANS];
    tu_kept kept;
    head start;
    uint32_t bytes = tu_image_bytes(l);
    if (!fits(l, storage)) {
        return TU_NO_STORAGE;
    }
    find_newest(writer, l, storage, fingerprint);
    if (writer->newest < 0) {
        return TU_NOTHING_SAVED;
    }
    find_spans(l, &start, &kept, spans);
    for (uint32_t at = 0; at < bytes; at += PIECE) {
        if (storage->read(storage->context, (uint32_t)writer->newest * storage->slot_bytes + at, piece, PIECE) != 0) {
            return TU_STORAGE_FAILED;
        }
        transfer(spans, at, piece, PIECE, 0);
    }
    return tu_kept_restore(l, &kept) ? TU_OK : TU_STORAGE_FAILED;
}
