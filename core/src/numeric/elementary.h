/* Elementary functions that give the same float32 bits on every machine: add, multiply, divide and square root only.
 *
 * Float build: polynomials fitted by core/tools/fit_elementary.py, about 2 ulp, except tan near its poles, sin and cos
 * of large arguments, and tanh (1e-6 absolute, for speed). NaN gives NaN. Double build: the C library's functions,
 * except tanh (2 ulp), the network's most frequent call.
 */
#ifndef TU_ELEMENTARY_H
#define TU_ELEMENTARY_H

#include "numeric/real.h"

#include <math.h>
#include <string.h>

#define TU_TANH_LIMIT TU_R(100.0)
#define TU_PI TU_R(3.14159265358979323846)
#define TU_TWO_PI (2 * TU_PI)

#ifdef TU_REAL_DOUBLE

TU_INLINE double tu_sqrt(double x) { return sqrt(x); }
TU_INLINE double tu_abs(double x) { return fabs(x); }

/* exp(y) - 1 = 2^n p + (2^n - 1) for -700 <= y <= 0, using only vector operations: returns p, and 2^n in `power`. */
TU_INLINE double tu_exp_parts(double y, double *power)
{
    const double round = 6755399441055744.0; /* 1.5 * 2^52: adding it rounds to an integer, held in the low bits */
    double shifted = y * 1.4426950408889634 + round, n = shifted - round;
    double r = (y - n * 0.69314718036912382) - n * 1.9082149292705877e-10; /* ln 2 in two parts, the first of 33 bits */
    double p = 2.505210838544172e-08 + r * (2.08767569878681e-09 + r * 1.6059043836821613e-10);
    p = 2.48015873015873e-05 + r * (2.7557319223985893e-06 + r * (2.7557319223985888e-07 + r * p));
    p = 0.008333333333333333 + r * (0.001388888888888889 + r * (0.0001984126984126984 + r * p));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(power, &bits, sizeof *power);
    return r + r * r * (0.5 + r * (0.16666666666666666 + r * (0.041666666666666664 + r * p)));
}

/* -m / (m + 2) with m = exp(-2|x|) - 1. */
TU_INLINE double tu_tanh(double x)
{
    double size = fabs(x), power, p = tu_exp_parts(size < 20.0 ? -2.0 * size : -40.0, &power);
    double m = power * p + (power - 1.0), value = m / (m + 2.0);
    return x > 0 ? -value : x < 0 ? value : x;
}

TU_INLINE double tu_tanh_clamp(double x) { return x; }
TU_INLINE double tu_tanh_within(double x, double square)
{
    (void)square;
    return tu_tanh(x);
}

#else

/* IEEE 754 rounds the square root correctly, in hardware and in soft-float libraries alike. */
TU_INLINE float tu_sqrt(float x) { return sqrtf(x); }
TU_INLINE float tu_abs(float x) { return fabsf(x); }

/* f / sqrt(f^2 + C), where f approximates sqrt(C) sinh(x): exact sign, never beyond +-1, exactly 1 from |x| = 10 on.
 * square is x * x. Only for |x| < TU_TANH_LIMIT: f^2 overflows from 138 on.
 */
TU_INLINE float tu_tanh_within(float x, float square)
{
    float u = square;
    float f = x * ((((u + 52.3112907f) * u + 2297.2207f) * u + 45802.1641f) * u + 274852.75f);
    return f / sqrtf(f * f + 7.55433472e+10f);
}

/* x clamped to that range. */
TU_INLINE float tu_tanh_clamp(float x) { return x > 10.0f ? 10.0f : x < -10.0f ? -10.0f : x; }

TU_INLINE float tu_tanh(float x)
{
    float clamped = tu_tanh_clamp(x);
    return tu_tanh_within(clamped, clamped * clamped);
}

#endif

/* An angle (rad) wrapped to [-pi, pi]; unchanged beyond 1e6 revolutions, where one revolution is below its rounding
 * error.
 */
TU_INLINE tu_real tu_angle_wrap(tu_real angle)
{
    tu_real revolutions = angle / TU_TWO_PI;
    if (!(tu_abs(revolutions) < TU_R(1e6))) {
        return angle;
    }
    return angle - (tu_real)(int32_t)(revolutions + (revolutions < 0 ? TU_R(-0.5) : TU_R(0.5))) * TU_TWO_PI;
}

TU_INLINE tu_real tu_larger(tu_real a, tu_real b) { return a > b ? a : b; }

/* -1, 0 or 1; NaN gives NaN. */
TU_INLINE tu_real tu_sign(tu_real x) { return x > 0 ? TU_R(1.0) : x < 0 ? TU_R(-1.0) : x; }

tu_real tu_sin(tu_real x); /* any finite x; beyond 8192 the error is that of an argument rounded to 2^-24 */
tu_real tu_cos(tu_real x);
tu_real tu_tan(tu_real x);
tu_real tu_asin(tu_real x); /* NaN outside [-1, 1], as acos */
tu_real tu_acos(tu_real x);
tu_real tu_atan(tu_real x);
tu_real tu_exp(tu_real x);
tu_real tu_log(tu_real x);  /* -inf at 0, NaN below */
tu_real tu_sinh(tu_real x); /* infinite from |x| = 88.8 on in float, as cosh */
tu_real tu_cosh(tu_real x);

/* Sets numbers to 0. */
TU_INLINE void tu_clear(tu_real *values, int count)
{
    for (int i = 0; i < count; i++) {
        values[i] = 0;
    }
}

/* Sum of squares in eight interleaved running sums: an order that is fast on vector units and on scalar chips. */
tu_real tu_sum_squares(const tu_real *values, int count);

#endif
