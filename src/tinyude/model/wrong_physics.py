"""Is the known part wrong? What single change of it (a unit, a sign, a column) would make it agree with the data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function
from tinyude.reference.numeric.elementary import TWO_PI

Array = NDArray[Any]

CHANGE_HELPS, CHANGE_NEEDED = 3.0, 0.5  # times less unexplained; share unexplained as given
NO_WORSE = 1.2  # times the mean square as given
EQUALLY = 1.02  # times the least share unexplained: two changes that explain the same
MOST_SWAPPED = 8  # channels or inputs up to which every two are tried in each other's place
DEGREES = 180.0 / np.pi
# What a factor between two quantities is called; within 3 %.
FACTORS = (
    (1000.0, "1000 (milli: mm, ms, g, mA)"),
    (1e6, "a million (micro, or mm against km)"),
    (100.0, "100 (cm, per cent)"),
    (DEGREES, "57.3 (degrees for radians)"),
    (TWO_PI, "6.28 (turns for radians)"),
    (60.0 / TWO_PI, "9.55 (rpm for rad/s)"),
    (60.0, "60 (minutes for seconds)"),
    (3.6, "3.6 (km/h for m/s)"),
    (9.80665, "9.81 (kgf for N, or a mass for a weight)"),
)


@dataclass(frozen=True)
class Change:
    """One change of the known part, and the share of the rate that it leaves unexplained with and without it."""

    text: str  # what seems to be wrong
    remedy: str
    share: float
    share_as_given: float
    kind: str = "units"


@dataclass(frozen=True)
class Hypothesis:
    """What may be wrong: other physics, or states, rates and inputs that are had from the logged ones.

    Attributes
    ----------
    x, dx, u : ndarray or None
        Factors of the logged states, rates and inputs; None: as logged.
    states, inputs : sequence of int or None
        Which logged state, or input, each one truly is; None: as logged.
    """

    text: str
    remedy: str
    physics: Physics
    kind: str = "units"
    x: Array | None = None
    dx: Array | None = None
    u: Array | None = None
    states: Sequence[int] | None = None
    inputs: Sequence[int] | None = None

    def left(self, seen: Windows) -> Array:
        """What known physics leaves of each state's rate, squared."""
        x, u = _read(seen.node_x, self.x, self.states), _read(seen.node_u, self.u, self.inputs)
        with np.errstate(all="ignore"):
            rates = _read(known_rates(self.physics, x, u), None, self.states)  # a swap is its own inverse
            return _squares(seen, seen.dx - seen.view(rates) / (1.0 if self.dx is None else self.dx))


def _read(columns: Array, factors: Array | None, which: Sequence[int] | None) -> Array:
    scaled = columns if factors is None else columns * factors
    return scaled if which is None else scaled[:, list(which)]


def factor_name(factor: float) -> str:
    """The unit mistake that such a factor stands for, "" for none."""
    for value, name in FACTORS:
        for candidate in (value, 1.0 / value):
            if abs(abs(factor) / candidate - 1.0) < 0.03:
                return name
    return ""


def changes(model: Model, seen: Windows) -> list[Change]:
    """The single change that helps and leaves least unexplained, and those that the data cannot tell from it.

    Whether it helps is judged by the equations that it changes, together or one alone where it makes none worse: what
    another one lacks is no matter of it.
    """
    on = free_rows(model)
    if not on or len(seen) < 20:
        return []
    nothing = _squares(seen, seen.dx)[on]  # a change that makes the known part vanish explains no more than this
    given = Hypothesis("", "", model.physics).left(seen)[on]
    tried = []
    for tries in _hypotheses(model.physics, seen):
        left = tries.left(seen)[on]
        changed = np.flatnonzero(np.abs(left - given) > 1e-9 * given)
        if not np.isfinite(left).all() or not len(changed):
            continue
        no_worse = bool((left <= NO_WORSE * given).all())
        for own in (changed, *(changed[[k]] for k in range(len(changed)) if no_worse)):
            share, as_given = (float(np.sqrt(e[own].sum() / nothing[own].sum())) for e in (left, given))
            if as_given > CHANGE_NEEDED and share < min(CHANGE_NEEDED, as_given / CHANGE_HELPS):
                change = Change(tries.text, tries.remedy, share, as_given, tries.kind)
                tried.append((float(left.sum()), float(left[own].sum()), change))
                break
    if not tried:
        return []
    tried.sort(key=lambda found: found[0])
    limit = tried[0][0] + (EQUALLY**2 - 1.0) * tried[0][1]
    return [change for total, _, change in tried if total <= limit]


def free_rows(model: Model) -> list[int]:
    """Residual states whose rate is not simply another state."""
    return [i for i, rate in enumerate(model.physics.kinematic) if rate is None and i in model.on]


def _squares(seen: Windows, rates: Array) -> Array:
    """Mean square of these rates over that of the measured ones; what is all noise counts little."""
    size = np.maximum(seen.rms(seen.dx), 2.0 * seen.rms(seen.floor))
    return np.asarray((seen.rms(rates) / size) ** 2)


