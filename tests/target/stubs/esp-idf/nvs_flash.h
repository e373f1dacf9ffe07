/* What the example uses of nvs_flash.h. */
#ifndef NVS_FLASH_H
#define NVS_FLASH_H

#include "esp_err.h"

esp_err_t nvs_flash_init(void);

#endif
