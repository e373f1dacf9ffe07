#include "service/crc.h"

uint32_t tu_crc32(uint32_t crc, const void *bytes, size_t count)
{
    static const uint32_t table[16] = {0x00000000u, 0x1db71064u, 0x3b6e20c8u, 0x26d930acu, 0x76dc4190u, 0x6b6b51f4u,
                                       0x4db26158u, 0x5005713cu, 0xedb88320u, 0xf00f9344u, 0xd6d6a3e8u, 0xcb61b38cu,
                                       0x9b64c2b0u, 0x86d3d2d4u, 0xa00ae278u, 0xbdbdf21cu};
    const uint8_t *byte = bytes;
    for (; count > 0; count--, byte++) { /* half a byte at a time: a small table */
        crc = table[(crc ^ *byte) & 15u] ^ (crc >> 4);
        crc = table[(crc ^ ((uint32_t)*byte >> 4)) & 15u] ^ (crc >> 4);
    }
    return crc;
}

uint16_t tu_crc16(uint16_t crc, const void *bytes, size_t count)
{
    const uint8_t *byte = bytes;
    for (; count > 0; count--, byte++) {
        uint32_t x = ((uint32_t)crc >> 8) ^ *byte;
        x ^= x >> 4;
        crc = (uint16_t)(((uint32_t)crc << 8) ^ (x << 12) ^ (x << 5) ^ x);
    }
    return crc;
}
