"""Channels and inputs that were logged late or early: the shift of one signal that explains what the model cannot."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
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
        shifted = cache(partial(_shifted, trial, few, seen, signal))
        shifts = _shifts(few, signal)
        for row in (None, *range(len(rows))):
            if shifts and (delay := _delay(trial, seen, signal, now, shifted, shifts, row)):
                found.append(delay)
                break
    least = min((left for left, _ in found), default=0.0)
    return [one for left, one in sorted(found, key=lambda f: f[0]) if left <= ALIKE * least]


def _shifted(trial: _Trial, few: Windows, seen: Windows, signal: _Signal, shift: float) -> _Left:
    """What is left if the signal is shifted by so many samples."""
    return trial.left(_moved(few, seen, signal, shift))


def _delay(
    trial: _Trial, seen: Windows, signal: _Signal, now: _Left, shifted: Callable[[float], _Left],
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
    return left.total, Delay(signal.name, shift * seen.period, signal.input is not None, now.of(row), left.of(row))


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


def _shifts(seen: Windows, signal: _Signal) -> list[float]:
    longest = np.inf
    if signal.state is not None:
        rate = max(float(np.sqrt(np.mean(seen.dx[:, signal.state] ** 2))), 1e-300)
        longest = LONGEST * float(np.std(seen.x[:, signal.state])) / rate / seen.period
    return [float(s) for s in (*-SHIFTS[::-1], *SHIFTS) if abs(s) <= longest]


def _moved(few: Windows, seen: Windows, signal: _Signal, samples: float) -> Windows:
    """A few windows as if a channel were logged so many samples earlier, or an input acted so many samples later."""
    if signal.input is not None:
        u, nodes = few.u.copy(), few.node_u.copy()
        u[:, signal.input] = _at(few, seen, seen.u[:, signal.input], -samples, smooth=False)
        return replace(few, u=u, node_u=nodes + (u - few.u)[few.owner])
    assert signal.state is not None
    x, dx = few.x.copy(), few.dx.copy()
    for i in [i for i, channel in enumerate(few.channel) if channel == few.channel[signal.state]]:
        x[:, i], dx[:, i] = (_at(few, seen, values[:, i], samples, smooth=True) for values in (seen.x, seen.dx))
    return replace(few, x=x, dx=dx, node_x=few.node_x + (x - few.x)[few.owner])


def _at(few: Windows, seen: Windows, values: Array, later: float, smooth: bool) -> Array:
    """Values of all windows at the centres of a few, so many samples later, run by run."""
    answer = np.zeros(len(few))
    for run in np.unique(few.run):
        own, all_of_it = few.run == run, seen.run == run
        place, first = np.unique(seen.centre[all_of_it], return_index=True)
        known, wanted = values[all_of_it][first], np.clip(few.centre[own] + later, place[0], place[-1])
        answer[own] = PchipInterpolator(place, known)(wanted) if smooth else np.interp(wanted, place, known)
    return answer
