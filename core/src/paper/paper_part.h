/* The paper's mechanisms that a learner calls. Without this table they are not linked (tinyude.h). */
#ifndef TU_PAPER_PART_H
#define TU_PAPER_PART_H

#include "paper/median_gate.h"
#include "paper/second_order.h"
#include "paper/taps.h"

struct tu_paper_part {
    tu_median_gate_test accept;
    int (*in_order)(const tu_median_gate *gate, int kept, int next);
    tu_taps_rule spacing;
    tu_real (*gradient)(tu_learner *learner, const tu_batch *batch); /* of both orders, to learner->grad */
};

#endif
