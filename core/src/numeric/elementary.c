#include "numeric/elementary.h"

#include <string.h>

#ifdef TU_REAL_DOUBLE

double tu_sin(double x) { return sin(x); }
double tu_cos(double x) { return cos(x); }
double tu_tan(double x) { return tan(x); }
double tu_asin(double x) { return asin(x); }
double tu_acos(double x) { return acos(x); }
double tu_atan(double x) { return atan(x); }
double tu_exp(double x) { return exp(x); }
double tu_log(double x) { return log(x); }
double tu_sinh(double x) { return sinh(x); }
double tu_cosh(double x) { return cosh(x); }

#else

static uint32_t to_bits(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float from_bits(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* 2^n, -126 <= n <= 127. */
static float power_of_two(int n) { return from_bits((uint32_t)(n + 127) << 23); }

/* The nearest integer, halves away from zero; |x| < 2^23. */
static int nearest(float x) { return (int)(x + (x < 0.0f ? -0.5f : 0.5f)); }

/* Exact remainder of a finite |x| >= 8 by the float nearest to 2 pi, whose own error is below x's rounding. */
static float wrap(float x)
{
    const uint32_t modulus = 0xc90fdbu; /* 2 pi = modulus * 2^-21 */
    uint32_t bits = to_bits(tu_abs(x));
    uint32_t rest = ((bits & 0x7fffffu) | 0x800000u) % modulus;
    for (uint32_t power = (bits >> 23) - 129u; power > 0; power--) {
        rest = (rest << 1) % modulus;
    }
    float angle = (float)rest * power_of_two(-21);
    return x < 0.0f ? -angle : angle;
}

/* Sine of x + quarters * pi/2. */
static float sine(float x, int quarters)
{
    if (!(tu_abs(x) < 8192.0f)) {
        if (!(tu_abs(x) <= 3.4e38f)) {
            return NAN;
        }
        x = wrap(x);
    }
    int k = nearest(x * 0.636619772f);
    float n = (float)k;
    /* pi/2 in three parts; n times the first two (11 bits each) is exact */
    float r = ((x - n * 1.5703125f) - n * 4.83751297e-4f) - n * 7.54979013e-8f;
    float u = r * r;
    int quadrant = (k + quarters) & 3;
    float value = (quadrant & 1)
                      ? 1.0f - 0.5f * u + u * u * (0.0416666456f + u * (-0.00138873095f + u * 2.44323273e-05f))
                      : r + r * u * (-0.166666552f + u * (0.00833218917f + u * -0.000195182918f));
    return (quadrant & 2) ? -value : value;
}

float tu_sin(float x) { return sine(x, 0); }

float tu_cos(float x) { return sine(x, 1); }

float tu_tan(float x) { return tu_sin(x) / tu_cos(x); }

float tu_atan(float x)
{
    float size = tu_abs(x);
    float t = size > 1.0f ? 1.0f / size : size;
    float u = t * t;
    float p = -0.0839930549f + u * (0.0578813367f + u * (-0.0310968626f + u * (0.0108685652f + u * -0.00178277877f)));
    p = -0.333332986f + u * (0.199985296f + u * (-0.142640159f + u * (0.109508805f + u * p)));
    float angle = t + t * u * p;
    if (size > 1.0f) {
        angle = 1.57079637f - (angle + 4.37113883e-8f); /* pi/2 in two parts */
    }
    return x < 0.0f ? -angle : angle;
}

float tu_asin(float x) { return tu_atan(x / tu_sqrt((1.0f - x) * (1.0f + x))); }

float tu_acos(float x) { return 2.0f * tu_atan(tu_sqrt((1.0f - x) / (1.0f + x))); }

float tu_exp(float x)
{
    if (!(x < 89.0f)) {
        return x > 0.0f ? INFINITY : x; /* overflow, or NaN */
    }
    if (x < -104.0f) {
        return 0.0f;
    }
    int k = nearest(x * 1.44269504f);
    float n = (float)k;
    float r = (x - n * 0.693359375f) - n * -2.12194442e-4f; /* ln 2 in two parts, the first of 9 bits */
    float p = 0.166665211f + r * (0.0416682549f + r * (0.00836866163f + r * 0.00138214533f));
    float value = 1.0f + (r + r * r * (0.49999994f + r * p));
    int half = k / 2; /* 2^k itself may lie outside the range of a normal float */
    return value * power_of_two(half) * power_of_two(k - half);
}

float tu_log(float x)
{
    if (!(x > 0.0f)) {
        return x == 0.0f ? -INFINITY : NAN;
    }
    if (x > 3.4028234e38f) {
        return x;
    }
    int k = 0;
    if (x < 1.17549435e-38f) {
        x *= 16777216.0f;
        k = -24;
    }
    uint32_t bits = to_bits(x) - 0x3f3504f3u; /* bits of sqrt(1/2): the mantissa falls in [sqrt(1/2), sqrt(2)) */
    k += (int)(bits >> 23) - (bits & 0x80000000u ? 512 : 0);
    float f = from_bits((bits & 0x7fffffu) + 0x3f3504f3u) - 1.0f;
    float s = f / (2.0f + f);
    float z = s * s;
    float half_square = 0.5f * f * f;
    float tail = z * (0.666667759f + z * (0.399775833f + z * 0.29870829f));
    float n = (float)k;
    return n * 0.693359375f + (f - (half_square - (s * (half_square + tail) + n * -2.12194442e-4f)));
}

float tu_sinh(float x)
{
    if (tu_abs(x) < 1.0f) { /* Taylor, where the exponentials would cancel */
        float u = x * x;
        return x + x * u * (0.166666667f + u * (0.00833333333f + u * (1.98412698e-4f + u * 2.75573192e-6f)));
    }
    float e = tu_exp(tu_abs(x));
    float value = 0.5f * (e - 1.0f / e);
    return x < 0.0f ? -value : value;
}

float tu_cosh(float x)
{
    float e = tu_exp(tu_abs(x));
    return 0.5f * (e + 1.0f / e);
}

#endif

tu_real tu_sum_squares(const tu_real *values, int count)
{
    tu_real sums[8] = {0};
    int whole = count - count % 8;
    for (int i = 0; i < whole; i += 8) {
        TU_LANES
        for (int lane = 0; lane < 8; lane++) {
            sums[lane] += values[i + lane] * values[i + lane];
        }
    }
    for (int i = whole; i < count; i++) {
        sums[i - whole] += values[i] * values[i];
    }
    return ((sums[0] + sums[4]) + (sums[2] + sums[6])) + ((sums[1] + sums[5]) + (sums[3] + sums[7]));
}
