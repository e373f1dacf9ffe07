/* What the example uses of LittleFS, on an ESP32 and on an RP2040. */
#ifndef LITTLEFS_H
#define LITTLEFS_H

#include <stddef.h>
#include <stdint.h>

class File
{
  public:
    operator bool() const;
    size_t write(const uint8_t *bytes, size_t count);
    size_t read(uint8_t *bytes, size_t count);
    bool seek(uint32_t position);
    void close();
    int number = -1; /* of the fake's files */
    uint32_t place = 0;
};

class FS
{
  public:
    bool begin(bool format_on_fail = false);
    bool exists(const char *path);
    File open(const char *path, const char *mode);
};

extern FS LittleFS;

#endif
