/* What the example uses of esp_timer.h. */
#ifndef ESP_TIMER_H
#define ESP_TIMER_H

#include "esp_err.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct esp_timer *esp_timer_handle_t;
typedef void (*esp_timer_cb_t)(void *arg);

typedef struct {
    esp_timer_cb_t callback;
    void *arg;
    int dispatch_method;
    const char *name;
    bool skip_unhandled_events;
} esp_timer_create_args_t;

esp_err_t esp_timer_create(const esp_timer_create_args_t *create_args, esp_timer_handle_t *out_handle);
esp_err_t esp_timer_start_periodic(esp_timer_handle_t timer, uint64_t period);
int64_t esp_timer_get_time(void);

void app_main(void);

#endif
