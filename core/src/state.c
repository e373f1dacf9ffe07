#include "state.h"

#include "config.h"
#include "network/last_layer.h"
#include "network/loss.h"
#include "network/network_part.h"
#include "paper/paper_part.h"
#include "regression/last_good.h"

#include <string.h>

/* Size of the learner's struct on a 32-bit chip, used on every machine, so that the arena size is the same everywhere.
 */
#ifdef TU_REAL_DOUBLE
enum { STATE_BYTES = 1504 };
#else
enum { STATE_BYTES = 1216 };
#endif
typedef char tu_state_must_fit[sizeof(tu_learner) <= STATE_BYTES || sizeof(void *) > 4 ? 1 : -1];

static void carve_targets(tu_targets *targets, tu_arena *arena, const tu_config *config, const tu_mlp *net)
{
    int on = config->on_count, width = config->parameters + config->library_terms;
    tu_fit_carve(&targets->fit, arena, config->channels, config->poly);
    targets->candidate = tu_arena_take(arena, sizeof *targets->candidate);
    targets->jets = tu_arena_reals(arena, 3 * config->states);
    targets->node = tu_arena_reals(arena, config->states + config->inputs);
    targets->field = tu_arena_reals(arena, config->states);
    targets->terms = tu_arena_reals(arena, config->library_terms);
    targets->sensitivity = tu_arena_reals(arena, on * config->parameters);
    targets->row = tu_arena_reals(arena, width);
    targets->design = tu_arena_reals(arena, on * width);
    targets->target = tu_arena_reals(arena, on);
    targets->left = config->hidden_count ? tu_arena_reals(arena, on) : targets->target;
    targets->entry = tu_arena_reals(arena, tu_config_width(config) + 1);
    targets->acts =
        tu_arena_reals(arena, config->hidden_count && tu_config_keeps_good(config) ? 2 * tu_mlp_widest(net) : 0);
}

static size_t larger(size_t a, size_t b) { return a > b ? a : b; }

/* Working memory of the loss for blocks of this many samples. */
static void carve_loss(tu_learner *l, tu_arena *arena, int block)
{
    size_t count =
        l->config->second_order > 0 ? tu_second_order_scratch(&l->net, block) : tu_loss_scratch(&l->net, block);
    l->loss_scratch = tu_arena_reals(arena, (int)count);
}

static void carve_indices(tu_learner *l, tu_arena *arena, int block)
{
    l->indices = tu_arena_take(arena, (size_t)block * sizeof(uint32_t));
}

/* Additional memory with vector units: longer blocks and transposed weights. */
static void carve_host(tu_learner *l, tu_arena *arena)
{
    if (l->config->hidden_count && TU_BLOCK > TU_CHIP_BLOCK) {
        carve_indices(l, arena, TU_BLOCK);
        carve_loss(l, arena, TU_BLOCK);
    }
    l->net.transposed = tu_arena_reals(arena, l->config->hidden_count ? (int)tu_mlp_transposed(&l->net) : 0);
}

/* Memory shared by targets, updates and library solutions. */
static void carve_scratch(tu_learner *l, tu_arena *arena)
{
    const tu_config *config = l->config;
    size_t start = arena->used, end;
    carve_targets(&l->targets, arena, config, &l->net);
    end = arena->used;
    if (config->hidden_count) {
        arena->used = start;
        carve_loss(l, arena, TU_CHIP_BLOCK);
        end = larger(end, arena->used);
    }
    if (l->library.columns) {
        arena->used = start;
        tu_library_work_carve(&l->library_work, arena, &l->library, config->forced);
        end = larger(end, arena->used);
    }
    arena->used = end;
}

static void carve_store(tu_reservoir *store, tu_arena *arena, const tu_config *config, int capacity, int width,
                        int marked, const tu_real *scale)
{
    size_t bytes = tu_reservoir_bytes((uint32_t)capacity, (uint32_t)width, config->compact);
    void *entries = tu_arena_take(arena, bytes);
    uint8_t *fresh = marked ? tu_arena_take(arena, (size_t)(capacity + 7) / 8) : NULL;
    tu_reservoir_init(store, entries, fresh, scale, (uint32_t)capacity, (uint32_t)width, config->rolling);
}

static void carve_network(tu_learner *l, tu_arena *arena, tu_memory *memory)
{
    int count = l->config->hidden_count ? (int)tu_mlp_count(&l->net) : 0;
    size_t start = arena->used;
    l->params = tu_arena_reals(arena, count);
    l->average = tu_arena_reals(arena, count);
    l->good = tu_config_watched(l->config) ? tu_arena_reals(arena, count) : l->average;
    memory->network = arena->used - start;
    start = arena->used;
    size_t solving = count && l->config->last_layer ? tu_last_layer_work(&l->net) : 0;
    l->grad = tu_arena_reals(arena, (int)larger((size_t)count, solving));
    l->adam.first = tu_arena_reals(arena, count);
    l->adam.second = tu_arena_reals(arena, count);
    l->adam.count = count;
    carve_indices(l, arena, count ? TU_CHIP_BLOCK : 0);
    memory->optimiser = arena->used - start;
}

