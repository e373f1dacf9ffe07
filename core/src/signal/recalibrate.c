#include "signal/recalibrate.h"

enum { STRETCH = 800 }; /* windows that are looked at together */
enum { REFUSED = 600 }; /* of them that the gates must refuse for the window to be the wrong one */
enum { SHARE = 4 };     /* of the first calibration that a later one takes */

void tu_revise_watch(tu_learner *l, int reason)
{
    l->stretch++;
    l->refused += reason == TU_MISFIT || reason == TU_JUMP;
    if (l->stretch < STRETCH) {
        return;
    }
    if (l->config->dense && l->refused > REFUSED) {
        tu_calibrate_clear(&l->calibration, l->config);
        tu_noise_init(&l->noise);
        l->calibrating = 1;
        l->until = l->tick + (uint32_t)l->config->calibration / SHARE;
    }
    l->stretch = l->refused = 0;
}

void tu_revise_finish(tu_learner *l)
{
    tu_calibrate_choose(&l->calibration, l->config, &l->settled);
    l->counters.revisions++;
}
