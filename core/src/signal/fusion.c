#include "signal/fusion.h"

static void fuse(const tu_window *window, tu_real own_sigma, tu_real rate_sigma, const tu_real *rate, tu_real *angle)
{
    tu_real own_variance = own_sigma * own_sigma, reach = rate_sigma * window->seconds, rate_variance = reach * reach;
    for (int k = 1; k <= window->poly; k++) {
        tu_real below = TU_R(1.0) / (tu_real)(2 * k - 1), above = k < window->poly ? TU_R(1.0) / (tu_real)(2 * k + 3) : 0;
        tu_real integral = window->seconds * (rate[k - 1] * below - (k < window->poly ? rate[k + 1] * above : 0));
        tu_real own = own_variance * (tu_real)(2 * k + 1), theirs = rate_variance * (below + above);
        angle[k] += own / (own + theirs) * (integral - angle[k]);
    }
}

void tu_fuse_rates(const tu_window *window, const int32_t *rate_channel, const tu_real *sigma, int channels,
                   const tu_fit *fit)
{
    int terms = window->poly + 1;
    for (int c = 0; c < channels; c++) {
        int rate = rate_channel[c] - 1;
        if (rate >= 0) {
            fuse(window, sigma[c], sigma[rate], fit->coefficients + rate * terms, fit->coefficients + c * terms);
        }
    }
}
