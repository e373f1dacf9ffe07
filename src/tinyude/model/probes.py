"""Measurements on a record by which a model is judged: windows of it, and free runs from many of its moments.

Windows here are chosen for judging, apart from those of the fit: the longest that most of the record lets pass.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import Run
from tinyude.data.streams import Stream
from tinyude.model.dynamics import Dynamics, known_dynamics
from tinyude.model.model import Model
from tinyude.model.simulation import free_runs
from tinyude.model.windows import good_windows, window_jets
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.signal.nodes import nodes_gauss
from tinyude.reference.signal.window import Window, legendre, window_make

Array = NDArray[Any]

MOST = 800  # windows looked at
PASSING = 0.8  # share of windows that must pass the gates
SHORTEST, LONGEST = 4, 256  # half widths, samples
NODES = 9
STARTS, TWINS = 12, 3
HORIZONS = (1.0, 3.0, 10.0, 30.0)  # in characteristic times
MOST_ROWS = 3_000  # of one free run with inputs
MOST_STEPS = 30_000  # of one free run: a field that takes more is too stiff to have been seen by the record
LOST = 3.0  # standard deviations: the error of a run that diverged


@dataclass(frozen=True)
class Probe:
    """Good windows all over a record, in the order of time.

    Attributes
    ----------
    run, centre : ndarray of shape (windows,)
        The run and the row in it where each window is centred; `times` is the moment.
    x, dx : ndarray of shape (windows, states)
        States and rates there.
    x_error, floor : ndarray of shape (states,)
        Their standard errors from sensor noise alone.
    node_x, node_u, weights : ndarray
        A window's view of a field is its weighted sum over the nodes.
    offered : int
        Windows tried; those that are not here were rejected.
    """

    window: Window
    run: Array
    centre: Array
    times: Array
    x: Array
    dx: Array
    x_error: Array
    floor: Array
    node_x: Array
    node_u: Array
    weights: Array
    offered: int

    def view(self, values: Array) -> Array:
        """Node values (windows, nodes, states) of a rate as the windows see it."""
        return np.einsum("qi,nqi->ni", self.weights, values)


def probe(config: Config, state: Mapping[str, Any], stream: Stream, most: int = MOST) -> Probe:
    """About `most` windows of the length that suits the record."""
    sigma = np.asarray(state["sigma"], np.float64) * float(state["sigma_scale"])
    runs = list(_runs(stream))
    shortest = min(len(run.samples) for run in runs)
    half = min(LONGEST, max(SHORTEST, shortest // 8))
    while True:
        found = _probe(config, runs, stream, sigma, np.asarray(state["step"]), half, most)
        if len(found.x) >= PASSING * found.offered or half <= SHORTEST:
            return found
        half = max(SHORTEST, int(half / 1.6))


def noise_of(stream: Stream) -> Array:
    """Sensor noise of every channel: what quartics over 7 and over 11 neighbours leave of the middle sample."""
    found = []
    for half in (3, 5):
        window = window_make(half, 1, 4, stream.period)
        projector = -window.basis[half] @ window.rows
        projector[half] += 1.0
        column = np.stack([np.convolve(c, projector[::-1], mode="valid") for c in stream.longest.samples.T], axis=-1)
        found.append(1.4826 * np.nanmedian(np.abs(column), axis=0) / np.linalg.norm(projector))
    return np.maximum(np.min(found, axis=0), 1e-6 * stream.rms)


def _runs(stream: Stream) -> Sequence[Run]:
    """The runs of a record in memory, the longest run of a longer one."""
    return stream.runs if isinstance(stream.runs, list) else [stream.longest]


def _probe(
    config: Config, runs: Sequence[Run], stream: Stream, sigma: Array, step: Array, half: int, most: int
) -> Probe:
    poly = min(config.poly, 2 * half - 1)
    window = window_make(half, 1, poly, stream.period)
    nodes = nodes_gauss(window, NODES, config.order)
    total = sum(len(run.samples) for run in runs)
    stride = max(1, total // most)
    parts: list[tuple[Array, ...]] = []
    offered = 0
    for index, run in enumerate(runs):
        offered += max(0, (len(run.samples) - 2 * half - 1) // stride + 1)
        centre, coefficients = good_windows(config, window, run.samples, sigma, step, stride)
        node_x = [
            coefficients[:, channel] @ nodes.values[order].T
            for channel, order in zip(config.channel, config.order, strict=True)
        ]
        x, dx = window_jets(config, window, coefficients)
        node_u = run.inputs[centre[:, None] + half - nodes.ticks]
        # The middle node lies on a sample, where an input that is held steps: the others see it half a sample late.
        node_u[:, NODES // 2] = 0.5 * (run.inputs[centre] + run.inputs[np.maximum(centre - 1, 0)])
        times = run.start + centre * stream.period
        parts.append((np.full(len(centre), index), centre, times, x, dx, np.stack(node_x, axis=-1), node_u))
    run_of, centre, times, x, dx, states, inputs = (np.concatenate(part) for part in zip(*parts, strict=True))
    errors = [_errors(window, sigma[c], d) for c, d in zip(config.channel, config.order, strict=True)]
    x_error, floor = np.array(errors).T
    return Probe(window, run_of, centre, times, x, dx, x_error, floor, states, inputs, nodes.weights, offered)


def _errors(window: Window, sigma: float, order: int) -> tuple[float, float]:
    """Standard errors of a derivative of this order at the centre, and of the next one."""
    rows = [legendre(0.0, window.poly + 1, d) @ window.rows / window.seconds**d for d in (order, order + 1)]
    return float(sigma * np.linalg.norm(rows[0])), float(sigma * np.linalg.norm(rows[1]))


@dataclass(frozen=True)
class RunErrors:
    """Free-run errors over horizons, as RMS over the spread (standard deviation) of each measured signal.

    Attributes
    ----------
    horizons : ndarray of shape (horizons,)
        Seconds.
    model, known, hold : ndarray of shape (horizons, starts)
        Of the model, of the known physics alone, and of holding the first value.
    expected : ndarray of shape (horizons, starts)
        What sensor noise and the uncertain start explain.
    diverged : float
        Share of the model's runs that did not reach their end.
    """

    horizons: Array
    model: Array
    known: Array
    hold: Array
    expected: Array
    diverged: float
    noise: float

    @property
    def count(self) -> int:
        return int(self.model.shape[1])


def characteristic_seconds(found: Probe, config: Config) -> float:
    """The fastest of the measured signals' times: spread over RMS rate, 1 / (angular frequency) of a vibration."""
    times = []
    for state, order in enumerate(config.order):
        rate = float(np.sqrt(np.mean(found.dx[:, state] ** 2)))
        if order == 0 and rate > 3.0 * found.floor[state]:
            times.append(float(np.std(found.x[:, state])) / rate)
    return min(times) if times else found.window.seconds


