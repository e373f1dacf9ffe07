/* Xtensa LX with FPU and without register windows: vectors, start-up code, simulator calls. */
#include "board.h"
#include "machine.h"

enum { SYS_EXIT = 1, SYS_READ = 3, SYS_WRITE = 4, SYS_OPEN = 5, SYS_CLOSE = 6 };
/* Modes are passed unchanged to the host's open: these are Linux's. */
enum { READ_ONLY = 0, WRITE_CREATE_TRUNCATE = 0x241, OWNER_READS_AND_WRITES = 0600, STANDARD_OUTPUT = 1 };

void board_reset(void);

/* Kernel, user and double exceptions at their offsets from VECBASE; they reset the stack pointer. */
__asm__(".section .vectors, \"ax\"\n"
        ".globl board_reset\n"
        "vectors:\n"
        "    .space 0x300\n"
        "    j trap\n"
        "    .balign 64\n"
        "    j trap\n"
        "    .balign 128\n"
        "    .space 64\n"
        "    j trap\n"
        ".text\n"
        ".literal_position\n"
        "board_reset:\n"
        "    movi a2, 0\n"
        "    wsr a2, ps\n"
        "    movi a2, 1\n"
        "    wsr a2, cpenable\n" /* the FPU */
        "    movi a2, vectors\n"
        "    wsr a2, vecbase\n"
        "    rsync\n"
        "    movi a1, _stack_end\n"
        "    movi a0, board_start\n"
        "    jx a0\n"
        "trap:\n"
        "    movi a1, _stack_end\n"
        "    movi a0, board_fault\n"
        "    jx a0\n");

static int simulator_call(int operation, int a, int b, int c)
{
    register int a2 __asm__("a2") = operation;
    register int a3 __asm__("a3") = a;
    register int a4 __asm__("a4") = b;
    register int a5 __asm__("a5") = c;
    __asm__ volatile(".byte 0x00, 0x51, 0x00" /* SIMCALL */ : "+r"(a2), "+r"(a3) : "r"(a4), "r"(a5) : "memory");
    return a2;
}

int machine_open(const char *name, int writes)
{
    int mode = writes ? WRITE_CREATE_TRUNCATE : READ_ONLY;
    return simulator_call(SYS_OPEN, (int)(intptr_t)name, mode, OWNER_READS_AND_WRITES);
}

size_t machine_read(int file, void *to, size_t bytes)
{
    int got = simulator_call(SYS_READ, file, (int)(intptr_t)to, (int)bytes);
    return got < 0 ? bytes : bytes - (size_t)got;
}

size_t machine_write(int file, const void *from, size_t bytes)
{
    int put = simulator_call(SYS_WRITE, file, (int)(intptr_t)from, (int)bytes);
    return put < 0 ? bytes : bytes - (size_t)put;
}

void machine_close(int file) { simulator_call(SYS_CLOSE, file, 0, 0); }

void machine_print(const char *text)
{
    size_t length = 0;
    while (text[length]) {
        length++;
    }
    machine_write(STANDARD_OUTPUT, text, length);
}

void machine_exit(int status)
{
    simulator_call(SYS_EXIT, status, 0, 0);
    for (;;) {
    }
}

uint64_t board_instructions(void) { return 0; }
