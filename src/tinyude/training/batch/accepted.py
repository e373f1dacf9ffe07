"""The accepted windows of a record, for comparing a model with its rates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.model.program import model_program
from tinyude.model.windows import Windows
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.holds import Hold, interval_means
from tinyude.physics.programs import program_numpy
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.signal.window import legendre
from tinyude.training.batch.covariance import noise_variance
from tinyude.training.batch.observe import Observed
from tinyude.training.batch.targets import Targets, corrected, make_targets
from tinyude.training.batch.windows import JUMPY, STEP, EqualWindows, chosen_windows

Array = NDArray[Any]

MOST = 1_000  # windows used
NEARLY_ALL = 0.8  # of the record, that windows of the usual half width cover
SHORT = 3  # times shorter than usual: a jump of the state, or motion too fast for a free run across it
STEPS = 0.1  # of an input's range, from one sample to the next


def accepted_windows(observed: Observed, model: Model, most: int = MOST, holds: Sequence[Hold] = ()) -> Windows:
    """About `most` windows, spread over the record; node states follow the model where that explains more.

    holds: what each input does between samples; held by default.
    """
    if not observed.batches:
        return _none(observed)
    run, centre, half, excess = _in_order(observed.batches)
    usual, room = usual_half(half), _room(observed, run, centre, half, excess)
    chosen = np.zeros(len(run), dtype=bool)
    chosen[:: max(1, len(run) // most)] = True
    means = [interval_means(held, holds) for held in observed.inputs] if holds else observed.inputs
    targets = make_targets(observed.layout, chosen_windows(observed.batches, chosen), means)
    targets = _followed(targets, model)
    layout, states = observed.layout, observed.layout.states
    starts = np.array(observed.starts)[targets.run]
    time = np.maximum(1, half // STEP)
    return Windows(
        layout.channel, layout.order, layout.period, observed.sensors.sigma, usual,
        float(np.sum(time[excess == 1.0]) / max(float(np.sum(time)), 1.0)),
        targets.run, targets.centre, targets.half, starts + targets.centre * layout.period, room[chosen],
        targets.x, targets.dx, _state_errors(observed, targets), targets.u, _floor(observed, targets, model),
        targets.owner, targets.columns[:, :states], targets.columns[:, states:], targets.weights, _rejected(observed),
    )  # fmt: skip


def _none(observed: Observed) -> Windows:
    """No windows: the record is shorter than the shortest, or all of it is missing or stuck."""
    layout = observed.layout
    rows, states, inputs = np.zeros(0, np.intp), np.zeros((0, layout.states)), np.zeros((0, layout.inputs))
    return Windows(
        layout.channel, layout.order, layout.period, observed.sensors.sigma, 0, 0.0,
        rows, rows, rows, np.zeros(0), rows, states, states, states, inputs, states, rows, states, inputs, states,
        _rejected(observed),
    )  # fmt: skip


def _rejected(observed: Observed) -> Array:
    """Run, seconds and number of the reason of every rejected window (rejected, 3)."""
    found = [
        (run, observed.starts[run] + row * observed.layout.period, REASONS.index(reason))
        for reason, run, row in observed.counts.rejected
    ]
    return np.array(found).reshape(-1, 3)


def usual_half(halves: Array) -> int:
    """The longest half width that nearly all of the record allows: the choice if all windows had one length."""
    longest = np.sort(halves)[::-1]
    time = np.maximum(1, longest // STEP)
    return int(longest[np.flatnonzero(np.cumsum(time) >= NEARLY_ALL * time.sum())[0]])


def _in_order(batches: list[EqualWindows]) -> tuple[Array, Array, Array, Array]:
    """Run, centre, half width and largest excess noise of all windows, by run and time."""
    run, centre = np.concatenate([b.run for b in batches]), np.concatenate([b.centre for b in batches])
    half = np.concatenate([np.full(len(b.run), b.window.half) for b in batches])
    excess = np.concatenate([b.excess.max(axis=1) for b in batches])
    sequence = np.lexsort((centre, run))
    return run[sequence], centre[sequence], half[sequence], excess[sequence]


def _followed(targets: Targets, model: Model) -> Targets:
    """Targets with node states that follow the model between samples, if that leaves less of the rates unexplained."""
    trial = corrected(targets, lambda columns: _field(columns, model))
    return trial if _left(trial, model) < _left(targets, model) else targets


def _field(columns: Array, model: Model) -> Array:
    states = model.physics.n_states
    with np.errstate(all="ignore"):
        return np.asarray(model.field(columns[:, :states], columns[:, states:] if model.physics.n_inputs else None))


def _left(targets: Targets, model: Model) -> float:
    """Median unexplained remainder over the rates' RMS, mean over residual states."""
    field = _field(targets.columns, model)
    size = np.sqrt(np.mean(targets.dx**2, axis=0)) + 1e-300
    left = [np.median(np.abs(targets.dx[:, i] - targets.filtered(field[:, i], i))) / size[i] for i in model.on]
    return float(np.mean(left)) if left else 0.0


