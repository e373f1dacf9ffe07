/* What a run leaves behind for whoever compares it with another machine's. */
#ifndef REPORT_H
#define REPORT_H

#include "tinyude.h"

typedef struct {
    uint32_t samples;
    uint64_t instructions; /* of all pushes, with the updates they set off */
    uint64_t longest;      /* push */
    uint64_t slice;        /* the longest piece of one that cannot be interrupted */
} phase;

void report_phase(const char *name, const phase *spent);

/* What tu_view shows, by name: counts in decimal, reals by their bits, arrays as files called <name>.bin. */
void report_state(tu_learner *learner, const tu_config *config);

#endif
