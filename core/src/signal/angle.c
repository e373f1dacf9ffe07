#include "signal/angle.h"

#include "numeric/elementary.h"

void tu_turn_window(const int32_t *circular, int channels, int poly, const tu_fit *fit)
{
    for (int c = 0; c < channels; c++) {
        tu_real *mean = fit->coefficients + c * (poly + 1);
        if (circular[c]) {
            *mean -= tu_whole_turns(*mean);
        }
    }
}
