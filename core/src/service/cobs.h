/* Consistent overhead byte stuffing: any bytes as bytes without a 0, which then ends a frame. */
#ifndef TU_COBS_H
#define TU_COBS_H

#include <stddef.h>
#include <stdint.h>

/* Bytes that so many become at most, with the 0 at the end. */
#define TU_COBS_BYTES(count) ((count) + (count) / 254 + 2)

/* Writes the stuffed bytes and a 0; how many. */
size_t tu_cobs_encode(const uint8_t *from, size_t count, uint8_t *to);

/* The bytes behind a frame without its 0, in place. 0: no such frame. */
size_t tu_cobs_decode(uint8_t *bytes, size_t count);

#endif
