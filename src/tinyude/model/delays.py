"""Channels and inputs that were logged late or early: the shift of one signal that explains what the model cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import PchipInterpolator

from tinyude.model.hypotheses import known_rates
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.model.wrong_physics import AS_WELL, free_rows, remainder

Array = NDArray[Any]

SHIFTS = np.concatenate([np.arange(0.5, 5.0, 0.5), np.geomspace(5.0, 50.0, 12)])  # samples
COARSE = SHIFTS[[0, 1, 3, 7, 11, 14, 17, 20]]  # tried first, each about twice the one before
HINTED = 0.8  # of the share unexplained as logged: what a coarse shift must leave for the others to be tried
FINER = np.linspace(-0.5, 0.5, 7)  # of the distance between the neighbours of the best shift
LONGEST = 0.5  # of a signal's spread over its RMS rate: a longer shift may stand for other dynamics
SCANNED = 400  # windows
HELPS = 2.0  # times less unexplained, with the learned terms fitted again
ALONE_HELPS = 2.5  # times less unexplained by the known physics alone
ALIKE = 1.3  # times the least share unexplained: shifts of two signals that the record cannot distinguish
FLOOR = 1.5  # times the noise: below, the model explains the rates


@dataclass(frozen=True)
class Delay:
    """A signal logged so many seconds late (negative: early); shares of the rates unexplained before and after."""

    name: str
    seconds: float
    input: bool
    before: float
    after: float


def delays(model: Model, seen: Windows) -> list[Delay]:
    """The one shift that explains most, and those of other signals that the record cannot distinguish from it.

    A shift is reported if it halves what known part and learned terms, fitted again, leave; or if with it the known
    part of one equation leaves far less, and explains as much without one learned term or the network.
    """
    rows = free_rows(model)
    if not rows or len(seen) < 20:
        return []
    few = seen.where(np.arange(len(seen)) % -(-len(seen) // SCANNED) == 0)
    trial = _Trial(model, few, rows)
    now, found = trial.left(few), []
    for signal in _signals(model, few):
        shifted = cache(partial(_shifted, trial, few, _paths(seen, signal), signal))
        for row in (None, *range(len(rows))):
            coarse = [shifted(shift).of(row) for shift in _shifts(few, signal, COARSE)]
            if min(coarse, default=np.inf) > HINTED * now.of(row):
                continue
            if delay := _delay(trial, signal, seen.period, now, shifted, _shifts(few, signal, SHIFTS), row):
                found.append(delay)
                break
    least = min((left for left, _ in found), default=0.0)
    return [one for left, one in sorted(found, key=lambda f: f[0]) if left <= ALIKE * least]


def _shifted(trial: _Trial, few: Windows, paths: Sequence[_Path], signal: _Signal, shift: float) -> _Left:
    """What is left if the signal is shifted by so many samples."""
    return trial.left(_moved(few, paths, signal, shift))


def _delay(
    trial: _Trial, signal: _Signal, period: float, now: _Left, shifted: Callable[[float], _Left],
    shifts: Sequence[float], row: int | None,
) -> tuple[float, Delay] | None:  # fmt: skip
    """The best shift, refined once, if it explains all rates better (row None), or one of them more simply."""

    def size(shift: float) -> float:
        return shifted(shift).of(row)

    place = min(range(len(shifts)), key=lambda k: size(shifts[k]))
    wide = abs(shifts[min(place + 1, len(shifts) - 1)] - shifts[max(place - 1, 0)])
    finer = [float(s) for s in shifts[place] + wide * FINER]
    shift = min([*shifts, *finer], key=size)
    left = shifted(shift)
    if row is None:
        helps = now.total > FLOOR * trial.noise_total and left.total < now.total / HELPS
    else:
        simpler = left.fewer[row] <= AS_WELL * max(now.all[row], trial.noise[row])
        helps = bool(simpler and left.alone[row] < now.alone[row] / ALONE_HELPS and left.total < AS_WELL * now.total)
    if not helps:
        return None
    return left.total, Delay(signal.name, shift * period, signal.input is not None, now.of(row), left.of(row))


@dataclass(frozen=True)
class _Left:
    """Unexplained share of each rate: by known part and learned terms, without one of them, by the known part alone."""

    all: Array
    fewer: Array
    alone: Array

    @property
    def total(self) -> float:
        return float(np.sqrt(np.mean(self.all**2)))

    def of(self, row: int | None) -> float:
        """Of all rates, or that of one without its learned terms."""
        return self.total if row is None else float(self.alone[row])


class _Trial:
    """What known part and learned terms leave of the rates of some states."""

    def __init__(self, model: Model, seen: Windows, rows: list[int]) -> None:
        self.model, self.rows = model, rows
        sizes = np.maximum(seen.rms(seen.dx)[rows], 1e-300)
        self.size = sizes * np.sqrt(len(seen))
        self.noise = seen.rms(seen.floor)[rows] / sizes
        self.noise_total = float(np.sqrt(np.mean(self.noise**2)))

    def left(self, seen: Windows) -> _Left:
        """Of windows, some of which may have been moved."""
        model = self.model
        with np.errstate(all="ignore"):
            rest = seen.dx - seen.view(known_rates(model.physics, seen.node_x, seen.node_u))
            terms = model.term_values(seen.node_x, seen.inputs)
        if not (np.isfinite(rest[:, self.rows]).all() and np.isfinite(terms).all()):
            return _Left(*np.full((3, len(self.rows)), np.inf))
        found = []
        for i in self.rows:
            scale = np.sqrt(seen.weight[:, i])
            own = scale[:, None] * seen.seen(terms[:, np.flatnonzero(model.coefficients[model.on.index(i)])], i)
            own, target = own / np.maximum(np.linalg.norm(own, axis=0), 1e-300), scale * rest[:, i]
            straight = scale[:, None] * np.column_stack([np.ones(len(seen)), seen.x, seen.u])
            straight = straight / np.maximum(np.linalg.norm(straight, axis=0), 1e-300)
            alone = float(np.linalg.norm(target))
            fewer = min((remainder(np.delete(own, k, axis=1), target) for k in range(own.shape[1])), default=alone)
            found.append((remainder(np.column_stack([own, straight]), target), fewer, alone))
        return _Left(*(np.array(found).T / self.size))


@dataclass(frozen=True)
class _Signal:
    """A channel, by its state, or an input, by its place."""

    name: str
    state: int | None = None
    input: int | None = None


def _signals(model: Model, seen: Windows) -> list[_Signal]:
    """Signals that may be late; a lag between a position and its rate is found by their equation."""
    physics = model.physics
    pairs = [(s, r) for s, r in enumerate(physics.kinematic) if r is not None and seen.channel[s] != seen.channel[r]]
    paired = {seen.channel[i] for pair in pairs for i in pair}
    channels = set(seen.channel) - paired if len(set(seen.channel)) > 1 else set()
    states = [seen.channel.index(channel) for channel in sorted(channels)]
    inputs = [_Signal(name, input=k) for k, name in enumerate(physics.inputs)]
    return [*(_Signal(physics.states[s], state=s) for s in states), *inputs]


def _shifts(seen: Windows, signal: _Signal, tried: Array) -> list[float]:
    longest = np.inf
    if signal.state is not None:
        rate = max(float(np.sqrt(np.mean(seen.dx[:, signal.state] ** 2))), 1e-300)
        longest = LONGEST * float(np.std(seen.x[:, signal.state])) / rate / seen.period
    return [float(s) for s in (*-tried[::-1], *tried) if abs(s) <= longest]


@dataclass(frozen=True)
class _Path:
    """A signal over the rows of one run, from the centres of its windows."""

    run: int
    first: float
    last: float
    at: Callable[[Array], Array]


def _moved(few: Windows, paths: Sequence[_Path], signal: _Signal, samples: float) -> Windows:
    """A few windows as if a channel were logged so many samples earlier, or an input acted so many samples later."""
    if signal.input is not None:
        u = few.u.copy()
        u[:, [signal.input]] = _at(few, paths, -samples)
        return few.with_values(u=u, node_u=few.node_u + (u - few.u)[few.owner])
    assert signal.state is not None
    own = _states_of(few, signal)
    x, dx, values = few.x.copy(), few.dx.copy(), _at(few, paths, samples)
    x[:, own], dx[:, own] = values[:, : len(own)], values[:, len(own) :]
    return few.with_values(x=x, dx=dx, node_x=few.node_x + (x - few.x)[few.owner])


def _states_of(seen: Windows, signal: _Signal) -> list[int]:
    """The states that the signal's channel measures: a position, and its derivatives."""
    assert signal.state is not None
    return [i for i, channel in enumerate(seen.channel) if channel == seen.channel[signal.state]]


