/* What the example uses of esp_idf_version.h. */
#ifndef ESP_IDF_VERSION_H
#define ESP_IDF_VERSION_H

#define ESP_IDF_VERSION_VAL(major, minor, patch) (((major) << 16) | ((minor) << 8) | (patch))
#define ESP_IDF_VERSION_MINOR 2
#define ESP_IDF_VERSION ESP_IDF_VERSION_VAL(5, 2, 0)

#endif
