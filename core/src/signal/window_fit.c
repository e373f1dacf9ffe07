#include "numeric/cholesky.h"
#include "signal/legendre.h"

static int smaller(int a, int b) { return a < b ? a : b; }

void tu_fit_carve(tu_fit *fit, tu_arena *arena, int channels, int poly)
{
    fit->coefficients = tu_arena_reals(arena, channels * (poly + 1));
    fit->misfit = tu_arena_reals(arena, channels);
    fit->segments = tu_arena_reals(arena, channels);
    fit->work = tu_arena_take(arena, sizeof *fit->work);
}

/* Sample pairs (k, -k), `count` of them from `k` on, contiguous in the ring and within the caller's limit. */
typedef struct {
    int k;
    int count;
    int up; /* slots of samples k and -k */
    int down;
} stretch;

TU_INLINE stretch next_stretch(const tu_ring *ring, int middle, int spacing, int k, int last)
{
    stretch s = {k, last - k + 1, middle + k * spacing, middle - k * spacing};
    s.up -= s.up < ring->span ? 0 : ring->span;
    s.down += s.down < 0 ? ring->span : 0;
    s.count = smaller(s.count, (ring->span - 1 - s.up) / spacing + 1);
    s.count = smaller(s.count, s.down / spacing + 1);
    return s;
}

/* Adds a run of pairs to the moments: even polynomials use the sum of a pair, odd ones its difference. */
TU_INLINE void add_moments(const stretch *s, const tu_real *samples, int span, int half, int spacing, int poly,
                           int tracks, tu_track *t)
{
    tu_real moments[2][TU_MAX_TERMS], basis[TU_MAX_TERMS], step = TU_R(1.0) / (tu_real)half, k = (tu_real)s->k;
    const tu_real *up[2], *down[2];
    for (int c = 0; c < tracks; c++) {
        up[c] = samples + c * span + s->up;
        down[c] = samples + c * span + s->down;
        for (int j = 0; j <= poly; j++) {
            moments[c][j] = t[c].terms[j];
        }
    }
    for (int n = s->count; n > 0; n--, k += 1) {
        tu_monic(k * step, poly, basis);
        for (int c = 0; c < tracks; c++) {
            tu_real part[2] = {(*up[c] - t[c].centre) + (*down[c] - t[c].centre), *up[c] - *down[c]};
            moments[c][0] += part[0];
            for (int j = 1; j <= poly; j++) {
                moments[c][j] += basis[j] * part[j & 1];
            }
            up[c] += spacing;
            down[c] -= spacing;
        }
    }
    for (int c = 0; c < tracks; c++) {
        for (int j = 0; j <= poly; j++) {
            t[c].terms[j] = moments[c][j];
        }
    }
}

/* Evaluates the terms of one parity, from this power down, at tau^2. */
TU_INLINE tu_real horner(const tu_real *terms, int power, tu_real square)
{
    tu_real value = terms[power];
    for (power -= 2; power >= 0; power -= 2) {
        value = value * square + terms[power];
    }
    return value;
}

/* Adds a run of residuals to the misfit and to the sums of its two segments. */
TU_INLINE void add_residuals(const stretch *s, const tu_real *samples, int span, int after, int before, int half,
                             int spacing, int poly, int tracks, tu_track *t)
{
    tu_real step = TU_R(1.0) / (tu_real)half, k = (tu_real)s->k;
    tu_real misfit[2], sum_up[2], sum_down[2];
    const tu_real *up[2], *down[2];
    for (int c = 0; c < tracks; c++) {
        up[c] = samples + c * span + s->up;
        down[c] = samples + c * span + s->down;
        misfit[c] = t[c].misfit;
        sum_up[c] = t[c].sums[after];
        sum_down[c] = t[c].sums[before];
    }
    for (int n = s->count; n > 0; n--, k += 1) {
        tu_real tau = k * step, square = tau * tau;
        for (int c = 0; c < tracks; c++) {
            tu_real even = horner(t[c].terms, poly & ~1, square);
            tu_real odd = horner(t[c].terms, (poly - 1) | 1, square) * tau;
            tu_real right = *up[c] - (even + odd), left = *down[c] - (even - odd);
            misfit[c] += right * right;
            misfit[c] += left * left;
            sum_up[c] += right;
            sum_down[c] += left;
            up[c] += spacing;
            down[c] -= spacing;
        }
    }
    for (int c = 0; c < tracks; c++) {
        t[c].misfit = misfit[c];
        t[c].sums[after] = sum_up[c];
        t[c].sums[before] = sum_down[c];
    }
}

/* Starts a channel with empty sums. */
static void start(const tu_window *window, const tu_ring *ring, int channel, tu_track *t)
{
    t->centre = tu_ring_at(ring, channel, tu_window_reach(window));
    for (int j = 0; j <= window->poly; j++) {
        t->terms[j] = 0; /* the centre contributes 0 */
    }
    for (int i = 0; i < TU_SEGMENTS; i++) {
        t->sums[i] = 0;
    }
}

