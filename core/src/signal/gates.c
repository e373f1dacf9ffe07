#include "signal/gates.h"

#include "numeric/elementary.h"
#include "numeric/finite.h"

static const tu_real CHI = TU_R(4.0);                          /* standard deviations of the misfit */
static const tu_real JUMP = TU_R(24.0) + (tu_real)TU_SEGMENTS; /* about five sigma on any one step */

tu_real tu_gates_spread(const tu_window *window)
{
    return TU_R(1.0) + CHI / tu_sqrt(TU_R(2.0) * tu_window_freedom(window));
}

int tu_gates_still(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale)
{
    tu_real samples = (tu_real)(2 * window->half + 1), terms = (tu_real)window->poly;
    tu_real limit = terms + CHI * tu_sqrt(TU_R(2.0) * terms);
    for (int c = 0; c < noise->channels; c++) {
        const tu_real *a = fit->coefficients + c * (window->poly + 1);
        tu_real sigma = noise->sigma[c] * scale, energy = 0;
        for (int k = 1; k <= window->poly; k++) { /* coefficient k has the variance (2 k + 1) sigma^2 / samples */
            energy += a[k] * a[k] * samples / (tu_real)(2 * k + 1);
        }
        if (energy > limit * (sigma * sigma)) {
            return 0;
        }
    }
    return 1;
}

int tu_gates_accept(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale)
{
    tu_real limit = tu_window_freedom(window) * tu_gates_spread(window) * tu_gates_spread(window);
    int jump = 0;
    for (int c = 0; c < noise->channels; c++) {
        tu_real sigma = noise->sigma[c] * scale, step = noise->step[c], coarse = 0;
        if (fit->misfit[c] > sigma * sigma * limit) {
            return TU_MISFIT;
        }
        if (step > TU_R(2.0) * sigma) {
            coarse = step * step / TU_R(6.0);
        }
        jump |= fit->segments[c] > JUMP * (sigma * sigma) + (tu_real)(2 * window->half + 1) * coarse;
    }
    return jump ? TU_JUMP : TU_ACCEPTED;
}
