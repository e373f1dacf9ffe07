"""Is the known part wrong? What single change of it, of a unit or of a sign, would make it agree with the data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model import jackknife
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function
from tinyude.physics.library import known_terms, summed_terms, term_text

Array = NDArray[Any]

GROUPS = 8
CHANGE_HELPS, CHANGE_NEEDED = 3.0, 0.5  # times less unexplained; share unexplained as given
EQUALLY = 1.02  # times the least share unexplained: two changes that explain the same
COLLINEAR = 0.1  # of a column: what must be left of a term beside the known ones to stand on its own
AS_WELL = 1.2  # times what learned terms leave: another value explains as much
DEGREES = 180.0 / np.pi
# What a factor between two quantities is called; within 3 %.
FACTORS = (
    (1000.0, "1000 (milli: mm, ms, g, mA)"),
    (1e6, "a million (micro, or mm against km)"),
    (100.0, "100 (cm, per cent)"),
    (DEGREES, "57.3 (degrees for radians)"),
    (2.0 * np.pi, "6.28 (turns for radians)"),
    (60.0 / (2.0 * np.pi), "9.55 (rpm for rad/s)"),
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


@dataclass(frozen=True)
class Addend:
    """A summand of a known right-hand side, and the factor that the data give it."""

    state: str
    text: str
    factor: float
    error: float
    share: float  # RMS of the summand over RMS of the rate
    gain: float  # times less that the known part leaves unexplained with that factor
    needed: float  # times less that it leaves beside the learned terms: near 1, those do the same


@dataclass(frozen=True)
class Net:
    """A learned term that the known part has too."""

    state: str
    term: str
    yours: float
    learned: float
    error: float
    share: float = 1.0  # RMS of the learned term over RMS of the rate
    beside: bool = False  # a term of the same variables and another shape was learned too

    @property
    def net(self) -> float:
        return self.yours + self.learned


def factor_name(factor: float) -> str:
    """The unit mistake that such a factor stands for, "" for none."""
    for value, name in FACTORS:
        for candidate in (value, 1.0 / value):
            if abs(abs(factor) / candidate - 1.0) < 0.03:
                return name
    return ""


def changes(model: Model, seen: Windows) -> list[Change]:
    """The single change that helps and leaves least unexplained, and those that the data cannot tell from it.

    Whether it helps is judged by the equations that it changes: what another one lacks is no matter of it.
    """
    on = _free_rows(model)
    if not on or len(seen) < 20:
        return []
    nothing = _squares(seen, seen.dx)[on]  # a change that makes the known part vanish explains no more than this
    given = _left(model.physics, seen)[on]
    tried = []
    for text, remedy, physics, a, b, c in _hypotheses(model.physics, seen):
        left = _left(physics, seen, a, b, c)[on]
        if np.isfinite(left).all() and len(own := np.flatnonzero(np.abs(left - given) > 1e-9 * given)):
            share, as_given = (float(np.sqrt(e[own].sum() / nothing[own].sum())) for e in (left, given))
            if as_given > CHANGE_NEEDED and share < min(CHANGE_NEEDED, as_given / CHANGE_HELPS):
                tried.append((float(left.sum()), float(left[own].sum()), Change(text, remedy, share, as_given)))
    if not tried:
        return []
    tried.sort(key=lambda found: found[0])
    limit = tried[0][0] + (EQUALLY**2 - 1.0) * tried[0][1]
    return [change for total, _, change in tried if total <= limit]


def _free_rows(model: Model) -> list[int]:
    return [i for i, rate in enumerate(model.physics.kinematic) if rate is None and i in model.on]


def _left(
    physics: Physics, seen: Windows, a: Array | None = None, b: Array | None = None, c: Array | None = None
) -> Array:
    """What known physics leaves of each state's rate, squared: x_true = a x, dx_true = b dx, u_true = c u."""
    x = seen.node_x if a is None else seen.node_x * a
    u = seen.node_u if c is None else seen.node_u * c
    with np.errstate(all="ignore"):
        rate = seen.view(_rates(physics, x, u)) / (1.0 if b is None else b)
        return _squares(seen, seen.dx - rate)


def _squares(seen: Windows, rates: Array) -> Array:
    """Mean square of these rates over that of the measured ones; what is all noise counts little."""
    size = np.maximum(seen.rms(seen.dx), 2.0 * seen.rms(seen.floor))
    return np.asarray((seen.rms(rates) / size) ** 2)


def _rates(physics: Physics, x: Array, u: Array) -> Array:
    """The known field; compiled once for all values of its parameters, of which dozens are tried."""
    names = (*physics.states, *physics.inputs, *physics.parameters)
    values = np.array([parameter.value for parameter in physics.parameters.values()])
    inputs = u[..., : physics.n_inputs]
    columns = np.concatenate([x, inputs, np.broadcast_to(values, (*x.shape[:-1], len(values)))], axis=-1)
    return numpy_function(physics.rhs, [sp.Symbol(name) for name in names])(columns)


