/* Start-up code for every processor: fills the stack with a pattern, initialises data and bss. */
#include "board.h"
#include "machine.h"

#define PAINT 0x57ac57acu
enum { OWN_WORDS = 32 }; /* words below `here` that may be in use while the stack is filled */

extern uint32_t _data_load[], _data[], _data_end[], _bss[], _bss_end[], _stack[], _stack_end[];

int main(void);

static void paint_stack(void)
{
    volatile uint32_t here = 0;
    uintptr_t top = (uintptr_t)&here - OWN_WORDS * sizeof here;
    for (uint32_t *word = _stack; (uintptr_t)word < top; word++) {
        *(volatile uint32_t *)word = PAINT;
    }
}

uint32_t board_stack_bytes(void)
{
    const uint32_t *word = _stack;
    while (word < _stack_end && *word == PAINT) {
        word++;
    }
    return (uint32_t)((uintptr_t)_stack_end - (uintptr_t)word);
}

void board_start(void)
{
    paint_stack();
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data; to < _data_end; to++) {
        *(volatile uint32_t *)to = *from++;
    }
    for (uint32_t *to = _bss; to < _bss_end; to++) {
        *(volatile uint32_t *)to = 0;
    }
    machine_exit(main());
}

void board_fault(void)
{
    machine_print("fault: the stack overflowed, or a bad address or instruction was used\n");
    machine_exit(1);
}
