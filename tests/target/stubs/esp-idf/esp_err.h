/* What the example uses of esp_err.h. */
#ifndef ESP_ERR_H
#define ESP_ERR_H

typedef int esp_err_t;

#define ESP_OK 0

void stub_check(esp_err_t error);

#define ESP_ERROR_CHECK(call) stub_check(call)

#endif