def _state_errors(observed: Observed, targets: Targets) -> Array:
    """Standard errors of the states at the centres (windows, states)."""
    layout, answer = targets.layout, np.empty(targets.x.shape)
    for batch, place in zip(targets.batches, targets.place, strict=True):
        window = batch.window
        for state, (channel, order) in enumerate(zip(layout.channel, layout.order, strict=True)):
            row = legendre(0.0, window.poly + 1, order) @ window.rows / window.seconds**order
            noise = observed.noise.sigma[channel] * np.sqrt(batch.excess[:, channel])
            answer[place, state] = noise * np.linalg.norm(row)
    return answer


def _floor(observed: Observed, targets: Targets, model: Model) -> Array:
    """Standard deviation, from sensor noise, of every rate minus the model's (windows, states)."""
    states = targets.layout.states
    point = np.concatenate([targets.x, targets.u], axis=1)
    with np.errstate(all="ignore"):
        slopes = program_numpy(program_derivative(model_program(model), range(states)), point)
    slopes = np.nan_to_num(slopes.reshape(len(point), states, states))[targets.owner]
    return np.sqrt(noise_variance(targets, observed.noise.sigma, {i: slopes[:, i] for i in range(states)}))


def _room(observed: Observed, run: Array, centre: Array, half: Array, excess: Array) -> Array:
    """Rows from each window's centre to the nearest jump, gap or end of the record."""
    room, usual = np.zeros(len(run), dtype=np.int64), usual_half(half)
    reach = np.minimum(centre, np.array(observed.lengths)[run] - 1 - centre)  # windows at the ends are short anyway
    long = (half * SHORT >= np.minimum(usual, reach)) & (excess == 1.0)
    clear = _inside(observed.lengths, run, centre, half // 2, long) | (half * SHORT >= usual)
    broken = (excess > JUMPY) | ~(clear | _beside_steps(observed.inputs, run, centre, usual))
    for k in range(len(run) - 1, -1, -1):
        if broken[k]:
            continue
        last = k + 1 == len(run) or run[k + 1] != run[k]
        end = observed.lengths[run[k]] - 1 if last else int(centre[k + 1])
        if end - centre[k] <= max(half[k] if last else max(half[k], half[k + 1]), 1):
            room[k] = end - centre[k] + (0 if last or broken[k + 1] else room[k + 1])
        else:
            room[k] = half[k]
    return room


def _inside(lengths: list[int], run: Array, centre: Array, reach: Array, which: Array) -> Array:
    """Windows whose centre lies within reach of the centre of a window in `which`."""
    first = np.concatenate([[0], np.cumsum(lengths)])
    marks = np.zeros(first[-1] + 1, dtype=np.int64)
    place = first[run] + centre
    np.add.at(marks, np.maximum(place - reach, first[run])[which], 1)
    np.add.at(marks, np.minimum(place + reach + 1, first[run + 1])[which], -1)
    return np.asarray(np.cumsum(marks)[place] > 0)


def _beside_steps(inputs: list[Array], run: Array, centre: Array, reach: int) -> Array:
    """Windows within reach of a step of an input: a bend there is not a jump of the state."""
    answer = np.zeros(len(run), dtype=bool)
    for index, held in enumerate(inputs):
        mine = run == index
        if not held.shape[1] or not mine.any():
            continue
        step = np.abs(np.diff(held, axis=0)) > STEPS * np.nan_to_num(np.ptp(held, axis=0))
        count = np.concatenate([[0, 0], np.cumsum(step.any(axis=1))])
        low, high = np.clip(centre[mine] - reach, 0, len(held)), np.clip(centre[mine] + reach + 1, 0, len(held))
        answer[mine] = count[high] > count[low]
    return answer
