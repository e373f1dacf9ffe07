/* Consistent overhead byte stuffing: encodes any bytes without a 0, which then ends a frame. */
#ifndef TU_COBS_H
#define TU_COBS_H

#include <stddef.h>
#include <stdint.h>

/* Maximum encoded size of `count` bytes, with the 0 at the end. */
#define TU_COBS_BYTES(count) ((count) + (count) / 254 + 2)

/* Writes the encoded bytes and a 0. Returns how many. */
size_t tu_cobs_encode(const uint8_t *from, size_t count, uint8_t *to);

/* Decodes a frame without its 0, in place. Returns the number of bytes; 0: not a valid frame. */
size_t tu_cobs_decode(uint8_t *bytes, size_t count);

#endif
