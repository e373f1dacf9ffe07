/* What the example uses of FreeRTOS.h. */
#ifndef FREERTOS_H
#define FREERTOS_H

#include <stdint.h>

typedef int BaseType_t;
typedef uint32_t TickType_t;

#define pdFALSE ((BaseType_t)0)
#define portMAX_DELAY ((TickType_t)0xffffffffu)

#endif
