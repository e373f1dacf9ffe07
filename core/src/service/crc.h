/* Checksums of stored images and of frames. */
#ifndef TU_CRC_H
#define TU_CRC_H

#include <stddef.h>
#include <stdint.h>

#define TU_CRC32_START 0xffffffffu
#define TU_CRC16_START 0xffffu

/* CRC-32 (Ethernet, zlib) continued over further bytes: start from TU_CRC32_START, invert the final value. */
uint32_t tu_crc32(uint32_t crc, const void *bytes, size_t count);

/* CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xffff, most significant bit first. */
uint16_t tu_crc16(uint16_t crc, const void *bytes, size_t count);

#endif
