/* Runs an export called "model" on the rows of rows.h and prints the bits of its predictions, before and after.
 *
 * On a Cortex-M by semihosting, with the export's own start-up code; elsewhere by printf.
 */
#include "model.h"
#include "rows.h"

#include <stdint.h>
#include <string.h>

#ifdef __arm__

enum { SYS_WRITE0 = 0x04, SYS_EXIT = 0x18, STOPPED = 0x20026 };

static void semihost(int operation, const void *argument)
{
    register int r0 __asm__("r0") = operation;
    register const void *r1 __asm__("r1") = argument;
    __asm__ volatile("bkpt 0xab" : "+r"(r0) : "r"(r1) : "memory");
}

static void print(const char *text) { semihost(SYS_WRITE0, text); }

static int done(void)
{
    semihost(SYS_EXIT, (const void *)STOPPED);
    return 0;
}

#else

#include <stdio.h>

static void print(const char *text) { fputs(text, stdout); }

static int done(void) { return 0; }

#endif

static void print_bits(float value)
{
    char line[10] = "";
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    for (int i = 0; i < 8; i++) {
        line[i] = "0123456789abcdef"[(bits >> (28 - 4 * i)) & 15u];
    }
    line[8] = '\n';
    print(line);
}

static void print_predictions(void)
{
    float dx[MODEL_STATES];
    for (int i = 0; i < POINTS; i++) {
        (void)model_predict(points[i], points[i] + MODEL_STATES, dx);
        for (int k = 0; k < MODEL_STATES; k++) {
            print_bits(dx[k]);
        }
    }
}

#if defined __arm__ && defined LEARNS
void sample(void);
void sample(void) {} /* the export's start-up code asks for it */
#endif

int main(void)
{
#ifdef LEARNS
    if (model_start() != TU_OK) {
        print("rejected\n");
        return done();
    }
#endif
    print_predictions();
#ifdef LEARNS
    for (int i = 0; i < ROWS; i++) {
        (void)model_push(rows[i]);
        while (model_work(7)) {
        }
    }
    print_predictions();
#endif
    return done();
}
