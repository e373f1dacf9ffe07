/* Arm's semihosting ("Semihosting for AArch32 and AArch64"), also used by RISC-V. */
#include "semihosting.h"

#include "machine.h"

enum { SYS_OPEN = 0x01, SYS_CLOSE = 0x02, SYS_WRITE0 = 0x04, SYS_WRITE = 0x05, SYS_READ = 0x06, SYS_EXIT = 0x20 };
enum { READ_BINARY = 1, WRITE_BINARY = 5 };

#define STOPPED_BY_APPLICATION 0x20026u

int machine_open(const char *name, int writes)
{
    uint32_t length = 0;
    while (name[length]) {
        length++;
    }
    const uint32_t block[3] = {(uint32_t)(uintptr_t)name, writes ? WRITE_BINARY : READ_BINARY, length};
    return semihost(SYS_OPEN, block);
}

size_t machine_read(int file, void *to, size_t bytes)
{
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)to, (uint32_t)bytes};
    return (size_t)semihost(SYS_READ, block);
}

size_t machine_write(int file, const void *from, size_t bytes)
{
    const uint32_t block[3] = {(uint32_t)file, (uint32_t)(uintptr_t)from, (uint32_t)bytes};
    return (size_t)semihost(SYS_WRITE, block);
}

void machine_close(int file)
{
    const uint32_t block[1] = {(uint32_t)file};
    semihost(SYS_CLOSE, block);
}

void machine_print(const char *text) { semihost(SYS_WRITE0, text); }

void machine_exit(int status)
{
    const uint32_t block[2] = {STOPPED_BY_APPLICATION, (uint32_t)status};
    semihost(SYS_EXIT, block);
    for (;;) {
    }
}
