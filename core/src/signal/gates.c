#include "signal/gates.h"

#include "numeric/elementary.h"
#include "numeric/finite.h"

enum { RECENT = 63 }; /* windows in the running median */
static const tu_real CHI = TU_R(4.0);                            /* standard deviations of the misfit's own scatter */
static const tu_real JUMP = TU_R(24.0) + (tu_real)TU_SEGMENTS; /* about five sigma on any one step */

void tu_gates_carve(tu_gates *gates, tu_arena *arena, int channels, int used)
{
    for (int i = 0; i < TU_REASONS; i++) {
        gates->rejected[i] = 0;
    }
    gates->channels = channels;
    gates->kept = 0;
    gates->next = 0;
    gates->recent = used ? tu_arena_reals(arena, channels * RECENT) : NULL;
    gates->order = used ? tu_arena_take(arena, (size_t)channels * RECENT) : NULL;
}

/* How far above the noise the root of a chi-square misfit may lie. */
static tu_real spread(const tu_window *window)
{
    return TU_R(1.0) + CHI / tu_sqrt(TU_R(2.0) * tu_window_freedom(window));
}

/* Puts a norm in the place of the oldest one; the median of those held. */
static tu_real running_median(const tu_gates *gates, int channel, tu_real norm)
{
    tu_real *recent = gates->recent + channel * RECENT;
    uint8_t *order = gates->order + channel * RECENT;
    int held = gates->kept, place = 0;
    if (held == RECENT) {
        while (order[place] != gates->next) {
            place++;
        }
        for (held--; place < held; place++) {
            order[place] = order[place + 1];
        }
    }
    for (place = held; place > 0 && recent[order[place - 1]] > norm; place--) {
        order[place] = order[place - 1];
    }
    order[place] = (uint8_t)gates->next;
    recent[gates->next] = norm;
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

int tu_gates_median(tu_gates *gates, const tu_window *window, const tu_ring *ring, const tu_fit *fit,
                    const tu_noise *noise, tu_real scale)
{
    int refused = 0;
    for (int c = 0; c < gates->channels; c++) {
        tu_real norm = tu_sqrt(fit->misfit[c]);
        tu_real usual = TU_R(6.0) * running_median(gates, c, norm);
        tu_real cap = noise->sigma[c] * scale * tu_sqrt(tu_window_freedom(window)) * spread(window);
        refused |= norm > (usual < cap ? usual : cap) + TU_R(0.02) * rms(window, ring, c);
    }
    gates->next = gates->next + 1 < RECENT ? gates->next + 1 : 0;
    gates->kept += gates->kept < RECENT;
    return refused ? TU_MISFIT : TU_ACCEPTED;
}

int tu_gates_noise(const tu_window *window, const tu_fit *fit, const tu_noise *noise, tu_real scale)
{
    tu_real limit = tu_window_freedom(window) * spread(window) * spread(window);
    int jump = 0;
    for (int c = 0; c < noise->channels; c++) {
        tu_real sigma = noise->sigma[c] * scale, step = noise->step[c], coarse = 0;
        if (fit->misfit[c] > sigma * sigma * limit) {
            return TU_MISFIT;
        }
        if (tu_finite(step) && step > TU_R(2.0) * sigma) {
            coarse = step * step / TU_R(6.0);
        }
        jump |= fit->segments[c] > JUMP * (sigma * sigma) + (tu_real)(2 * window->half + 1) * coarse;
    }
    return jump ? TU_JUMP : TU_ACCEPTED;
}