def run_errors(
    model: Model,
    config: Config,
    state: Mapping[str, Any],
    stream: Stream,
    found: Probe,
    given: Physics,
    hold: str | Mapping[str, Any] = "held",
) -> RunErrors | None:
    """Free runs from moments all over the record, each as far as the record has no jump or hole; None: no room.

    given: the known physics that runs alone beside the model. hold: what inputs do between samples.
    """
    runs = list(_runs(stream))
    tau = characteristic_seconds(found, config)
    room = _room(found, runs)
    horizons = [h * tau for h in HORIZONS]
    most = np.inf if not model.physics.n_inputs else MOST_ROWS * stream.period
    horizons = [h for h in horizons if stream.period * 2 <= h <= most and np.sum(room * stream.period >= h) >= 3]
    if not horizons:
        return None
    rows = int(horizons[-1] / stream.period) + 1
    able = np.flatnonzero(room >= rows - 1)
    picked = able[np.unique(np.linspace(0, len(able) - 1, STARTS).astype(int))]
    sensed = [_sensed_state(config, c) for c in range(config.channels)]
    measured = np.stack([runs[found.run[k]].samples[found.centre[k] : found.centre[k] + rows] for k in picked])
    inputs = np.stack([runs[found.run[k]].inputs[found.centre[k] : found.centre[k] + rows] for k in picked])
    spread = np.nanstd(np.concatenate([run.samples for run in runs]), axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    thin = max(1, rows // 400)
    times = np.arange(rows) * stream.period
    starts = found.x[picked]
    twins = starts + found.x_error * np.random.default_rng(0).normal(size=(TWINS, *starts.shape))

    def states(dynamics: Dynamics, begin: Array) -> Array:
        driven = bool(model.physics.n_inputs)
        instants, held = (times, inputs) if driven else (times[::thin], None)
        runs = free_runs(dynamics, begin, instants, model.x_scale, held, hold=hold, most_steps=MOST_STEPS)
        return runs.states[:, :: thin if driven else 1][..., sensed]

    own, alone = states(model.dynamics, starts), states(known_dynamics(given), starts)
    twin = np.stack([states(model.dynamics, t) for t in twins])
    truth = measured[:, ::thin]
    sigma = np.asarray(state["sigma"], np.float64) / spread
    ends = [max(2, int(h / stream.period / thin) + 1) for h in horizons]
    expected = np.mean(_errors_until((twin - own) / spread, ends) ** 2, axis=1)
    return RunErrors(
        np.array(horizons),
        _errors_until((own - truth) / spread, ends),
        _errors_until((alone - truth) / spread, ends),
        _errors_until((truth[:, :1] - truth) / spread, ends),
        np.sqrt(expected + np.mean(sigma**2)),
        float(np.mean(~np.isfinite(own[:, -1]).all(axis=-1))),
        float(np.sqrt(np.mean(sigma**2))),
    )


def _sensed_state(config: Config, channel: int) -> int:
    return next(s for s, (c, d) in enumerate(zip(config.channel, config.order, strict=True)) if c == channel and d == 0)


def _errors_until(miss: Array, ends: Sequence[int]) -> Array:
    """RMS over rows and channels up to each end: (ends, ...); LOST where the run is not there any more."""
    gone = ~np.isfinite(miss)
    whole = np.maximum.accumulate(gone.any(axis=-1), axis=-1)  # once lost, lost
    square = np.where(gone, 0.0, np.minimum(np.abs(np.where(gone, 0.0, miss)), LOST)) ** 2
    mean = np.where(whole & gone.all(axis=-1), LOST**2, square.mean(axis=-1))
    return np.stack([np.sqrt(mean[..., :end].mean(axis=-1)) for end in ends])


def _room(found: Probe, runs: Sequence[Run]) -> Array:
    """Rows from each window's centre to the next rejected stretch, or to the end of its run."""
    usual = int(np.median(np.diff(found.centre))) if len(found.centre) > 1 else 1
    room = np.zeros(len(found.centre), dtype=np.int64)
    for k in range(len(found.centre) - 1, -1, -1):
        last = k + 1 == len(found.centre) or found.run[k + 1] != found.run[k]
        if last:
            end = len(runs[found.run[k]].samples) - found.window.half
            room[k] = max(0, end - found.centre[k]) if end - found.centre[k] <= 2 * usual else found.window.half
        elif found.centre[k + 1] - found.centre[k] <= 2 * usual:
            room[k] = room[k + 1] + found.centre[k + 1] - found.centre[k]
        else:
            room[k] = found.window.half
    return room
