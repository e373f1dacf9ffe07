/* Storage for tu_service_save on bare flash pages: wear is levelled and counted.
 *
 * The pages are divided into areas, each large enough for one saved state and its head. A save takes the area with the
 * fewest erasures that does not hold the newest state, erases each page just before it is written, and writes every
 * byte once. The head contains the erasures of all areas, so that the count survives; a power cut loses one at most. An
 * area that does not keep what was written is used only if there is no other.
 */
#ifndef TINYUDE_FLASH_H
#define TINYUDE_FLASH_H

#include "tinyude_service.h"

#ifdef __cplusplus
extern "C" {
#endif

#define TU_FLASH_VERSION 1
#define TU_FLASH_AREAS 32 /* at most; further pages are not used */

/* The user's flash: offsets from its first page, 0 if done. `program` is given TU_SAVE_PIECE erased bytes, aligned to
 * as many.
 */
typedef struct tu_flash {
    int (*erase)(void *context, uint32_t page_offset); /* one page, to 0xff */
    int (*program)(void *context, uint32_t offset, const void *bytes, uint32_t count);
    int (*read)(void *context, uint32_t offset, void *bytes, uint32_t count);
    void *context;
    uint32_t page_bytes; /* what one erasure clears: a multiple of TU_SAVE_PIECE */
    uint32_t pages;
} tu_flash;

typedef struct tu_flash_storage {
    tu_storage storage; /* for tu_service_save, tu_service_load and tu_service_report */
    const tu_flash *flash;
    uint32_t area_bytes;
    int32_t areas;
    uint32_t sequence; /* of the newest head */
    int32_t area[2];   /* of each slot; -1: none */
    uint32_t erasures[TU_FLASH_AREAS];
} tu_flash_storage;

/* Finds out what the pages hold. `state_bytes` is what tu_service_save_bytes returns. TU_NO_STORAGE: the pages are too
 * few for two areas, or of an impossible size; TU_STORAGE_FAILED: they cannot be read.
 */
int tu_flash_open(tu_flash_storage *storage, const tu_flash *flash, uint32_t state_bytes);

/* Most erasures of a page that is still in use: compare it with the endurance in your chip's data sheet. */
uint32_t tu_flash_wear(const tu_flash_storage *storage);

#ifdef __cplusplus
}
#endif

#endif
