/* An export called "model" on a Cortex-M of QEMU: samples in SysTick's interrupt, learns in the main loop,
 * and speaks over the board's UART. The sensors are the known physics with a damping that it leaves out.
 */
#include "model.h"

#include <string.h>

#define UART_DATA (*(volatile uint32_t *)0x40004000u)
#define UART_STATE (*(volatile uint32_t *)0x40004004u)
#define UART_CONTROL (*(volatile uint32_t *)0x40004008u)
#define UART_DIVIDER (*(volatile uint32_t *)0x40004010u)

enum { FULL = 1, ARRIVED = 2, SLOT = 40960 };

extern const tu_known model_known;

void start_ticks(void);
void wait_for_interrupt(void);
void sample(void);

static unsigned char flash[2 * SLOT];
static uint32_t random_bits = 1;

static float noise(void)
{
    float sum = -2.0f;
    for (int i = 0; i < 4; i++) {
        random_bits = random_bits * 1664525u + 1013904223u;
        sum += (float)(random_bits >> 8) / 16777216.0f;
    }
    return sum;
}

/* The plant moves on by a sample: gravity as known, damping as not. */
void sample(void)
{
    static float x[MODEL_STATES] = {1.2f};
    static uint32_t ticks;
    float dx[MODEL_STATES], row[MODEL_ROW];
    for (int step = 0; step < 8; step++) {
        float h = MODEL_SAMPLE_PERIOD / 8.0f;
        model_known.field(model_known.context, x, 0, dx);
        dx[1] -= 0.4f * x[1];
        x[1] += h * dx[1];
        x[0] += h * x[1];
    }
    if (++ticks % 1000u == 0) {
        x[1] += 3.0f * noise();
    }
    row[0] = x[0] + 0.005f * noise();
    row[1] = x[1] + 0.01f * noise();
    (void)model_push(row);
}

static int uart_send(void *context, const uint8_t *bytes, size_t count)
{
    (void)context;
    for (size_t i = 0; i < count; i++) {
        while (UART_STATE & FULL) {
        }
        UART_DATA = bytes[i];
    }
    return 1;
}

static int flash_write(void *context, uint32_t offset, const void *bytes, uint32_t count)
{
    (void)context;
    memcpy(flash + offset, bytes, count);
    return 0;
}

static int flash_read(void *context, uint32_t offset, void *bytes, uint32_t count)
{
    (void)context;
    memcpy(bytes, flash + offset, count);
    return 0;
}

int main(void)
{
    static const tu_line line = {uart_send, NULL};
    static const tu_storage storage = {flash_write, flash_read, NULL, SLOT};
    UART_DIVIDER = 16;
    UART_CONTROL = 3;
    if (model_start() != TU_OK) {
        return 1;
    }
    model_report(&line, 2, 100, &storage);
    start_ticks();
    for (;;) {
        while (UART_STATE & ARRIVED) {
            uint8_t byte = (uint8_t)UART_DATA;
            model_receive(&byte, 1);
        }
        if (!model_work(50)) {
            wait_for_interrupt();
        }
    }
}
