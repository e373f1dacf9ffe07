/* Results of a run, for comparison with other machines. */
#ifndef REPORT_H
#define REPORT_H

#include "tinyude.h"

typedef struct {
    uint32_t samples;
    uint64_t instructions; /* of all pushes, including the updates they trigger */
    uint64_t longest;      /* longest push */
    uint64_t slice;        /* longest uninterruptible slice of a push */
} phase;

void report_phase(const char *name, const phase *spent);

/* Writes the contents of tu_view by name: counts in decimal, reals as bits, arrays as files called <name>.bin. */
void report_state(tu_learner *learner, const tu_config *config);

#endif
