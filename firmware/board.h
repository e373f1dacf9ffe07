/* Interface of the emulated board: files and text by semihosting, an instruction counter, the stack's high-water mark.
 *
 * It uses no C library. The counter is a timer under `qemu -icount shift=6`, where every instruction takes 64 ns: it
 * counts instructions, never cycles.
 */
#ifndef BOARD_H
#define BOARD_H

#include <stddef.h>
#include <stdint.h>

enum { INSTRUCTION_NS = 64 };

/* Opens a file of the host, in the emulator's working folder; negative if it cannot be opened. */
int board_open_input(const char *name);

/* Returns 0 if all bytes were read; at the end of the file, the number of missing bytes. */
size_t board_read(int file, void *to, size_t bytes);

/* Writes a whole file; ends the program with status 1 on failure. */
void board_save(const char *name, const void *from, size_t bytes);

/* A line of output: "name 123" or "name 0x3f800000". */
void board_print_count(const char *name, uint64_t value);
void board_print_bits(const char *name, uint32_t bits);

void board_print(const char *text);

/* Instructions since the first call; valid only with an emulated timer. */
uint64_t board_instructions(void);

/* Maximum stack use so far, in bytes; start-up code fills the stack with a pattern. */
uint32_t board_stack_bytes(void);

#endif
