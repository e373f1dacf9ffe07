/* A learner's whole state but for its newest samples, as a row of bytes that a power cut cannot tear.
 *
 * An image is a head (magic, version, fingerprint, sequence, length), the state, and a CRC-32 of both at its very end:
 * written in order, it is whole exactly when the CRC is right. Of two slots the older one is written, so that the newer
 * one stays until the new image is whole. Little-endian, 32-bit numbers: a chip's image is the host's, byte for byte.
 */
#ifndef TU_IMAGE_H
#define TU_IMAGE_H

#include "tinyude_service.h"

/* Bytes of a slot. */
uint32_t tu_image_bytes(tu_learner *learner);

/* An image on its way to storage. */
typedef struct {
    const tu_storage *storage; /* NULL: none is under way */
    uint32_t slot;             /* where it begins */
    uint32_t sequence;
    uint32_t written;
    uint32_t crc;
    const tu_storage *looked_at; /* whose newest whole image is known, and need not be read again: */
    int newest;                  /* its slot; -1: there is none */
    uint32_t newest_sequence;
} tu_image_writer;

/* Chooses the slot. A negative status when storage cannot take an image. */
int tu_image_begin(tu_image_writer *writer, tu_learner *learner, const tu_storage *storage, uint32_t fingerprint);

/* Writes one piece; the learner must not change in between. 1: there are more; 0: all is written; or a negative status.
 */
int tu_image_write(tu_image_writer *writer, tu_learner *learner, uint32_t fingerprint);

/* Puts a learner that was just initialised into the state of the newest whole image. Reads both slots, which the next
 * tu_image_begin then need not do.
 */
int tu_image_load(tu_image_writer *writer, tu_learner *learner, const tu_storage *storage, uint32_t fingerprint);

#endif
