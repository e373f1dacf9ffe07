"""Local windows: at every instant the longest polynomial that fits the data.

One window length for a whole record loses the ends of short runs and every fast stretch. Here each run is covered
by windows of many half widths: the longest first, shorter ones wherever a longer one fails the acceptance tests or
does not fit. Where even the shortest fails, it is kept with its noise raised to its misfit (a soft gate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from tinyude.reference.signal.gates import gates_limits
from tinyude.reference.signal.window import SEGMENTS, Window, window_make
from tinyude.training.batch.samples import SensorNoise, unusable_rows

Array = NDArray[Any]

POLY = 4
LONGEST = 512  # samples either side
HALVES = (3, 4, 5, 7, 10, 14, 20, 28, 40, 56, 80, 113, 160, 226, 320, 452)
SEGMENTED = 7  # shortest half width whose segment sums are tested for jumps
MARGIN = 8  # a window must also pass with a margin of h / MARGIN samples either side
DOUBT = 25.0  # times the limit that the margin of a shortest window must exceed before it counts as noise
JUMPY = 20.0  # excess beyond which a misfit looks like a jump rather than fast motion
HIDDEN_JUMP = 15.0  # a polynomial absorbs most of a jump: its effect on the derivative is larger by this factor
MANY = 10_000  # windows, beyond which only every second one is used
STEP = 4  # windows of half width h are h / STEP samples apart
ENDS = (0.5, 1.0)  # of the half width from the centre: further derivatives of a run's outermost windows


Rejected = list[tuple[str, int, int]]  # reason, run and row of every rejected window's centre


@dataclass(frozen=True)
class EqualWindows:
    """Windows of one half width, all runs."""

    window: Window
    run: Array  # (windows,)
    centre: Array  # (windows,) row in its run
    coefficients: Array  # (windows, channels, poly + 1)
    excess: Array  # (windows, channels): noise variance of the window in units of sigma^2; 1 unless softly gated
    tau: float = 0.0  # where in the window, -1 to 1, its derivative is taken


def local_windows(
    runs: Sequence[Array], noise: SensorNoise, period: float, longest: int = LONGEST
) -> tuple[list[EqualWindows], Rejected]:
    """Windows that cover the repaired runs (samples, channels), longest first; and those rejected.

    longest: half width, samples.
    """
    found: dict[int, list[tuple[int, Array, Array, Array]]] = {}
    rejected: Rejected = []
    for index, samples in enumerate(runs):
        lost: dict[str, Array] = {}
        for half, centre, coefficients, excess in _cover(samples, noise, period, lost, longest):
            found.setdefault(half, []).append((index, centre, coefficients, excess))
        rejected += [(reason, index, int(row)) for reason, rows in lost.items() for row in rows]
    batches = []
    for half in sorted(found, reverse=True):
        parts = found[half]
        run = np.concatenate([np.full(len(part[1]), part[0]) for part in parts])
        centre, coefficients, excess = (np.concatenate([part[k] for part in parts]) for k in (1, 2, 3))
        batches.append(EqualWindows(_window(half, period), run, centre, coefficients, excess))
    return batches, rejected


def chosen_windows(batches: Sequence[EqualWindows], chosen: Array) -> list[EqualWindows]:
    """The chosen windows, counted by run and time over all batches."""
    centre, run = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("centre", "run"))
    rank = np.empty(len(chosen), dtype=np.intp)
    rank[np.lexsort((centre, run))] = np.arange(len(chosen))
    kept, first = [], 0
    for b in batches:
        mine = chosen[rank[first : first + len(b.run)]]
        first += len(b.run)
        if mine.any():
            kept.append(_some(b, mine))
    return kept


def _some(batch: EqualWindows, mine: Array) -> EqualWindows:
    return replace(
        batch,
        run=batch.run[mine],
        centre=batch.centre[mine],
        coefficients=batch.coefficients[mine],
        excess=batch.excess[mine],
    )


def enough_windows(batches: Sequence[EqualWindows]) -> list[EqualWindows]:
    """Every second window if there are very many: neighbours share nearly all of their samples."""
    count = sum(len(batch.run) for batch in batches)
    return list(batches) if count <= MANY else chosen_windows(batches, np.arange(count) % 2 == 0)


def with_run_ends(batches: Sequence[EqualWindows]) -> list[EqualWindows]:
    """Adds the derivative near both ends of every run, from the first and the last window there.

    A derivative at the centre gives the window's ends almost no weight, and transients are largest where they begin.
    """
    run, centre = (np.concatenate([getattr(batch, name) for batch in batches]) for name in ("run", "centre"))
    answer = list(batches)
    for side, outermost in ((-1.0, np.minimum), (1.0, np.maximum)):
        ends = np.full(int(run.max()) + 1, -side * np.inf)
        outermost.at(ends, run, centre)
        for batch in batches:
            mine = batch.centre == ends[batch.run]
            if mine.any():
                answer += [replace(_some(batch, mine), tau=side * place) for place in ENDS]
    return answer


def half_widths(samples: int, longest: int = LONGEST) -> list[int]:
    """Half widths tried in a run of this length, the longest first; the shortest is always among them."""
    most = max(min(longest, LONGEST, max(16, samples // 8)), min(HALVES))
    return [half for half in reversed(HALVES) if half <= most and 2 * half < samples]


def _cover(
    samples: Array, noise: SensorNoise, period: float, rejected: dict[str, Array], longest: int
) -> list[tuple[int, Array, Array, Array]]:
    """Half width, centres, coefficients and excess noise of the windows of one run; fills the centres `rejected`."""
    lost, stuck = unusable_rows(samples, noise)
    bad = np.concatenate([[0], np.cumsum(lost | stuck)])
    covered = np.zeros(len(samples), dtype=bool)
    found = []
    halves = half_widths(len(samples), longest)
    for half in halves:
        step = max(1, half // STEP)
        centre = np.arange(half, len(samples) - half, step)
        centre = centre[~covered[centre]]
        whole = bad[centre + half + 1] == bad[centre - half]
        if half == halves[-1]:
            missing = np.concatenate([[0], np.cumsum(lost)])
            gone = missing[centre + half + 1] > missing[centre - half]
            rejected["nonfinite"], rejected["stuck"] = centre[gone], centre[~whole & ~gone]
        centre = centre[whole]
        if not len(centre):
            continue
        window = _window(half, period)
        coefficients, smooth, steady, misfit = _judge(window, samples, centre, noise)
        wider = _judge_wider(window, samples, centre, noise, period)
        keep, excess = smooth & steady & (wider <= 1.0).all(axis=1), np.ones(misfit.shape)
        if half == halves[-1]:  # the soft gate: there is no shorter window
            rejected["misfit"] = centre[~keep]
            excess = np.where(smooth[:, None], 1.0, np.maximum(1.0, misfit / (noise.sigma**2 * window.freedom)))
            excess = np.maximum(excess, wider / DOUBT)
            excess = np.where(excess > 1.0, excess * (1.0 + np.minimum(excess / JUMPY, HIDDEN_JUMP)), 1.0)
            keep[:] = True
        for c in centre[keep]:
            covered[max(0, c - step // 2) : c + step // 2 + 1] = True
        if keep.any():
            found.append((half, centre[keep], coefficients[keep], excess[keep]))
    return found


def _judge(window: Window, samples: Array, centre: Array, noise: SensorNoise) -> tuple[Array, Array, Array, Array]:
    """Coefficients; whether the misfit and the segment sums of all channels pass; the misfit by channel."""
    coefficients, misfit, segments = _fit(window, samples, centre)
    most_misfit, most_segments = gates_limits(window, noise.sigma, noise.step)
    steady = (segments <= most_segments).all(axis=1) | (window.half < SEGMENTED)
    return coefficients, np.asarray((misfit <= most_misfit).all(axis=1)), np.asarray(steady), misfit


def _judge_wider(window: Window, samples: Array, centre: Array, noise: SensorNoise, period: float) -> Array:
    """Misfit of a slightly wider window relative to the limit for noise, by channel; 0 where it does not fit.

    A polynomial absorbs a jump between its outermost samples: only a wider window shows it.
    """
    wider = _window(window.half + max(1, window.half // MARGIN), period)
    fits = (centre >= wider.half) & (centre < len(samples) - wider.half)
    ratio = np.zeros((len(centre), samples.shape[1]))
    if not fits.any():
        return ratio
    _, misfit, segments = _fit(wider, samples, centre[fits])
    most_misfit, most_segments = gates_limits(wider, noise.sigma, noise.step)
    ratio[fits] = np.nan_to_num(np.maximum(misfit / most_misfit, segments / most_segments), nan=0.0)
    return ratio


def _fit(window: Window, samples: Array, centre: Array) -> tuple[Array, Array, Array]:
    """Legendre coefficients (windows, channels, poly + 1), squared residuals and squared segment sums by channel."""
    views = sliding_window_view(samples, 2 * window.half + 1, axis=0)[centre - window.half]
    coefficients = views @ window.rows.T
    residual = views - coefficients @ window.basis.T
    misfit = np.einsum("nct,nct->nc", residual, residual)
    if window.half < SEGMENTED:
        return coefficients, misfit, np.zeros(misfit.shape)
    edges = np.arange(SEGMENTS + 1) * views.shape[-1] // SEGMENTS
    sums = np.add.reduceat(residual, edges[:-1], axis=-1)
    return coefficients, misfit, np.sum(sums**2 / np.diff(edges), axis=-1)


@cache
def _window(half: int, period: float) -> Window:
    return window_make(half, 1, POLY, period)
