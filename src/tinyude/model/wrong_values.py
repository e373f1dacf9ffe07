"""Values of the known part that the record contradicts: factors of its summands, net values of its terms."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model import jackknife
from tinyude.model.hypotheses import known_rates
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.model.wrong_physics import AS_WELL, free_rows, remainder
from tinyude.physics import Physics
from tinyude.physics.expressions import expanded, numpy_function
from tinyude.physics.library import known_shapes, known_terms, rounded_text, summed_terms, term_text

Array = NDArray[Any]

GROUPS = 8
COLLINEAR = 0.1  # of a column: least share of a term outside the span of the known ones to count as its own
ALIKE = 0.05  # of a learned term: largest remainder after a known one that the record cannot distinguish from it
Alike = Mapping[tuple[int, int], tuple[str, float]]  # row and column of a learned term: the known term, and its factor


@dataclass(frozen=True)
class Addend:
    """A summand of a known right-hand side, and the factor that the data give it."""

    state: str
    text: str
    factor: float
    error: float
    share: float  # RMS of the summand, or of the summand times the factor, over RMS of the rate
    gain: float  # ratio by which that factor lowers the known part's remainder
    needed: float  # the same with the learned terms: near 1 if those have the same effect


@dataclass(frozen=True)
class Net:
    """A learned term that is also in the known part."""

    state: str
    term: str
    yours: float
    learned: float
    error: float
    share: float = 1.0  # RMS of the learned term over RMS of the rate
    beside: bool = False  # a term of the same variables with another shape was learned too
    alike: bool = False  # the learned term is only similar to the known one: its value is accurate to ALIKE at best

    @property
    def net(self) -> float:
        return self.yours + self.learned


def addends(model: Model, seen: Windows) -> list[Addend]:
    """The least-squares factor of every summand of the known rates, fitted with the learned terms."""
    physics = model.physics
    values = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items()}
    symbols = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    rows = np.concatenate([seen.node_x, seen.node_u], axis=-1)
    learned, network = model.term_values(seen.node_x, seen.inputs), model.network(seen.node_x, seen.inputs)
    answer: list[Addend] = []
    for i in free_rows(model):
        size, noise = float(seen.rms(seen.dx)[i]), float(seen.rms(seen.floor)[i])
        summands = sp.Add.make_args(expanded(physics.rhs[i].xreplace(values)))
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
        others = _joined(design, extras)[:, design.shape[1] :]  # learned terms that are no summand of the known part,
        others = np.column_stack([others, scale * seen.seen(network[:, [i]], i)])  # and the network, whatever its shape
        for part, factor, error, column in zip(parts, factors, errors, design.T, strict=True):
            share = max(1.0, abs(float(factor))) * float(np.sqrt(np.mean(column**2))) / size
            gain = float(np.linalg.norm(left) / (np.linalg.norm(left - (factor - 1.0) * column) + 1e-300))
            needed = remainder(others, left) / (remainder(np.column_stack([column, others]), left) + 1e-300)
            answer.append(
                Addend(physics.states[i], rounded_text(part), float(factor), float(error), share, gain, needed)
            )
    return answer


def similar_terms(model: Model, seen: Windows) -> dict[tuple[int, int], tuple[str, float]]:
    """Learned terms nearly proportional to a known one in this record: i*cos(3*v) with a small v is i."""
    physics, found = model.physics, {}
    if not len(seen) or not len(model.terms):
        return {}
    symbols = [sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)]
    rows = np.concatenate([seen.node_x, seen.node_u[:, : physics.n_inputs]], axis=-1)
    learned = model.term_values(seen.node_x, seen.inputs)
    for row, i in enumerate(model.on):
        shapes = [shape for shape in known_shapes(physics, i) if shape.free_symbols]
        kept = [k for k in np.flatnonzero(model.coefficients[row]) if expanded(model.terms[k]) not in shapes]
        if not shapes or not kept:
            continue
        with np.errstate(all="ignore"):
            known = seen.seen(numpy_function(shapes, symbols)(rows), i)
        for k in kept:
            own = seen.seen(learned[:, [k]], i)[:, 0]
            factors = known.T @ own / (np.sum(known**2, axis=0) + 1e-300)
            rest = np.linalg.norm(own[:, None] - known * factors, axis=0)
            holds = [set(sp.Mul.make_args(shape)) <= set(sp.Mul.make_args(model.terms[k])) for shape in shapes]
            best = int(np.argmin(np.where(np.isfinite(rest) & holds, rest, np.inf)))
            if holds[best] and rest[best] < ALIKE * np.linalg.norm(own):
                found[row, int(k)] = (term_text(shapes[best]), float(factors[best]))
    return found


def wrong_values(model: Model, seen: Windows, alike: Alike) -> dict[tuple[str, str], str]:
    """State and learned term of a known shape, mapped to the parameter of which another value explains as much.

    Another value changes every term with that parameter by the same factor; a missing term does not.
    Other learned parts are kept. For physics without parameters, the coefficients of its summands are tested.
    """
    physics = model.physics
    found: dict[tuple[str, str], str] = {}
    nets = {(net.state, net.term) for net in net_values(model, alike=alike)}
    if not nets or len(seen) < 20:
        return {}
    learned = model.term_values(seen.node_x, seen.inputs)
    network = model.network(seen.node_x, seen.inputs)
    for row, i in enumerate(model.on):
        state, scale = physics.states[i], np.sqrt(seen.weight[:, i])

        def view(values: Array, i: int = i, scale: Array = scale) -> Array:
            return np.asarray(scale * seen.seen(values[:, None], i)[:, 0])

        shape = {
            k: alike[row, k][0] if (row, k) in alike else term_text(expanded(t)) for k, t in enumerate(model.terms)
        }
        kept = {int(k): view(learned[:, k]) for k in np.flatnonzero(model.coefficients[row])}
        told = {k: shape[k] if (row, k) in alike else str(model.terms[k]) for k in kept}
        if not any((state, term) in nets for term in told.values()):
            continue
        beside = [view(network[:, i]), np.ones(len(seen))]
        target = scale * seen.dx[:, i] - view(known_rates(physics, seen.node_x, seen.node_u)[:, i])
        limit = AS_WELL * remainder(np.column_stack([*kept.values(), *beside]), target)
        for name, values, shapes in _value_effects(physics, seen, i):
            own = [k for k in kept if (state, told[k]) in nets and shape[k] in shapes]
            others = [column for k, column in kept.items() if k not in own]
            if not own or not np.isfinite(values).all():
                continue
            if remainder(np.column_stack([view(values), *others, *beside]), target) <= limit:
                found = {(state, told[k]): name for k in own} | found
    return found


def _value_effects(physics: Physics, seen: Windows, i: int) -> Iterator[tuple[str, Array, set[str]]]:
    """The effect of a slightly larger value of each parameter, or summand, on a state's rate, and its terms."""
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
    """Least squares with errors from groups of windows; extras are included if independent of the others."""
    columns, count = _joined(design, extras), design.shape[1]
    group = jackknife.groups_of(len(target), GROUPS)
    whole = np.linalg.lstsq(columns, target, rcond=None)[0][:count]
    without = np.array([
        np.linalg.lstsq(columns[group != g], target[group != g], rcond=None)[0][:count] for g in range(GROUPS)
    ])  # fmt: skip
    return whole, jackknife.error(without)


