#include "systick.h"

#include "board.h"

#define CONTROL (*(volatile uint32_t *)0xe000e010u)
#define RELOAD (*(volatile uint32_t *)0xe000e014u)
#define VALUE (*(volatile uint32_t *)0xe000e018u)
#define TOP 0xffffffu /* counts down from here */

enum { TICK_NS = 40 }; /* of the boards' 25 MHz */

static volatile uint32_t wraps;

void systick_wrapped(void) { wraps++; }

uint64_t board_instructions(void)
{
    uint32_t before, value;
    if (!CONTROL) {
        RELOAD = TOP;
        VALUE = 0;
        CONTROL = 7; /* on, with its interrupt, at the processor's clock */
        (void)VALUE;
    }
    do { /* repeat if it wrapped */
        before = wraps;
        value = VALUE;
    } while (before != wraps);
    uint64_t ticks = (uint64_t)before * (TOP + 1u) + (TOP - value);
    return ticks * TICK_NS / INSTRUCTION_NS;
}
