"""Hypotheses about errors in the known part: units, signs, zeros, exponents, columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, permutations
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from tinyude.errors import TinyUDEError
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function
from tinyude.physics.library import rounded_text

Array = NDArray[Any]

FACTORS = np.geomspace(0.2, 5.0, 13)  # of a value: grid for the best one
VALUE_LOW, VALUE_HIGH = 0.6, 1.7  # times yours: values beyond these count as wrong
SCANNED = 400  # windows used to search for values
MOST_SWAPPED = 8  # channels or inputs up to which all swaps of two are tried
EXPONENTS = (sp.Rational(1, 2), sp.Integer(1), sp.Integer(2), sp.Integer(3))  # those that are often confused
SAME = 1e-6  # relative: two coefficients
DEGREES = 180.0 / np.pi
WAVES = (sp.sin, sp.cos, sp.tan)


@dataclass(frozen=True)
class Hypothesis:
    """A possible error: other physics, or states, rates and inputs transformed from the logged ones.

    Attributes
    ----------
    x, dx, u : ndarray or None
        Factors of the logged states, rates and inputs; None: as logged.
    states, inputs : sequence of int or None
        The logged state, or input, that each one really is; None: as logged.
    added : tuple of (int, ndarray) or None
        A state, and an addition to its known rate at the nodes; None: nothing.
    free : bool
        Whether it is the best of many values: such hypotheses fit by chance more easily.
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
    added: tuple[int, Array] | None = None
    free: bool = False

    def left(self, seen: Windows) -> Array:
        """Remainder of each state's rate under the known physics (windows, states)."""
        x, u = _read(seen.node_x, self.x, self.states), _read(seen.node_u, self.u, self.inputs)
        with np.errstate(all="ignore"):
            rates = _read(known_rates(self.physics, x, u), None, self.states)  # a swap is its own inverse
            if self.added is not None:
                rates[:, self.added[0]] += self.added[1]
            return np.asarray(seen.dx - seen.view(rates) / (1.0 if self.dx is None else self.dx))


def _read(columns: Array, factors: Array | None, which: Sequence[int] | None) -> Array:
    scaled = columns if factors is None else columns * factors
    return scaled if which is None else scaled[:, list(which)]


def squares(seen: Windows, rates: Array) -> Array:
    """Mean square of these rates over that of the measured ones; noisy windows have little weight."""
    size = np.maximum(seen.rms(seen.dx), 2.0 * seen.rms(seen.floor))
    return np.asarray((seen.rms(rates) / size) ** 2)


def known_rates(physics: Physics, x: Array, u: Array) -> Array:
    """The known field; compiled once, because dozens of parameter values are tried."""
    names = (*physics.states, *physics.inputs, *physics.parameters)
    values = np.array([parameter.value for parameter in physics.parameters.values()])
    inputs = u[..., : physics.n_inputs]
    columns = np.concatenate([x, inputs, np.broadcast_to(values, (*x.shape[:-1], len(values)))], axis=-1)
    return numpy_function(physics.rhs, [sp.Symbol(name) for name in names])(columns)


