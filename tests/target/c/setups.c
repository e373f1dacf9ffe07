/* The learners that are tried: each differs from the first in what its name says. */
#include "plant.h"

tu_config base_config(void)
{
    tu_config c = {
        .channels = 2,
        .states = 2,
        .channel = {0, 1},
        .sample_period = (tu_real)PERIOD,
        .on_count = 1,
        .on = {1},
        .sees_count = 2,
        .sees = {0, 1},
        .hidden_count = 2,
        .hidden = {8, 6},
        .library_terms = 4,
        .dense = 1,
        .taps = 5,
        .poly = 4,
        .stride = 2,
        .max_half = 40,
        .spacing = 4,
        .adaptive = 1,
        .gated = 1,
        .repair = 1,
        .physics_nodes = 9,
        .network_nodes = 5,
        .calibration = 600,
        .snr_gate = 12,
        .reservoir = 96,
        .holdout = 24,
        .batch = 16,
        .updates = 150,
        .train_every = 4,
        .adam = 1,
        .rate = (tu_real)0.02,
        .rate_floor = (tu_real)0.02,
        .decay = (tu_real)0.99,
        .groups = 6,
        .block = 10,
        .threshold = (tu_real)4.5,
        .follow = 1,
        .recalibrate = 1,
        .last_layer = 1,
        .seed = 7,
    };
    return c;
}

tu_config config_of(const setup *tried)
{
    tu_config config = base_config();
    tried->change(&config);
    return config;
}

static void nodes(tu_config *c) { (void)c; }

static void centre(tu_config *c)
{
    c->network_nodes = 1;
    c->physics_nodes = 1;
}

static void same_nodes(tu_config *c) { c->network_nodes = 9; }

static void paper(tu_config *c)
{
    centre(c);
    c->dense = 0;
    c->repair = 0;
    c->on_count = 2;
    c->on[0] = 0;
    c->on[1] = 1;
    c->library_terms = 0;
    c->holdout = 0;
    c->follow = 0;
    c->second_order = (tu_real)0.1;
}

tu_config paper_config(void)
{
    tu_config config = base_config();
    paper(&config);
    return config;
}

static void paper_second_order(tu_config *c)
{
    paper(c);
    c->snr_gate = 0;
}

static void paper_input(tu_config *c)
{
    paper_second_order(c);
    c->inputs = 1;
}

static void paper_sized(tu_config *c)
{
    paper_second_order(c);
    c->hidden[0] = 16;
    c->hidden[1] = 16;
    c->batch = 64;
}

static void paper_first_version(tu_config *c)
{
    paper(c);
    c->adaptive = 0;
    c->gated = 0;
    c->rolling = 1;
    c->reservoir = 32;
    c->batch = 32;
    c->adam = 0;
    c->rate = (tu_real)0.05;
    c->decay = 0;
    c->last_layer = 0;
}

static void usual(tu_config *c)
{
    c->hidden[0] = 16;
    c->hidden[1] = 16;
    c->batch = 64;
    c->network_nodes = 1;
}

static void compact(tu_config *c) { c->compact = 1; }

static void compact_second_order(tu_config *c)
{
    paper_second_order(c);
    c->compact = 1;
}

static void position_only(tu_config *c)
{
    c->channels = 1;
    c->channel[1] = 0;
    c->order[1] = 1;
}

static void input(tu_config *c)
{
    c->inputs = 1;
    c->sees_count = 3;
    c->sees[2] = 2;
}

static void input_position_only(tu_config *c)
{
    position_only(c);
    c->inputs = 1;
}

static void parameter(tu_config *c)
{
    c->parameters = 1;
    c->forced = 1;
    c->hidden_count = 0;
    c->reservoir = 0;
    c->holdout = 0;
}

static void parameters_alike(tu_config *c)
{
    parameter(c);
    c->parameters = 2;
    c->forced = 2;
    c->library_terms = 0;
}

static void many_terms(tu_config *c)
{
    c->library_terms = 8;
    c->on_count = 2;
    c->on[0] = 0;
    c->on[1] = 1;
}

static void skip(tu_config *c)
{
    c->library_terms = 3;
    c->forced = 3;
}

static void network_alone(tu_config *c)
{
    c->library_terms = 0;
    c->hidden_count = 3;
    c->hidden[0] = 7;
    c->hidden[1] = 5;
    c->hidden[2] = 3;
}

static void wide(tu_config *c)
{
    c->hidden_count = 1;
    c->hidden[0] = 37;
    c->batch = 70;
    c->network_nodes = 2;
}

static void sees_part(tu_config *c)
{
    c->sees_count = 1;
    c->sees[0] = 1;
}

static void three_pendulums(tu_config *c)
{
    c->channels = 5;
    c->states = 6;
    for (int i = 0; i < 6; i++) {
        c->channel[i] = i < 5 ? i : 4;
        c->sees[i] = i;
    }
    c->order[5] = 1;
    c->on_count = 3;
    c->on[0] = 1;
    c->on[1] = 3;
    c->on[2] = 5;
    c->sees_count = 6;
}

static void low_order(tu_config *c)
{
    c->poly = 2;
    c->train_every = 0;
}

static void high_order(tu_config *c)
{
    c->poly = 6;
    c->repair = 0;
}

static void paper_coarse(tu_config *c)
{
    paper(c);
    c->max_half = 5;
    c->spacing = 1;
    c->poly = 3;
}

static void rolling(tu_config *c)
{
    c->rolling = 1;
    c->follow = 0;
    c->rate = 1000; /* far too fast */
    c->adam = 0;
}

static void long_windows(tu_config *c)
{
    c->max_half = 300;
    c->stride = 1;
}

static void wrapped_angle(tu_config *c)
{
    c->wrap[0] = 1;
    c->rate_channel[0] = 2;
}

static void wrapped_alone(tu_config *c)
{
    network_alone(c);
    wrapped_angle(c);
}

static void judged(tu_config *c)
{
    c->judged = 1;
    c->block = 8;
    c->updates = 20;
    c->forget = 4000;
}

const setup SETUPS[] = {
    {"nodes", nodes},
    {"centre", centre},
    {"usual network", usual},
    {"same nodes", same_nodes},
    {"paper", paper},
    {"paper, second order", paper_second_order},
    {"paper, second order, input", paper_input},
    {"paper, its network", paper_sized},
    {"paper, first version", paper_first_version},
    {"paper, coarse", paper_coarse},
    {"compact", compact},
    {"compact, second order", compact_second_order},
    {"position only", position_only},
    {"input", input},
    {"input, position only", input_position_only},
    {"parameter", parameter},
    {"parameters alike", parameters_alike},
    {"many terms", many_terms},
    {"skip", skip},
    {"network alone", network_alone},
    {"wide", wide},
    {"sees part", sees_part},
    {"three pendulums", three_pendulums},
    {"low order", low_order},
    {"high order", high_order},
    {"rolling, too fast", rolling},
    {"long windows", long_windows},
    {"wrapped angle", wrapped_angle},
    {"wrapped, network alone", wrapped_alone},
    {"judged, forgetting", judged},
};
const int SETUPS_COUNT = sizeof SETUPS / sizeof SETUPS[0];
