/* What the example uses of task.h. */
#ifndef TASK_H
#define TASK_H

#include "freertos/FreeRTOS.h"

typedef struct tskTaskControlBlock *TaskHandle_t;

TaskHandle_t xTaskGetCurrentTaskHandle(void);
BaseType_t xTaskNotifyGive(TaskHandle_t task);
void vTaskDelay(TickType_t ticks);
uint32_t ulTaskNotifyTake(BaseType_t clear_on_exit, TickType_t ticks_to_wait);

#endif
