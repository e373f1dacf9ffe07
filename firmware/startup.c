/* From reset to main on a Cortex-M: vectors, the FPU, the stack's paint, data and bss. */
#include "board.h"

#define PAINT 0x57ac57acu
#define CPACR (*(volatile uint32_t *)0xe000ed88u)

extern uint32_t _data_load[], _data[], _data_end[], _bss[], _bss_end[], _stack[], _stack_end[];

int main(void);
void board_tick(void);
void board_reset(void);

static void fault(void)
{
    board_print("fault: the stack overflowed, or a bad address or instruction was used\n");
    board_exit(1);
}

typedef void handler(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler *handlers[15];
} vectors = {_stack_end, {board_reset, fault, fault, fault, fault, fault, 0, 0, 0, 0, fault, fault, 0, fault, board_tick}};

/* The part of the stack that nothing has used yet. */
static void paint_stack(void)
{
    uint32_t *here;
    __asm__ volatile("mov %0, sp" : "=r"(here));
    for (uint32_t *word = _stack; word < here; word++) {
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

void board_reset(void)
{
#ifdef __ARM_FP
    CPACR |= 0xfu << 20; /* coprocessors 10 and 11 */
    __asm__ volatile("dsb\n\tisb");
#endif
    paint_stack();
    const uint32_t *from = _data_load;
    for (uint32_t *to = _data; to < _data_end; to++) {
        *(volatile uint32_t *)to = *from++;
    }
    for (uint32_t *to = _bss; to < _bss_end; to++) {
        *(volatile uint32_t *)to = 0;
    }
    board_exit(main());
}
