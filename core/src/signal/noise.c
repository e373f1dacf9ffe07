#include "signal/noise.h"

#include "numeric/elementary.h"

#include <float.h>

enum { HALF = 5 };
enum { WARM = 64 };            /* residuals whose median starts the average */
enum { LOWER = WARM / 2 + 1 }; /* the smallest of them, enough to find the median */
enum { MEMORY = 1 << 20 };     /* maximum memory in samples: float32 averages over more would not change */
enum { READY = 256 };          /* residuals averaged before the estimate is used to detect outliers */
enum { REPEATED = 100 };       /* one change in so many follows a repeated value: the channel is quantised */
enum { REMEMBERED = 10000 };   /* changes, at most, by which this is decided */

/* Centre minus D0 of the quartic on eleven samples, times 429: symmetric, so the newest five are not stored. */
static const tu_real ROW[HALF + 1] = {TU_R(-18.0), TU_R(45.0), TU_R(10.0), TU_R(-60.0), TU_R(-120.0), TU_R(286.0)};
static const tu_real ROW_POWER = TU_R(122694.0); /* its squared norm: 2/3 of 429^2 */
static const tu_real CLIP = TU_R(3.5);
static const tu_real CLIPPED = TU_R(0.99367);     /* share of a Gaussian variance that remains within the clip */
static const tu_real CHI_MEDIAN = TU_R(0.455);    /* of chi-square(1) */
static const tu_real RELATIVE_FLOOR = TU_R(1e-6); /* of the channel's RMS */

void tu_noise_carve(tu_noise *noise, tu_arena *arena, int channels)
{
    tu_real **vectors[] = {&noise->variance, &noise->held, &noise->power,
                           &noise->smallest, &noise->step, &noise->sigma};
    noise->channels = channels;
    noise->start = tu_arena_reals(arena, channels * LOWER);
    for (size_t i = 0; i < sizeof vectors / sizeof vectors[0]; i++) {
        *vectors[i] = tu_arena_reals(arena, channels);
    }
    noise->count = tu_arena_take(arena, (size_t)channels * sizeof(uint32_t));
    noise->still = tu_arena_ints(arena, channels);
    noise->repeats = tu_arena_ints(arena, channels);
}

static tu_real sigma_floor(const tu_noise *noise, int channel)
{
    tu_real step = noise->step[channel] / tu_sqrt(TU_R(12.0));
    return tu_larger(tu_larger(step, RELATIVE_FLOOR * tu_sqrt(noise->power[channel])), (tu_real)FLT_MIN);
}

void tu_noise_init(tu_noise *noise)
{
    noise->seen = 0;
    noise->samples = 0;
    for (int c = 0; c < noise->channels; c++) {
        noise->variance[c] = 0;
        noise->power[c] = 0;
        noise->smallest[c] = 0;
        noise->step[c] = 0;
        noise->sigma[c] = (tu_real)FLT_MIN;
        noise->count[c] = 0;
        noise->still[c] = 0;
        noise->repeats[c] = 0;
    }
}

/* The squared residual of the newest eleven samples, in units of the noise variance. */
static tu_real squared_residual(const tu_ring *ring, int channel)
{
    tu_real buffer[2 * HALF + 1];
    const tu_real *y = tu_ring_last(ring, channel, 2 * HALF + 1, buffer);
    tu_real sum = ROW[HALF] * y[HALF];
    for (int j = 0; j < HALF; j++) {
        sum += ROW[j] * (y[j] + y[2 * HALF - j]);
    }
    return sum * sum / ROW_POWER;
}

/* Keeps the smaller half of the first residuals sorted; after the last one, sets the initial average. */
static void warm_up(tu_noise *noise, int channel, tu_real squared, tu_real floor)
{
    tu_real *start = noise->start + channel * LOWER;
    int place = noise->seen < LOWER ? noise->seen : LOWER - 1;
    if (noise->seen < LOWER || squared < start[place]) {
        for (; place > 0 && start[place - 1] > squared; place--) {
            start[place] = start[place - 1];
        }
        start[place] = squared;
    }
    if (noise->seen + 1 == WARM) {
        noise->variance[channel] = tu_larger(start[LOWER - 1] / CHI_MEDIAN, floor * floor);
        noise->count[channel] = WARM / 4; /* a median is as precise as this many averaged squares */
    }
}

static void average(tu_noise *noise, int channel, tu_real squared, tu_real floor)
{
    tu_real variance = noise->variance[channel];
    if (squared <= CLIP * CLIP * tu_larger(variance, floor * floor)) {
        noise->count[channel] += noise->count[channel] < MEMORY;
        noise->variance[channel] = variance + (squared - variance) / (tu_real)noise->count[channel];
    }
}

/* A channel is quantised if its values repeat: the smallest change of a smooth signal is not a step. */
static void find_step(tu_noise *noise, int channel, tu_real change)
{
    int32_t repeats = noise->repeats[channel] + (noise->still[channel] ? REPEATED : -1);
    if (repeats >= -REMEMBERED && repeats <= REMEMBERED) {
        noise->repeats[channel] = repeats;
    }
    if (change < noise->smallest[channel] || !(noise->smallest[channel] > 0)) {
        noise->smallest[channel] = change;
    }
    noise->step[channel] = noise->repeats[channel] > 0 ? noise->smallest[channel] : 0;
    noise->still[channel] = 0;
}

/* Updates power, quantisation step and stillness of a channel from its newest sample. Returns 1 if it is still. */
static int observe(tu_noise *noise, const tu_ring *ring, int channel)
{
    tu_real newest = tu_ring_at(ring, channel, 0);
    noise->power[channel] += (newest * newest - noise->power[channel]) / (tu_real)noise->samples;
    if (ring->held > 1) {
        tu_real change = tu_abs(newest - tu_ring_at(ring, channel, 1));
        if (change > 0) {
            find_step(noise, channel, change);
        } else {
            noise->still[channel] += noise->still[channel] < 2 * HALF;
        }
    }
    return noise->still[channel] >= 2 * HALF;
}

void tu_noise_update(tu_noise *noise, const tu_ring *ring, int learn)
{
    int still = 0;
    noise->samples += noise->samples < MEMORY;
    for (int c = 0; c < noise->channels; c++) {
        still |= observe(noise, ring, c);
    }
    int whole = ring->held > 2 * HALF && !still && learn;
    for (int c = 0; c < noise->channels; c++) {
        tu_real floor = sigma_floor(noise, c);
        if (whole && noise->seen < WARM) {
            warm_up(noise, c, squared_residual(ring, c), floor);
        } else if (whole) {
            average(noise, c, squared_residual(ring, c), floor);
        }
        noise->sigma[c] = tu_larger(tu_sqrt(noise->variance[c] / CLIPPED), floor);
    }
    noise->seen += whole && noise->seen < WARM;
}

void tu_noise_hold(tu_noise *noise)
{
    for (int c = 0; c < noise->channels; c++) {
        noise->held[c] = noise->variance[c];
    }
}

void tu_noise_restore(tu_noise *noise)
{
    noise->seen = WARM;
    for (int c = 0; c < noise->channels; c++) {
        noise->variance[c] = noise->held[c];
        noise->count[c] = READY;
        noise->sigma[c] = tu_larger(tu_sqrt(noise->variance[c] / CLIPPED), sigma_floor(noise, c));
    }
}

int tu_noise_ready(const tu_noise *noise)
{
    int ready = 1;
    for (int c = 0; c < noise->channels; c++) {
        ready &= noise->count[c] >= READY;
    }
    return ready;
}