def _hypotheses(physics: Physics, seen: Windows) -> Iterator[tuple[str, str, Physics, Any, Any, Any]]:
    """Text, remedy, physics, and scales of states, rates and inputs of every change that is worth a try."""
    n = physics.n_states
    orders = np.array(seen.order, dtype=np.float64)
    for names, mask, unit, factor in _other_units(physics, seen):
        scale = np.where(mask > 0.0, factor, 1.0)
        seems, it = ("seems", "it") if len(names) == 1 else ("seem", "them")
        yield (
            f"{' and '.join(names)} {seems} to be in {unit}",
            f'scale {it}: {names[0]} = {{ column = "...", scale = {factor:.6g} }} in the physics file, or multiply '
            "the samples before fit().",
            physics, scale, scale, None,
        )  # fmt: skip
    for factor, unit in ((1e3, "milliseconds"), (1e-3, "thousands of seconds"), (60.0, "minutes")):
        yield (
            f"the time seems to be in {'milliseconds' if factor == 1e3 else unit}",
            f"give t in seconds; in the physics file [time] scale = {1.0 / factor:g}.",
            physics, factor**orders, factor ** (orders + 1.0), None,
        )  # fmt: skip
    for index, name in enumerate(physics.inputs):
        for factor, what in ((-1.0, "sign"), (1e-3, "unit (thousandths)"), (1e3, "unit (thousands)")):
            scale = np.ones(physics.n_inputs)
            scale[index] = factor
            yield (
                f"the {what} of the input {name} seems to be wrong",
                f"check how {name} enters the equations and how it is logged; scale = {factor:g} makes it fit.",
                physics, np.ones(n), np.ones(n), scale,
            )  # fmt: skip
    yield from _parameter_hypotheses(physics)


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


def _parameter_hypotheses(physics: Physics) -> Iterator[tuple[str, str, Physics, Any, Any, Any]]:
    ones = np.ones(physics.n_states)
    for name, parameter in physics.parameters.items():
        if parameter.learn or parameter.value == 0.0:
            continue
        for factor in (-1.0, 1e-3, 1e3):
            try:
                changed = physics.with_parameters({name: factor * parameter.value})
            except TinyUDEError:
                continue
            what = "sign" if factor < 0 else "unit (g for kg, mm for m, ...)"
            yield (
                f"the {what} of the parameter {name} = {parameter.value:g} seems to be wrong",
                f"the data fit {name} = {factor * parameter.value:g}.",
                changed, ones, ones, None,
            )  # fmt: skip


def addends(model: Model, seen: Windows) -> list[Addend]:
    """The factor that least squares give every summand of the known rates, beside the learned terms."""
    physics = model.physics
    values = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items()}
    symbols = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    rows = np.concatenate([seen.node_x, seen.node_u], axis=-1)
    learned = model.term_values(seen.node_x, seen.inputs)
    answer: list[Addend] = []
    for i in _free_rows(model):
        size, noise = float(seen.rms(seen.dx)[i]), float(seen.rms(seen.floor)[i])
        summands = sp.Add.make_args(sp.expand(physics.rhs[i].xreplace(values)))
        parts = [e for e in summands if e.free_symbols]
        if not parts or len(seen) < 8 * (len(parts) + 2) or size <= 3.0 * noise:
            continue
        with np.errstate(all="ignore"):
            columns = numpy_function(parts, symbols)(rows)
        scale = np.sqrt(seen.weight[:, i])[:, None]
        design = scale * seen.seen(columns, i)
        if not np.isfinite(design).all():
            continue
        kept = np.flatnonzero(model.coefficients[model.on.index(i)])
        extra = [(scale * seen.seen(learned[:, [k]], i))[:, 0] for k in kept]
        target = scale[:, 0] * seen.dx[:, i]
        extras = [*extra, np.ones(len(design))]
        factors, errors = _factors(design, extras, target)
        constant = float(sum((e for e in summands if not e.free_symbols), sp.Integer(0)))
        left = target - design.sum(axis=1) - scale[:, 0] * constant
        others = _joined(design, extras)[:, design.shape[1] :]  # learned terms that are no summand of the known part
        for part, factor, error, column in zip(parts, factors, errors, design.T, strict=True):
            share = float(np.sqrt(np.mean(column**2))) / size
            gain = float(np.linalg.norm(left) / (np.linalg.norm(left - (factor - 1.0) * column) + 1e-300))
            needed = _left_by(others, left) / (_left_by(np.column_stack([column, others]), left) + 1e-300)
            answer.append(Addend(physics.states[i], str(part), float(factor), float(error), share, gain, needed))
    return answer


