/* What a kind of processor brings to the board, in a folder of its own: files and text of the computer that runs the
 * emulator, and the way from reset to board_start. */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* Negative when the file cannot be opened. */
int machine_open(const char *name, int writes);

/* Bytes that could not be read, or written. */
size_t machine_read(int file, void *to, size_t bytes);
size_t machine_write(int file, const void *from, size_t bytes);

void machine_close(int file);
void machine_print(const char *text);
void machine_exit(int status);

/* Where reset goes once there is a stack: paints it, sets data and bss up, runs main, ends with its status. */
void board_start(void);

/* Where a bad address or instruction goes, on a stack that can be used. */
void board_fault(void);

#endif
