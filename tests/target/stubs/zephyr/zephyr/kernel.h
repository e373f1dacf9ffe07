/* What the sample uses of zephyr/kernel.h. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BUILD_ASSERT(condition, text) _Static_assert(condition, text)

struct k_timer {
    int stub;
};

typedef struct {
    int64_t ticks;
} k_timeout_t;

#define K_USEC(t) ((k_timeout_t){(t)})
#define K_TIMER_DEFINE(name, expiry, stop) static struct k_timer name

void k_timer_start(struct k_timer *timer, k_timeout_t duration, k_timeout_t period);
uint32_t k_timer_status_sync(struct k_timer *timer);

#endif
