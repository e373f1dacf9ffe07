#include "signal/angle.h"

#include "numeric/elementary.h"

void tu_angle_wrap_window(const int32_t *wrap, int channels, int poly, const tu_fit *fit)
{
    for (int c = 0; c < channels; c++) {
        tu_real *mean = fit->coefficients + c * (poly + 1);
        *mean = wrap[c] ? tu_angle_wrap(*mean) : *mean;
    }
}

tu_real tu_angle_wrap_state(const tu_config *config, const tu_real *x, const tu_real *u, int column)
{
    if (column >= config->states) {
        return u[column - config->states];
    }
    int angle = config->order[column] == 0 && config->wrap[config->channel[column]];
    return angle ? tu_angle_wrap(x[column]) : x[column];
}
