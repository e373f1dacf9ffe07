#include "paper/median_gate.h"

#include "numeric/elementary.h"

enum { RECENT = 63 }; /* windows in the running median */

void tu_median_gate_carve(tu_median_gate *gate, tu_arena *arena, int channels, int used)
{
    gate->channels = channels;
    gate->kept = 0;
    gate->next = 0;
    gate->recent = used ? tu_arena_reals(arena, channels * RECENT) : NULL;
    gate->order = used ? tu_arena_take(arena, (size_t)channels * RECENT) : NULL;
}

/* Replaces the oldest norm; returns the median of those held. */
static tu_real running_median(const tu_median_gate *gate, int channel, tu_real norm)
{
    tu_real *recent = gate->recent + channel * RECENT;
    uint8_t *order = gate->order + channel * RECENT;
    int held = gate->kept, place = 0;
    if (held == RECENT) {
        while (order[place] != gate->next) {
            place++;
        }
        for (held--; place < held; place++) {
            order[place] = order[place + 1];
        }
    }
    for (place = held; place > 0 && recent[order[place - 1]] > norm; place--) {
        order[place] = order[place - 1];
    }
    order[place] = (uint8_t)gate->next;
    recent[gate->next] = norm;
    return recent[order[(held + 1) / 2]];
}

static tu_real rms(const tu_window *window, const tu_ring *ring, int channel)
{
    tu_real sum = 0;
    for (int back = 2 * tu_window_reach(window); back >= 0; back -= window->spacing) {
        tu_real sample = tu_ring_at(ring, channel, back);
        sum += sample * sample;
    }
    return tu_sqrt(sum / (tu_real)(2 * window->half + 1));
}

int tu_median_gate_accept(tu_median_gate *gate, const tu_window *window, const tu_ring *ring, const tu_fit *fit,
                          const tu_noise *noise, tu_real scale)
{
    int rejected = 0;
    for (int c = 0; c < gate->channels; c++) {
        tu_real norm = tu_sqrt(fit->misfit[c]);
        tu_real usual = TU_R(6.0) * running_median(gate, c, norm);
        tu_real cap = noise->sigma[c] * scale * tu_sqrt(tu_window_freedom(window)) * tu_gates_spread(window);
        rejected |= norm > (usual < cap ? usual : cap) + TU_R(0.02) * rms(window, ring, c);
    }
    gate->next = gate->next + 1 < RECENT ? gate->next + 1 : 0;
    gate->kept += gate->kept < RECENT;
    return rejected ? TU_MISFIT : TU_ACCEPTED;
}

int tu_median_gate_in_order(const tu_median_gate *gate, int kept, int next)
{
    if (kept > RECENT || next >= RECENT || (kept < RECENT && next != kept)) {
        return 0;
    }
    for (int c = 0; c < gate->channels; c++) {
        uint64_t found = 0;
        for (int i = 0; i < kept; i++) {
            uint8_t slot = gate->order[c * RECENT + i];
            found |= slot < RECENT ? (uint64_t)1 << slot : 0;
        }
        if (found != ((uint64_t)1 << kept) - 1) {
            return 0;
        }
    }
    return 1;
}
