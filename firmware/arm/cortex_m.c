/* Cortex-M start-up: vectors and the FPU. */
#include "machine.h"
#include "systick.h"

#include <stdint.h>

#define CPACR (*(volatile uint32_t *)0xe000ed88u)

extern uint32_t _stack_end[];

void board_reset(void);

typedef void handler(void);

__attribute__((section(".vectors"), used)) static const struct {
    uint32_t *stack;
    handler *handlers[15];
} vectors = {_stack_end,
             {board_reset, board_fault, board_fault, board_fault, board_fault, board_fault, 0, 0, 0, 0, board_fault,
              board_fault, 0, board_fault, systick_wrapped}};

void board_reset(void)
{
#ifdef __ARM_FP
    CPACR |= 0xfu << 20; /* coprocessors 10 and 11 */
    __asm__ volatile("dsb\n\tisb");
#endif
    board_start();
}
