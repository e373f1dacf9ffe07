/* RV32: start-up code, the FPU, semihosting instructions, the instruction counter. */
#include "board.h"
#include "machine.h"
#include "semihosting.h"

void board_reset(void);

/* Traps reset the stack pointer: a bad stack may be their cause. */
__asm__(".option arch, +zicsr\n"
        ".section .vectors, \"ax\"\n"
        ".globl board_reset\n"
        ".align 2\n"
        "board_reset:\n"
        "    la sp, _stack_end\n"
        "    la t0, trap\n"
        "    csrw mtvec, t0\n"
        "    li t0, 0x2000\n" /* the FPU, if present: mstatus.FS */
        "    csrs mstatus, t0\n"
        "    j board_start\n"
        ".align 2\n"
        "trap:\n"
        "    la sp, _stack_end\n"
        "    j board_fault\n");

int semihost(int operation, const void *argument)
{
    register int a0 __asm__("a0") = operation;
    register const void *a1 __asm__("a1") = argument;
    __asm__ volatile(".option push\n\t"
                     ".option norvc\n\t"
                     ".balign 16\n\t" /* all three on one page */
                     "slli x0, x0, 0x1f\n\t"
                     "ebreak\n\t"
                     "srai x0, x0, 7\n\t"
                     ".option pop"
                     : "+r"(a0)
                     : "r"(a1)
                     : "memory");
    return a0;
}

/* QEMU advances minstret by the emulated time. */
uint64_t board_instructions(void)
{
    static uint64_t first;
    uint32_t high, low, again;
    do { /* repeat if the high word changed */
        __asm__ volatile("csrr %0, minstreth\n\tcsrr %1, minstret\n\tcsrr %2, minstreth"
                         : "=r"(high), "=r"(low), "=r"(again));
    } while (high != again);
    uint64_t now = ((uint64_t)high << 32 | low) / INSTRUCTION_NS;
    first = first ? first : now;
    return now - first;
}
