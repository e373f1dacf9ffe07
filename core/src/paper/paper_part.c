#include "paper/paper_part.h"

const tu_paper_part tu_paper = {tu_median_gate_accept, tu_median_gate_in_order, tu_taps_spacing,
                                tu_second_order_gradient};
