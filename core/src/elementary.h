/* Elementary functions that give the same float32 bits on every machine: add, multiply, divide and square root only.
 *
 * Float build: polynomials fitted by core/tools/fit_elementary.py, about 2 ulp, except tan near its poles, sin and cos
 * of large arguments, and tanh (1e-6 absolute, for speed). NaN goes in, NaN comes out. Double build: the C library's.
 */
#ifndef TU_ELEMENTARY_H
#define TU_ELEMENTARY_H

#include "real.h"

#include <math.h>

#define TU_TANH_LIMIT TU_R(100.0)
#define TU_PI TU_R(3.14159265358979323846)

#ifdef TU_REAL_DOUBLE

TU_INLINE double tu_sqrt(double x) { return sqrt(x); }
TU_INLINE double tu_abs(double x) { return fabs(x); }
TU_INLINE double tu_tanh(double x) { return tanh(x); }
TU_INLINE double tu_tanh_clamp(double x) { return x; }
TU_INLINE double tu_tanh_within(double x, double square)
{
    (void)square;
    return tanh(x);
}

#else

/* IEEE 754 rounds the square root correctly, in hardware and in soft-float libraries alike. */
TU_INLINE float tu_sqrt(float x) { return sqrtf(x); }
TU_INLINE float tu_abs(float x) { return fabsf(x); }

/* f / sqrt(f^2 + C), where f stands for sqrt(C) sinh(x): exact signs, never beyond +-1, and 1 itself from |x| = 10 on.
 * square is x * x. Only for |x| < TU_TANH_LIMIT: f^2 overflows from 138 on.
 */
TU_INLINE float tu_tanh_within(float x, float square)
{
    float u = square;
    float f = x * ((((u + 52.3112907f) * u + 2297.2207f) * u + 45802.1641f) * u + 274852.75f);
    return f / sqrtf(f * f + 7.55433472e+10f);
}

/* The number nearest to x that lies within. */
TU_INLINE float tu_tanh_clamp(float x) { return x > 10.0f ? 10.0f : x < -10.0f ? -10.0f : x; }

TU_INLINE float tu_tanh(float x)
{
    float clamped = tu_tanh_clamp(x);
    return tu_tanh_within(clamped, clamped * clamped);
}

#endif

/* How far an angle is from the turn around 0, in radians; 0 where a turn is lost in its rounding. */
TU_INLINE tu_real tu_whole_turns(tu_real angle)
{
    tu_real turns = angle / (2 * TU_PI);
    if (!(tu_abs(turns) < TU_R(1e6))) {
        return 0;
    }
    return (tu_real)(int32_t)(turns + (turns < 0 ? TU_R(-0.5) : TU_R(0.5))) * (2 * TU_PI);
}

/* -1, 0 or 1; NaN stays. */
TU_INLINE tu_real tu_sign(tu_real x) { return x > 0 ? TU_R(1.0) : x < 0 ? TU_R(-1.0) : x; }

tu_real tu_sin(tu_real x); /* any finite x; beyond 8192 the error is that of an argument rounded to 2^-24 */
tu_real tu_cos(tu_real x);
tu_real tu_tan(tu_real x);
tu_real tu_asin(tu_real x); /* NaN outside [-1, 1], as acos */
tu_real tu_acos(tu_real x);
tu_real tu_atan(tu_real x);
tu_real tu_exp(tu_real x);
tu_real tu_log(tu_real x); /* -inf at 0, NaN below */
tu_real tu_sinh(tu_real x); /* infinite from |x| = 88.8 on in float, as cosh */
tu_real tu_cosh(tu_real x);

/* Sum of squares in eight interleaved running sums: an order that vector units and scalar chips both like. */
tu_real tu_sum_squares(const tu_real *values, int count);

#endif
