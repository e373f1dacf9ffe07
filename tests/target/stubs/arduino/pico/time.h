/* What the sketch uses of the Pico SDK. */
#ifndef PICO_TIME_H
#define PICO_TIME_H

#include <stdint.h>

struct repeating_timer_t {
    int stub;
};

typedef bool (*repeating_timer_callback_t)(repeating_timer_t *timer);

extern "C" uint64_t time_us_64(void);
bool add_repeating_timer_us(int64_t delay_us, repeating_timer_callback_t callback, void *user_data,
                            repeating_timer_t *out);

#endif
