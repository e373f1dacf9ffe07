/* The paper's windows of eleven spaced taps: their spacing from the stream's time scale and noise (eq. dt_opt), and
 * whether the second derivative is far enough above its noise for the second-order term (eqs. snr2_def, snrgate).
 */
#ifndef TU_TAPS_H
#define TU_TAPS_H

#include "signal/noise.h"
#include "signal/setup.h"

/* Ticks between taps, limited by the ring. */
int tu_taps_spacing(const tu_config *config, const tu_scales *scales, const tu_noise *noise);
typedef int (*tu_taps_rule)(const tu_config *config, const tu_scales *scales, const tu_noise *noise);

/* Completes a calibration whose window and scales are known. With dense windows, which have no taps, it only sets snr2.
 */
void tu_taps_finish(const tu_config *config, const tu_noise *noise, tu_taps_rule rule, tu_setup *setup);

#endif
