/* The input of a fuzz target, read as a list of choices; at its end every choice is 0. */
#ifndef FUZZ_SOURCE_H
#define FUZZ_SOURCE_H

#include <stdint.h>

typedef struct {
    const uint8_t *at;
    const uint8_t *end;
} source;

static uint32_t take(source *s, int bytes)
{
    uint32_t value = 0;
    while (bytes-- > 0 && s->at < s->end) {
        value = value << 8 | *s->at++;
    }
    return value;
}

#endif
