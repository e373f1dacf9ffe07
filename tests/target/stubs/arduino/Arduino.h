/* What the example uses of the Arduino core API. */
#ifndef ARDUINO_H
#define ARDUINO_H

#include <stddef.h>
#include <stdint.h>

#ifdef CONFIG_IDF_TARGET_ESP32
static const uint8_t A0 = 36, A3 = 39, A4 = 32;
#else
static const uint8_t A0 = 14, A1 = 15, A2 = 16;
#endif

class Print
{
  public:
    size_t print(const char *text);
    size_t print(double number, int digits = 2);
    size_t println(const char *text);
};

class HardwareSerial : public Print
{
  public:
    void begin(unsigned long baud);
};

extern HardwareSerial Serial;

extern "C" {
int analogRead(uint8_t pin);
unsigned long micros(void);
void delay(unsigned long milliseconds);
}

void setup(void);
void loop(void);

#endif