/* Moments to coefficients: of the Legendre polynomials for the caller, of the powers of tau for the residuals. */
TU_INLINE void solve(const tu_window *window, int poly, tu_track *t, tu_real *coefficients)
{
    for (int i = 0; i <= poly; i++) {
        coefficients[i] = 0;
        for (int j = i & 1; j <= poly; j += 2) {
            coefficients[i] += window->inverse[tu_symmetric(i, j)] * (tu_legendre_powers[j][j] * t->terms[j]);
        }
    }
    coefficients[0] += t->centre;
    for (int i = 0; i <= poly; i++) {
        t->terms[i] = 0;
        for (int j = i; j <= poly; j += 2) {
            t->terms[i] += tu_legendre_powers[j][i] * coefficients[j];
        }
    }
}

static int segment_start(int segment, int samples) { return segment * samples / TU_SEGMENTS; }

/* The segment that a sample (0: the oldest) lies in. */
static int segment_of(int position, int samples) { return (TU_SEGMENTS * (position + 1) - 1) / samples; }

/* One slice of the pass for moments; after the last pair, converts them to coefficients. */
TU_INLINE void walk_moments(const tu_window *window, const tu_ring *ring, int tracks, int spacing, int poly,
                            const tu_fit *fit)
{
    tu_fit_work *w = fit->work;
    int half = window->half, middle = tu_ring_slot(ring, half * spacing),
        last = smaller(w->next + TU_WINDOW_SLICE - 1, half);
    for (stretch s; w->next <= last; w->next += s.count) {
        s = next_stretch(ring, middle, spacing, w->next, last);
        add_moments(&s, ring->values + w->channel * ring->span, ring->span, half, spacing, poly, tracks, w->tracks);
    }
    if (w->next <= half) {
        return;
    }
    for (int c = 0; c < tracks; c++) {
        tu_track *t = w->tracks + c;
        solve(window, poly, t, fit->coefficients + (w->channel + c) * (poly + 1));
        tu_real residual = t->centre - t->terms[0];
        t->misfit = residual * residual;
        t->sums[segment_of(half, 2 * half + 1)] = residual;
    }
    w->residuals = w->next = 1;
}

/* One slice of the pass for residuals; after the last pair, writes the channels' results. */
TU_INLINE void walk_residuals(const tu_window *window, const tu_ring *ring, int tracks, int spacing, int poly,
                              const tu_fit *fit)
{
    tu_fit_work *w = fit->work;
    int half = window->half, samples = 2 * half + 1, middle = tu_ring_slot(ring, half * spacing);
    int last = smaller(w->next + TU_WINDOW_SLICE - 1, half);
    for (stretch s; w->next <= last; w->next += s.count) {
        int after = segment_of(half + w->next, samples), before = segment_of(half - w->next, samples);
        int end = smaller(segment_start(after + 1, samples) - 1 - half, half - segment_start(before, samples));
        s = next_stretch(ring, middle, spacing, w->next, smaller(end, last));
        add_residuals(&s, ring->values + w->channel * ring->span, ring->span, after, before, half, spacing, poly,
                      tracks, w->tracks);
    }
    if (w->next <= half) {
        return;
    }
    for (int c = 0; c < tracks; c++) {
        tu_real segments = 0;
        for (int i = 0; i < TU_SEGMENTS; i++) {
            tu_real length = (tu_real)(segment_start(i + 1, samples) - segment_start(i, samples));
            segments += w->tracks[c].sums[i] * w->tracks[c].sums[i] / length;
        }
        fit->misfit[w->channel + c] = w->tracks[c].misfit;
        fit->segments[w->channel + c] = segments;
    }
    w->channel += tracks;
    w->count = 0;
}

TU_INLINE void walk(const tu_window *window, const tu_ring *ring, int tracks, int spacing, int poly, const tu_fit *fit)
{
    if (fit->work->residuals) {
        walk_residuals(window, ring, tracks, spacing, poly, fit);
    } else {
        walk_moments(window, ring, tracks, spacing, poly, fit);
    }
}

void tu_window_fit_begin(const tu_fit *fit) { fit->work->channel = fit->work->count = 0; }

int tu_window_fit_slice(const tu_window *window, const tu_ring *ring, int channels, const tu_fit *fit)
{
    tu_fit_work *w = fit->work;
    int usual = window->poly == 4 && window->spacing == 1; /* the common case gets its own instance */
    if (w->count == 0) {
        w->count = usual && w->channel + 1 < channels ? 2 : 1;
        w->residuals = 0;
        w->next = 1;
        for (int c = 0; c < w->count; c++) {
            start(window, ring, w->channel + c, w->tracks + c);
        }
    }
    if (w->count == 2) {
        walk(window, ring, 2, 1, 4, fit);
    } else if (usual) {
        walk(window, ring, 1, 1, 4, fit);
    } else {
        walk(window, ring, 1, window->spacing, window->poly, fit);
    }
    return w->channel < channels;
}
