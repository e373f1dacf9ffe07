/* Semihosting (Arm's "Semihosting for AArch32 and AArch64") and SysTick. */
#include "board.h"

enum { SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT = 0x20 };
enum { READ_BINARY = 1, WRITE_BINARY = 5 };

#define STOPPED_BY_APPLICATION 0x20026u
#define SYSTICK_CONTROL (*(volatile uint32_t *)0xe000e010u)
#define SYSTICK_RELOAD (*(volatile uint32_t *)0xe000e014u)
#define SYSTICK_VALUE (*(volatile uint32_t *)0xe000e018u)
#define SYSTICK_TOP 0xffffffu /* counts down from here */

/* A tick of the boards' 25 MHz takes 40 ns, an instruction 64 ns. */
enum { TICK_NS = 40, INSTRUCTION_NS = 64 };

void board_tick(void);

static int semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
    return r0;
}

static int open(const char *name, uint32_t mode)
{
    uint32_t length = 0;
    while (name[length]) {
        length++;
    }
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, mode, length};
    return semihost(SYS_OPEN, block);
}

int board_open_input(const char *name) { return open(name, READ_BINARY); }

size_t board_read(int file, void *to, size_t bytes)
{
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)to, (uint32_t)bytes};
    return (size_t)semihost(SYS_READ, block);
}

void board_save(const char *name, const void *from, size_t bytes)
{
    int file = open(name, WRITE_BINARY);
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)from, (uint32_t)bytes};
    if (file < 0 || (bytes && semihost(SYS_WRITE, block) != 0)) {
        board_print("cannot write ");
        board_print(name);
        board_print("\n");
        board_exit(1);
    }
    semihost(SYS_CLOSE, block);
}

void board_print(const char *text) { semihost(SYS_WRITE0, text); }

static void print_line(const char *name, const char *value)
{
    board_print(name);
    board_print(" ");
    board_print(value);
    board_print("\n");
}

void board_print_count(const char *name, uint64_t value)
{
    char digits[21], *first = digits + 20;
    *first = '\0';
    do {
        *--first = (char)('0' + (int)(value % 10u));
        value /= 10u;
    } while (value);
    print_line(name, first);
}

void board_print_bits(const char *name, uint32_t bits)
{
    char digits[11] = "0x";
    for (int i = 0; i < 8; i++) {
        digits[2 + i] = "0123456789abcdef"[(bits >> (28 - 4 * i)) & 15u];
    }
    digits[10] = '\0';
    print_line(name, digits);
}

void board_exit(int status)
{
    const uint32_t block[2] = {STOPPED_BY_APPLICATION, (uint32_t)status};
    semihost(SYS_EXIT, block);
    for (;;) {
    }
}

static volatile uint32_t wraps;

void board_tick(void) { wraps++; }

uint64_t board_instructions(void)
{
    uint32_t before, value;
    if (!SYSTICK_CONTROL) {
        SYSTICK_RELOAD = SYSTICK_TOP;
        SYSTICK_VALUE = 0;
        SYSTICK_CONTROL = 7; /* on, with its interrupt, at the processor's clock */
        (void)SYSTICK_VALUE;
    }
    do { /* not across a wrap */
        before = wraps;
        value = SYSTICK_VALUE;
    } while (before != wraps);
    uint64_t ticks = (uint64_t)before * (SYSTICK_TOP + 1u) + (SYSTICK_TOP - value);
    return ticks * TICK_NS / INSTRUCTION_NS;
}
