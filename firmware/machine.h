/* Functions that each processor's folder provides: files and text of the host, and start-up code from reset to
 * board_start.
 */
#ifndef MACHINE_H
#define MACHINE_H

#include <stddef.h>

/* Returns a negative number if the file cannot be opened. */
int machine_open(const char *name, int writes);

/* Returns the number of bytes that could not be read, or written. */
size_t machine_read(int file, void *to, size_t bytes);
size_t machine_write(int file, const void *from, size_t bytes);

void machine_close(int file);
void machine_print(const char *text);
void machine_exit(int status);

/* Called after reset with a valid stack: fills it with a pattern, initialises data and bss, runs main, ends with its
 * status.
 */
void board_start(void);

/* Called on a bad address or instruction, with a valid stack. */
void board_fault(void);

#endif