def hypotheses(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    """All hypotheses to try."""
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
    for factor, unit in (
        (1e3, "milliseconds"),
        (1e6, "microseconds"),
        (1.0 / 60.0, "minutes"),
        (1.0 / 3600.0, "hours"),
    ):
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
    yield from _other_zeros(physics)
    yield from _exponents(physics, seen)
    yield from _swaps(physics, seen)
    yield from _parameter_hypotheses(physics, seen)


def _inside_waves(physics: Physics, name: str) -> bool:
    """Whether a signal is inside a sine, cosine or tangent."""
    return any(w.has(sp.Symbol(name)) for e in physics.rhs for w in e.atoms(*WAVES))


def _other_zeros(physics: Physics) -> Iterator[Hypothesis]:
    """Angles with another zero: cos for sin, from the top instead of the bottom."""
    for name in (*physics.states, *physics.inputs):
        angle = sp.Symbol(name)
        for offset in (sp.pi / 2, -sp.pi / 2, sp.pi) if _inside_waves(physics, name) else ():
            moved = {w: w.xreplace({angle: angle + offset}) for e in physics.rhs for w in e.atoms(*WAVES)}
            yield Hypothesis(
                f"the angle {name} seems to be counted from another zero ({float(offset) * DEGREES:+.0f} degrees)",
                f"check sin and cos of {name}, and where {name} is 0; {name} {float(offset):+.4g} in them fits.",
                Physics(physics.states, [e.xreplace(moved) for e in physics.rhs], physics.inputs, physics.parameters),
                "sign",
            )  # fmt: skip


def _exponents(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    """A signal, or a sum such as a - b, with another exponent and everything else unchanged."""
    values = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items()}
    signals = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    rows = np.concatenate([seen.node_x, seen.node_u[:, : physics.n_inputs]], axis=-1)

    @cache
    def told(expr: sp.Expr) -> str:  # each is in several hypotheses, and SymPy prints slowly
        return rounded_text(expr.xreplace(values))

    for i, rate in enumerate(physics.rhs):
        if physics.kinematic[i] is not None:
            continue
        tried = [
            (outer * part, base, own, other)
            for outer, part in _products(rate)
            for base, own in (factor.as_base_exp() for factor in sp.Mul.make_args(part))
            for other in EXPONENTS
            if (base in signals or base.is_Add) and base.has(*signals) and own in EXPONENTS and own != other
        ]
        beside = [(part / base**own).xreplace(values) for part, base, own, _ in tried]  # what the power multiplies
        value = _values([*beside, *(base.xreplace(values) for _, base, _, _ in tried)], signals, rows)
        for (part, base, own, other), rest in zip(tried, beside, strict=True):
            at = value[base.xreplace(values)]
            with np.errstate(all="ignore"):
                column = value[rest] * (at ** float(other) - at ** float(own))
            signal, part = told(base), told(part)
            power = f"({signal})**{other}" if base.is_Add else f"{signal}**{other}"
            yield Hypothesis(
                f"the exponent of {signal} in {part} of d({physics.states[i]})/dt seems to be "
                f"{other}, not {own}",
                f"the data fit {power} there.", physics, "value", added=(i, column),
            )  # fmt: skip


def _values(exprs: Sequence[sp.Expr], signals: Sequence[sp.Symbol], rows: Array) -> dict[sp.Expr, Array]:
    """Each expression's values at the rows; compiled once, although many hypotheses share it."""
    different = list(dict.fromkeys(exprs))
    with np.errstate(all="ignore"):
        columns = numpy_function(different, signals)(rows) if different else np.zeros((len(rows), 0))
    return dict(zip(different, columns.T, strict=True))


def _products(rate: sp.Expr, outer: sp.Expr = sp.S.One) -> Iterator[tuple[sp.Expr, sp.Expr]]:
    """The summands of a rate, also of sums within a product, each with what multiplies that sum.

    And differences of two summands, c*(a - b), which are not written as one where c is a number.
    """
    parts = sp.Add.make_args(rate)
    for part in parts:
        yield outer, part
        for factor in sp.Mul.make_args(part) if part.is_Mul else ():
            if factor.is_Add:
                yield from _products(factor, outer * part / factor)
    for (c, a), (d, b) in permutations((part.as_coeff_Mul() for part in parts), 2):
        if a.is_Symbol and b.is_Symbol and abs(c + d) < SAME * abs(c):
            yield outer * c, a - b


def _swaps(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    """Two channels, with the states that are their derivatives, or two inputs swapped."""
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
    """Channels that may be in another unit: each one, with or without its position, and all of a kind."""
    for unit, factor in (("degrees", np.pi / 180.0), ("thousandths (mm, mV)", 1e-3), ("thousands", 1e3)):
        names: list[str] = []
        together = np.zeros(physics.n_states)
        for state, (channel, order) in enumerate(zip(seen.channel, seen.order, strict=True)):
            name = physics.states[state]
            if order or (unit == "degrees") != _inside_waves(physics, name):
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


def _parameter_hypotheses(physics: Physics, seen: Windows) -> Iterator[Hypothesis]:
    few = seen.where(np.arange(len(seen)) % -(-len(seen) // SCANNED) == 0)
    for name, parameter in physics.parameters.items():
        if parameter.learn or parameter.value == 0.0:
            continue
        best = _best_factor(physics, name, few)
        for factor in (-1.0, 1e-3, 1e3, *([best] if best != 1.0 else [])):
            try:
                changed = physics.with_parameters({name: factor * parameter.value})
            except TinyUDEError:
                continue
            kind, what = ("sign", "sign") if factor < 0 else ("units", "unit (g for kg, mm for m, ...)")
            if factor == best:
                kind, what = "value", "value"
            yield Hypothesis(
                f"the {what} of the parameter {name} = {parameter.value:g} seems to be wrong",
                f"the data fit {name} = {factor * parameter.value:.4g}.",
                changed, kind, free=factor == best,
            )  # fmt: skip


def _best_factor(physics: Physics, name: str, seen: Windows) -> float:
    """The factor of a parameter that minimises the known part's remainder; 1.0: yours is near it, or there is none."""
    rates = parameter_rates(physics, name, seen)

    def left(factor: float) -> float:
        with np.errstate(all="ignore"):
            total = float(squares(seen, seen.dx - seen.view(rates(factor))).sum())
        return total if np.isfinite(total) else np.inf

    best = refined_factor(left, FACTORS)
    inside = FACTORS[1] < best < FACTORS[-2]  # otherwise the missing part balances that term
    return best if inside and not VALUE_LOW < best < VALUE_HIGH else 1.0


def parameter_rates(physics: Physics, name: str, seen: Windows) -> Callable[[float], Array]:
    """The known rates at the nodes as a function of one parameter's factor; compiled once."""
    values = np.array([parameter.value for parameter in physics.parameters.values()])
    own = np.array([parameter == name for parameter in physics.parameters])
    signals = [sp.Symbol(n) for n in (*physics.states, *physics.inputs, *physics.parameters)]
    field, rows = numpy_function(physics.rhs, signals), (seen.node_x, seen.node_u[:, : physics.n_inputs])

    def rates(factor: float) -> Array:
        changed = np.broadcast_to(np.where(own, factor * values, values), (len(seen.node_x), len(values)))
        with np.errstate(all="ignore"):
            return np.asarray(field(np.concatenate([*rows, changed], axis=-1)))

    return rates


def refined_factor(left: Callable[[float], float], tried: Array) -> float:
    """The factor with the smallest remainder, refined around the best grid point."""
    best, ratio = float(tried[np.argmin([left(factor) for factor in tried])]), float(FACTORS[1] / FACTORS[0])
    near = minimize_scalar(
        lambda log: left(best * np.exp(log)), bounds=(-np.log(ratio), np.log(ratio)), method="bounded"
    )
    return best * float(np.exp(near.x))
