#include "service/cobs.h"

size_t tu_cobs_encode(const uint8_t *from, size_t count, uint8_t *to)
{
    size_t code = 0, end = 1; /* position of the current run's length, and of the next byte written */
    for (size_t i = 0; i < count; i++) {
        if (from[i]) {
            to[end++] = from[i];
        }
        if (!from[i] || end - code == 255) {
            to[code] = (uint8_t)(end - code);
            code = end++;
        }
    }
    to[code] = (uint8_t)(end - code);
    to[end++] = 0;
    return end;
}

size_t tu_cobs_decode(uint8_t *bytes, size_t count)
{
    size_t in = 0, out = 0;
    while (in < count) {
        size_t run = bytes[in++];
        if (run == 0 || run - 1 > count - in) {
            return 0;
        }
        for (size_t i = 1; i < run; i++) {
            bytes[out++] = bytes[in++];
        }
        if (run < 255 && in < count) {
            bytes[out++] = 0;
        }
    }
    return out;
}
