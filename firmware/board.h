/* The emulated board as its programs see it: files and text by semihosting, an instruction counter, the stack's mark.
 *
 * There is no C library behind it. The counter is a timer under `qemu -icount shift=6`, where every instruction takes
 * 64 ns: it counts instructions, never cycles.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

enum { INSTRUCTION_NS = 64 };

/* A file of the computer that runs the emulator, in its working folder; negative when it cannot be opened. */
int board_open_input(const char *name);

/* 0 when all bytes were read; at the end of the file, the number that is missing. */
size_t board_read(int file, void *to, size_t bytes);

/* Writes a whole file; the program ends with status 1 when that fails. */
void board_save(const char *name, const void *from, size_t bytes);

/* A line of output: "name 123" or "name 0x3f800000". */
void board_print_count(const char *name, uint64_t value);
void board_print_bits(const char *name, uint32_t bits);

void board_print(const char *text);

/* Instructions since the first call; of no use on a machine whose timer is not emulated. */
uint64_t board_instructions(void);

/* The most stack that was ever used, in bytes; start-up code painted it. */
uint32_t board_stack_bytes(void);

#endif
