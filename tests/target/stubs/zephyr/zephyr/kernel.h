/* What the sample uses of zephyr/kernel.h. */
#ifndef KERNEL_H
#define KERNEL_H

#include <stddef.h>
#include <stdint.h>

#define ARRAY_SIZE(array) (sizeof(array) / sizeof((array)[0]))
#define BUILD_ASSERT(condition, text) _Static_assert(condition, text)

typedef struct {
    int64_t ticks;
} k_timeout_t;

#define K_USEC(t) ((k_timeout_t){(t)})
#define K_TIMEOUT_ABS_US(t) ((k_timeout_t){(int64_t)(t)})

#ifndef CONFIG_SYS_CLOCK_TICKS_PER_SEC
#define CONFIG_SYS_CLOCK_TICKS_PER_SEC 10000
#endif

int64_t k_uptime_ticks(void);
uint64_t k_ticks_to_us_floor64(uint64_t t);

struct k_thread {
    int stub;
};

typedef struct k_thread *k_tid_t;
typedef char k_thread_stack_t;
typedef void (*k_thread_entry_t)(void *p1, void *p2, void *p3);

#define K_THREAD_STACK_DEFINE(name, size) static k_thread_stack_t name[size]
#define K_THREAD_STACK_SIZEOF(name) sizeof(name)
#define K_PRIO_COOP(x) (-(x))
#define K_NO_WAIT ((k_timeout_t){0})

k_tid_t k_thread_create(struct k_thread *thread, k_thread_stack_t *stack, size_t stack_size, k_thread_entry_t entry,
                        void *p1, void *p2, void *p3, int prio, uint32_t options, k_timeout_t delay);
int32_t k_sleep(k_timeout_t timeout);

#endif
