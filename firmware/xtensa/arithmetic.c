/* Functions that compiler and libraries call, and that Debian's libgcc for this processor lacks. */
#include <stdint.h>

float __addsf3(float a, float b);
float __subsf3(float a, float b);
float __mulsf3(float a, float b);
uint64_t __muldi3(uint64_t a, uint64_t b);
uint64_t __udivdi3(uint64_t a, uint64_t b);

/* Called by libraries built without FPU; computed by the FPU here. */
float __addsf3(float a, float b) { return a + b; }

float __subsf3(float a, float b) { return a - b; }

float __mulsf3(float a, float b) { return a * b; }

/* By shifts: the compiler would turn anything faster into a call of this function. */
uint64_t __muldi3(uint64_t a, uint64_t b)
{
    uint64_t product = 0;
    for (; b; b >>= 1, a <<= 1) {
        product += b & 1u ? a : 0;
    }
    return product;
}

uint64_t __udivdi3(uint64_t a, uint64_t b)
{
    uint64_t quotient = 0, rest = 0;
    for (int bit = 63; bit >= 0; bit--) {
        rest = rest << 1 | (a >> bit & 1u);
        quotient <<= 1;
        if (rest >= b) {
            rest -= b;
            quotient |= 1u;
        }
    }
    return quotient;
}