def _paths(seen: Windows, signal: _Signal) -> list[_Path]:
    """What is interpolated: a channel's states and rates smoothly, an input linearly."""
    paths = []
    for run in np.unique(seen.run):
        rows = np.flatnonzero(seen.run == run)
        place, first = np.unique(seen.centre[rows], return_index=True)
        rows = rows[first]
        if signal.input is not None:
            path: Callable[[Array], Array] = partial(_straight, place, seen.u[rows, signal.input])
        else:
            columns = _columns(seen, signal, rows)
            path = PchipInterpolator(place, columns) if len(place) > 1 else partial(_constant, columns)
        paths.append(_Path(int(run), float(place[0]), float(place[-1]), path))
    return paths


def _columns(seen: Windows, signal: _Signal, rows: Array) -> Array:
    own = _states_of(seen, signal)
    return np.hstack([seen.x[rows][:, own], seen.dx[rows][:, own]])


def _straight(place: Array, values: Array, wanted: Array) -> Array:
    return np.interp(wanted, place, values)[:, None]


def _constant(values: Array, wanted: Array) -> Array:
    return np.repeat(values, len(wanted), axis=0)


def _at(few: Windows, paths: Sequence[_Path], later: float) -> Array:
    """A signal's values at the centres of a few windows, so many samples later, run by run."""
    whole = [(path, np.flatnonzero(few.run == path.run)) for path in paths]
    parts = [path.at(np.clip(few.centre[own] + later, path.first, path.last)) for path, own in whole if len(own)]
    order = np.concatenate([own for _, own in whole if len(own)])
    answer = np.empty((len(few), parts[0].shape[1]))
    answer[order] = np.concatenate(parts)
    return answer
