/* Lines of text and whole files, built on the functions of the processor's folder. */
#include "board.h"

#include "machine.h"

int board_open_input(const char *name) { return machine_open(name, 0); }

size_t board_read(int file, void *to, size_t bytes) { return machine_read(file, to, bytes); }

void board_save(const char *name, const void *from, size_t bytes)
{
    int file = machine_open(name, 1);
    if (file < 0 || (bytes && machine_write(file, from, bytes) != 0)) {
        board_print("cannot write ");
        board_print(name);
        board_print("\n");
        machine_exit(1);
    }
    machine_close(file);
}

void board_print(const char *text) { machine_print(text); }

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