static void carve_state(tu_learner *l, tu_arena *arena)
{
    const tu_config *config = l->config;
    int columns = config->channels + config->inputs;
    l->row = tu_arena_reals(arena, columns);
    l->run = tu_arena_ints(arena, config->channels);
    l->network_on = tu_arena_ints(arena, config->on_count);
    l->entry_scale = config->compact ? tu_arena_reals(arena, tu_config_width(config) + 1) : NULL;
    if (tu_config_watched(config)) {
        l->watch.gain = tu_arena_reals(arena, 2 * config->on_count + 1);
        l->watch.gains = tu_arena_take(arena, (size_t)(2 * config->on_count + 1) * sizeof *l->watch.gains);
    }
    tu_kinematics_carve(&l->kinematics, arena, config);
    tu_repair_carve(&l->repair, arena, config->repair ? columns : 0);
    tu_noise_carve(&l->noise, arena, config->channels);
    tu_median_gate_carve(&l->median_gate, arena, config->channels, !config->dense && config->gated);
    tu_nodes_carve(&l->physics_nodes, arena, config, tu_config_physics_nodes(config));
    tu_nodes_carve(&l->network_nodes, arena, config, config->network_nodes);
}

/* Defines the memory layout. A pass over an arena without memory counts its bytes. */
static void carve(tu_learner *l, const tu_config *config, tu_arena *arena, tu_memory *memory)
{
    int width = tu_config_width(config);
    l->config = config;
    l->net = tu_config_net(config);
    size_t wider = larger(sizeof(tu_learner), STATE_BYTES) - STATE_BYTES; /* pointers of 64 bits */
    tu_arena_take(arena, STATE_BYTES + wider);
    carve_state(l, arena);
    memory->state = arena->used - wider;
    carve_network(l, arena, memory);
    size_t start = arena->used;
    tu_ring_carve(&l->ring, arena, tu_config_span(config), config->channels + config->inputs);
    memory->ring = arena->used - start;
    start = arena->used;
    tu_library_carve(&l->library, arena, config);
    tu_change_carve(&l->change, arena, l->library.columns + (config->hidden_count ? config->on_count : 0));
    tu_last_good_carve(&l->last_good, arena, config);
    memory->library = arena->used - start;
    start = arena->used;
    tu_calibrate_carve(&l->calibration, &l->setup, arena, config);
    memory->calibration = arena->used - start;
    start = arena->used;
    carve_store(&l->reservoir, arena, config, config->reservoir, width, 1, l->entry_scale);
    memory->reservoir = arena->used - start;
    start = arena->used;
    carve_store(&l->holdout, arena, config, config->holdout, width + 1, 0, l->entry_scale);
    memory->holdout = arena->used - start;
    start = arena->used;
    carve_scratch(l, arena);
    memory->scratch = arena->used - start;
    memory->total = arena->used - wider;
    carve_host(l, arena);
    memory->host = arena->used - memory->total;
}

int tu_learner_memory(const tu_config *config, tu_memory *memory)
{
    tu_learner counted;
    tu_arena nowhere = {NULL, 0};
    if (tu_config_check(config) != TU_OK) {
        return TU_BAD_CONFIG;
    }
    carve(&counted, config, &nowhere, memory);
    return TU_OK;
}

size_t tu_learner_bytes(const tu_config *config)
{
    tu_memory memory;
    return tu_learner_memory(config, &memory) == TU_OK ? memory.total + memory.host : 0;
}

static int functions_given(const tu_config *config, const tu_known *known)
{
    return known && known->field && (known->jacobian || !(config->second_order > 0)) &&
           (known->terms || !config->library_terms) && (known->sensitivity || !config->parameters) &&
           (known->network || !config->hidden_count) && (known->fusion || !tu_config_fused(config)) &&
           (known->paper || (config->dense && !(config->second_order > 0)));
}

static void start(tu_learner *l, const tu_known *known)
{
    l->known = *known;
    l->known.network = l->config->hidden_count ? known->network : NULL;
    l->median_gate.accept = l->median_gate.recent ? known->paper->accept : NULL;
    tu_rng_seed(&l->rng, l->config->seed, 0);
    tu_noise_init(&l->noise);
    l->calibrating = 1;
    l->until = (uint32_t)l->config->calibration;
    l->rate = l->config->rate;
    if (l->known.network) {
        l->known.network->start(l);
    }
    memcpy(l->average, l->params, (size_t)l->adam.count * sizeof(tu_real));
    memcpy(l->good, l->params, (size_t)l->adam.count * sizeof(tu_real));
    for (int i = 0; i < l->config->on_count; i++) {
        l->network_on[i] = !tu_config_watched(l->config) || !l->library.columns; /* off until hold-out error drops */
    }
}

int tu_learner_init(tu_learner **learner, const tu_config *config, const tu_known *known, void *arena, size_t bytes)
{
    tu_memory memory;
    tu_arena whole = {arena, 0};
    size_t needed = tu_learner_bytes(config);
    if (needed == 0) {
        return TU_BAD_CONFIG;
    }
    if (!arena || (uintptr_t)arena % 8 != 0 || bytes < needed) {
        return TU_BAD_ARENA;
    }
    if (!functions_given(config, known)) {
        return TU_BAD_FUNCTION;
    }
    memset(arena, 0, needed);
    *learner = arena;
    carve(*learner, config, &whole, &memory);
    start(*learner, known);
    return TU_OK;
}