def wrong_values(model: Model, seen: Windows) -> dict[tuple[str, str], str]:
    """State and learned term of a known shape to the parameter of which another value explains as much.

    A value changes every term that it is in by the same factor; a term that is missing beside known ones does not.
    What else was learned stays beside it. Physics without parameters: their summands have values too.
    """
    physics = model.physics
    found: dict[tuple[str, str], str] = {}
    nets = {(net.state, net.term) for net in net_values(model)}
    if not nets or len(seen) < 20:
        return {}
    learned = model.term_values(seen.node_x, seen.inputs)
    network = model.network(seen.node_x, seen.inputs)
    for row, i in enumerate(model.on):
        state, scale = physics.states[i], np.sqrt(seen.weight[:, i])

        def view(values: Array, i: int = i, scale: Array = scale) -> Array:
            return np.asarray(scale * seen.seen(values[:, None], i)[:, 0])

        kept = {str(model.terms[k]): view(learned[:, k]) for k in np.flatnonzero(model.coefficients[row])}
        shape = {str(term): term_text(sp.expand(term)) for term in model.terms}
        if not any((state, term) in nets for term in kept):
            continue
        beside = [view(network[:, i]), np.ones(len(seen))]
        target = scale * seen.dx[:, i] - view(_rates(physics, seen.node_x, seen.node_u)[:, i])
        limit = AS_WELL * _left_by(np.column_stack([*kept.values(), *beside]), target)
        for name, values, shapes in _value_effects(physics, seen, i):
            own = [term for term in kept if (state, term) in nets and shape[term] in shapes]
            others = [column for term, column in kept.items() if term not in own]
            if not own or not np.isfinite(values).all():
                continue
            if _left_by(np.column_stack([view(values), *others, *beside]), target) <= limit:
                found = {(state, term): name for term in own} | found
    return found


def _value_effects(physics: Physics, seen: Windows, i: int) -> Iterator[tuple[str, Array, set[str]]]:
    """What a slightly larger value of each parameter, or of each summand, adds to a state's rate, and its terms."""
    symbols = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    values = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items()}
    slopes = {name: sp.diff(physics.rhs[i], sp.Symbol(name)) for name, p in physics.parameters.items() if not p.learn}
    if not physics.parameters:
        slopes = {str(part): part for part in sp.Add.make_args(physics.rhs[i]) if part.free_symbols}
    effects = {name: slope.xreplace(values) for name, slope in slopes.items() if slope != 0}
    if effects:
        rows = np.concatenate([seen.node_x, seen.node_u[:, : physics.n_inputs]], axis=-1)
        with np.errstate(all="ignore"):
            columns = numpy_function(list(effects.values()), symbols)(rows)
        for (name, effect), column in zip(effects.items(), columns.T, strict=True):
            yield name, column, set(summed_terms(physics, effect))


def _factors(design: Array, extras: list[Array], target: Array) -> tuple[Array, Array]:
    """Least squares with errors from groups of windows; extras join where they are not made of the others."""
    columns, count = _joined(design, extras), design.shape[1]
    group = jackknife.groups_of(len(target), GROUPS)
    whole = np.linalg.lstsq(columns, target, rcond=None)[0][:count]
    without = np.array([
        np.linalg.lstsq(columns[group != g], target[group != g], rcond=None)[0][:count] for g in range(GROUPS)
    ])  # fmt: skip
    return whole, jackknife.error(without)


def _left_by(columns: Array, target: Array) -> float:
    """What least squares leave."""
    return float(np.linalg.norm(target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]))


def _joined(design: Array, extras: list[Array]) -> Array:
    """Columns with those extras that are not made of them."""
    columns = design
    for extra in extras:
        rest = extra - columns @ np.linalg.lstsq(columns, extra, rcond=None)[0]
        if np.linalg.norm(rest) > COLLINEAR * np.linalg.norm(extra):
            columns = np.column_stack([columns, extra])
    return columns


def net_values(model: Model, shares: Mapping[str, float] | None = None) -> list[Net]:
    """Learned terms that the known right-hand side holds too, expanded in numbers; shares: of the rate, by term."""
    physics = model.physics
    answer = []
    for row, state in enumerate(model.on):
        pieces = known_terms(physics, state)
        coefficients = model.coefficients[row].tolist() if model.coefficients.size else [0.0] * len(model.terms)
        kept = [
            (k, term, pieces.get(term_text(sp.expand(term)), 0.0))
            for k, term in enumerate(model.terms)
            if coefficients[k]
        ]
        new = [term for _, term, yours in kept if not yours]
        for column, term, yours in kept:
            if yours:
                learned = coefficients[column]
                error = float(model.errors[row, column])
                share = (shares or {}).get(f"{physics.states[state]}: {term}", 1.0)
                beside = any(term.free_symbols <= other.free_symbols for other in new)
                answer.append(Net(physics.states[state], str(term), yours, learned, error, share, beside))
    return answer