def known_rates(physics: Physics, x: Array, u: Array) -> Array:
    """The known field; compiled once for all values of its parameters, of which dozens are tried."""
    names = (*physics.states, *physics.inputs, *physics.parameters)
    values = np.array([parameter.value for parameter in physics.parameters.values()])
    inputs = u[..., : physics.n_inputs]
    columns = np.concatenate([x, inputs, np.broadcast_to(values, (*x.shape[:-1], len(values)))], axis=-1)
    return numpy_function(physics.rhs, [sp.Symbol(name) for name in names])(columns)


def _hypotheses(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    """Every change that is worth a try."""
    orders = np.array(seen.order, dtype=np.float64)
    for names, mask, unit, factor in _other_units(physics, seen):
        scale = np.where(mask > 0.0, factor, 1.0)
        seems, it = ("seems", "it") if len(names) == 1 else ("seem", "them")
        yield Hypothesis(
            f"{' and '.join(names)} {seems} to be in {unit}",
            f'scale {it}: {names[0]} = {{ column = "...", scale = {factor:.6g} }} in the physics file, or multiply '
            "the samples before fit().",
            physics, x=scale, dx=scale,
        )  # fmt: skip
    for factor, unit in ((1e3, "milliseconds"), (1e-3, "thousands of seconds"), (60.0, "minutes")):
        yield Hypothesis(
            f"the time seems to be in {unit}",
            f"give t in seconds; in the physics file [time] scale = {1.0 / factor:g}.",
            physics, x=factor**orders, dx=factor ** (orders + 1.0),
        )  # fmt: skip
    for index, name in enumerate(physics.inputs):
        for factor, what in ((-1.0, "sign"), (1e-3, "unit (thousandths)"), (1e3, "unit (thousands)")):
            scale = np.ones(seen.node_u.shape[1])
            scale[index] = factor
            yield Hypothesis(
                f"the {what} of the input {name} seems to be wrong",
                f"check how {name} enters the equations and how it is logged; scale = {factor:g} makes it fit.",
                physics, "sign" if factor < 0.0 else "units", u=scale,
            )  # fmt: skip
    yield from _swaps(physics, seen)
    yield from _parameter_hypotheses(physics)


def _swaps(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    """Two channels, with the states that are their derivatives, or two inputs in each other's place."""
    remedy = "check which column is which in the physics file, or the order of the columns given to fit()."
    channels = sorted(set(seen.channel))
    for a, b in combinations(channels if len(channels) <= MOST_SWAPPED else [], 2):
        own, others = ([i for i, c in enumerate(seen.channel) if c == channel] for channel in (a, b))
        if [seen.order[i] for i in own] != [seen.order[i] for i in others]:
            continue
        which = list(range(physics.n_states))
        for i, j in zip(own, others, strict=True):
            which[i], which[j] = j, i
        text = f"the columns of {physics.states[own[0]]} and {physics.states[others[0]]} seem to be swapped"
        yield Hypothesis(text, remedy, physics, "columns", states=which)
    for a, b in combinations(range(physics.n_inputs if physics.n_inputs <= MOST_SWAPPED else 0), 2):
        which = list(range(seen.node_u.shape[1]))
        which[a], which[b] = b, a
        text = f"the inputs {physics.inputs[a]} and {physics.inputs[b]} seem to be swapped"
        yield Hypothesis(text, remedy, physics, "columns", inputs=which)


def _other_units(physics: Physics, seen: Windows) -> Iterator[tuple[list[str], Array, str, float]]:
    """Channels that may be in another unit: each, with what it is the rate of or without, and all of a kind."""
    for unit, factor in (("degrees", np.pi / 180.0), ("thousandths (mm, mV)", 1e-3), ("thousands", 1e3)):
        names: list[str] = []
        together = np.zeros(physics.n_states)
        for state, (channel, order) in enumerate(zip(seen.channel, seen.order, strict=True)):
            name = physics.states[state]
            angle = any(w.has(sp.Symbol(name)) for e in physics.rhs for w in e.atoms(sp.sin, sp.cos, sp.tan))
            if order or (unit == "degrees") != angle:
                continue
            own = np.array([1.0 if c == channel else 0.0 for c in seen.channel])
            rate, also = physics.kinematic[state], own.copy()
            if rate is not None:
                also[rate] = 1.0
            for mask in (own, also) if (own != also).any() else (own,):
                yield [name], mask, unit, factor
            together, names = np.maximum(together, also), [*names, name]
        if len(names) > 1:
            yield names, together, unit, factor


def _parameter_hypotheses(physics: Physics) -> Iterator[Hypothesis]:
    for name, parameter in physics.parameters.items():
        if parameter.learn or parameter.value == 0.0:
            continue
        for factor in (-1.0, 1e-3, 1e3):
            try:
                changed = physics.with_parameters({name: factor * parameter.value})
            except TinyUDEError:
                continue
            kind, what = ("sign", "sign") if factor < 0 else ("units", "unit (g for kg, mm for m, ...)")
            yield Hypothesis(
                f"the {what} of the parameter {name} = {parameter.value:g} seems to be wrong",
                f"the data fit {name} = {factor * parameter.value:g}.",
                changed, kind,
            )  # fmt: skip
