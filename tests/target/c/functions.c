/* The elementary functions against the C library's, over their range and at its ends. */
#include "plant.h"

#include "numeric/elementary.h"

#include <float.h>

static void check_near(tu_real (*own)(tu_real), double (*exact)(double), double low, double high, double tolerance)
{
    enum { STEPS = 20000 };
    for (int i = 0; i <= STEPS; i++) {
        tu_real x = (tu_real)(low + (high - low) * i / STEPS);
        double truth = exact((double)x), size = fabs(truth) > 1 ? fabs(truth) : 1;
        CHECK(fabs((double)own(x) - truth) <= tolerance * size);
    }
}

static tu_real tanh_of(tu_real x) { return tu_tanh(x); }

static int is_nan(tu_real x) { return x != x; }

int main(void)
{
    const double close = 1e-6;
    check_near(tu_sin, sin, -50, 50, close);
    check_near(tu_cos, cos, -50, 50, close);
    check_near(tu_sin, sin, 8000, 1e4, 1e-3); /* large arguments are wrapped: their own rounding counts */
    check_near(tu_sin, sin, -1e4, -8000, 1e-3);
    check_near(tu_tan, tan, -1.4, 1.4, close * 10);
    check_near(tu_asin, asin, -1, 1, close);
    check_near(tu_acos, acos, -1, 1, close);
    check_near(tu_atan, atan, -30, 30, close);
    check_near(tu_exp, exp, -103, 88, close);
    check_near(tu_log, log, 1e-30, 100, close);
    check_near(tu_sinh, sinh, -20, 20, close);
    check_near(tu_cosh, cosh, -20, 20, close);
    check_near(tanh_of, tanh, -150, 150, close);
    CHECK(is_nan(tu_sin((tu_real)INFINITY)) && is_nan(tu_cos((tu_real)NAN)) && is_nan(tu_exp((tu_real)NAN)));
    CHECK(isinf(tu_exp((tu_real)1e5)) && tu_exp((tu_real)-1e5) == 0);
    CHECK(isinf(tu_log(0)) && is_nan(tu_log(-1)) && isinf(tu_log((tu_real)INFINITY)));
    CHECK(fabs((double)tu_log((tu_real)(FLT_MIN / 4)) - log((double)FLT_MIN / 4)) < 1e-4);
    CHECK(is_nan(tu_asin(2)) && is_nan(tu_acos(-2)));
    CHECK(tu_sign(3) == 1 && tu_sign(-3) == -1 && tu_sign(0) == 0 && is_nan(tu_sign((tu_real)NAN)));
    return 0;
}
