/* A learner's state without its newest samples, as an image that is safe against a power cut.
 *
 * An image is a head (magic, version, fingerprint, sequence, length), the state, and a CRC-32 of both at the end. It is
 * written in order, so it is complete exactly when the CRC is right. Of two slots the older one is overwritten, so the
 * newer one remains until the new image is complete. Numbers are little-endian, 32 bits: images of chip and host are
 * identical, byte for byte.
 */
#ifndef TU_IMAGE_H
#define TU_IMAGE_H

#include "tinyude_service.h"

/* Size of a slot in bytes. */
uint32_t tu_image_bytes(tu_learner *learner);

/* State of an image that is being written. */
typedef struct {
    const tu_storage *storage; /* NULL: none is being written */
    uint32_t slot;             /* offset of its slot */
    uint32_t sequence;
    uint32_t written;
    uint32_t crc;
    const tu_storage *known_storage; /* storage whose newest valid image is known and need not be read again: */
    int newest;                      /* its slot; -1: there is none */
    uint32_t newest_sequence;
} tu_image_writer;

/* Chooses the slot. Returns a negative status if storage cannot hold an image. */
int tu_image_begin(tu_image_writer *writer, tu_learner *learner, const tu_storage *storage, uint32_t fingerprint);

/* Writes one piece; the learner must not change between pieces. Returns 1 if there are more, 0 if all is written, or a
 * negative status.
 */
int tu_image_write(tu_image_writer *writer, tu_learner *learner, uint32_t fingerprint);

/* Restores the newest valid image into a newly initialised learner. Reads both slots, so the next tu_image_begin need
 * not.
 */
int tu_image_load(tu_image_writer *writer, tu_learner *learner, const tu_storage *storage, uint32_t fingerprint);

#endif
