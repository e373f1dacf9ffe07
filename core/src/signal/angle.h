/* Angles on a circle: where whole turns change nothing, a window is taken back to within half a turn of 0.
 *
 * What is learned then holds on every turn, and a network sees the same numbers however often the shaft has gone round.
 */
#ifndef TU_TURN_H
#define TU_TURN_H

#include "signal/window.h"

/* Takes the mean of every circular channel to the turn around 0; circular as in tu_config. */
void tu_turn_window(const int32_t *circular, int channels, int poly, const tu_fit *fit);

#endif