def _joined(design: Array, extras: list[Array]) -> Array:
    """Columns with those extras that are linearly independent of them."""
    columns = design
    for extra in extras:
        rest = extra - columns @ np.linalg.lstsq(columns, extra, rcond=None)[0]
        if np.linalg.norm(rest) > COLLINEAR * np.linalg.norm(extra):
            columns = np.column_stack([columns, extra])
    return columns


def net_values(model: Model, shares: Mapping[str, float] | None = None, alike: Alike | None = None) -> list[Net]:
    """Learned terms that the known right-hand side, expanded with numbers, also contains.

    Parameters
    ----------
    model : Model
    shares : mapping of str to float, optional
        Of the rate, by state and term.
    alike : mapping, optional
        Terms similar to a known one (`similar_terms`); they are reported under its name.
    """
    physics = model.physics
    answer = []
    for row, state in enumerate(model.on):
        pieces = known_terms(physics, state)
        kept = np.flatnonzero(model.coefficients[row]) if model.coefficients.size else np.zeros(0, dtype=int)
        names = {int(k): term_text(expanded(model.terms[k])) for k in kept}
        new = [model.terms[k] for k, name in names.items() if name not in pieces and (row, k) not in (alike or {})]
        for k, name in names.items():
            known, factor = (alike or {}).get((row, k), (name, 1.0))
            if known in pieces:
                learned, error = (factor * float(v[row, k]) for v in (model.coefficients, model.errors))
                share = (shares or {}).get(f"{physics.states[state]}: {model.terms[k]}", 1.0)
                beside = any(model.terms[k].free_symbols <= other.free_symbols for other in new)
                told = known if factor != 1.0 else str(model.terms[k])
                found = Net(physics.states[state], told, pieces[known], learned, abs(error), share, beside)
                answer.append(replace(found, alike=(row, k) in (alike or {})))
    return answer
