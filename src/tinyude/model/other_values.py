"""Parameters for which another value explains several learned terms at once, or of a learned one any of its shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.hypotheses import FACTORS, parameter_rates, refined_factor
from tinyude.model.model import Model
from tinyude.model.windows import Windows
from tinyude.model.wrong_physics import AS_WELL, free_rows, remainder
from tinyude.model.wrong_values import Alike
from tinyude.physics import Physics
from tinyude.physics.expressions import expanded
from tinyude.physics.library import summed_terms, term_text

Array = NDArray[Any]

FEWEST = 2  # learned terms that a value must explain: a single one of a known shape may be truly missing
NEEDED = 2.0  # least rise of the remainder without the terms that the value explains: they are needed
TRIED = np.concatenate([-FACTORS[::-1], FACTORS])


@dataclass(frozen=True)
class OtherValue:
    """Another value of a parameter, as a factor of yours, and the learned terms that it explains.

    bounds: of a learned parameter, None of a fixed one; a term of its shape was learned beside it.
    """

    name: str
    yours: float
    factor: float
    terms: tuple[tuple[str, str], ...]  # state and term, as `Net` has them
    bounds: tuple[float, float] | None = None


def other_values(model: Model, seen: Windows, alike: Alike) -> list[OtherValue]:
    """Values with which the known part explains as much without the learned terms of the same shape."""
    physics, found = model.physics, []
    rows = [i for i in free_rows(model) if np.any(model.coefficients[model.on.index(i)])]
    if not rows or len(seen) < 20:
        return []
    learned = model.term_values(seen.node_x, seen.inputs)
    network = model.network(seen.node_x, seen.inputs)
    for name, parameter in physics.parameters.items():
        if name in physics.of_input_terms or parameter.value == 0.0:
            continue
        own = {i: _own_terms(model, i, name, alike) for i in rows}
        if sum(len(columns) for columns in own.values()) < (1 if parameter.learn else FEWEST):
            continue
        with_own, without = (
            {i: _columns(model, seen, i, learned, network, own[i] if out else []) for i in rows}
            for out in (False, True)
        )
        rates = parameter_rates(physics, name, seen)

        def left(factor: float, columns: dict[int, Array], rates: Callable[[float], Array] = rates) -> float:
            rest = seen.dx - seen.view(rates(factor))
            if not np.isfinite(rest).all():
                return np.inf
            scaled = np.sqrt(seen.weight) * rest
            return float(sum(remainder(columns[i], scaled[:, i]) ** 2 / _size(seen, i) for i in columns))

        limit = AS_WELL**2 * left(1.0, with_own)
        if left(1.0, without) < NEEDED**2 * limit:
            continue
        best = refined_factor(partial(left, columns=without), TRIED)
        if left(best, without) <= limit:
            terms = [(physics.states[i], _told(model, i, k, alike)) for i, columns in own.items() for k in columns]
            bounds = (parameter.min, parameter.max) if parameter.learn else None
            found.append(OtherValue(name, parameter.value, best, tuple(terms), bounds))
    return found


def _own_terms(model: Model, i: int, name: str, alike: Alike) -> list[int]:
    """Learned terms of a rate with the same shape as the parameter's effect on it."""
    row = model.on.index(i)
    shapes = _effect_shapes(model.physics, i, name)
    kept = [int(k) for k in np.flatnonzero(model.coefficients[row])]
    return [k for k in kept if alike.get((row, k), (term_text(expanded(model.terms[k])), 1.0))[0] in shapes]


def _told(model: Model, i: int, k: int, alike: Alike) -> str:
    known, factor = alike.get((model.on.index(i), k), ("", 1.0))
    return known if factor != 1.0 else str(model.terms[k])


def _effect_shapes(physics: Physics, i: int, name: str) -> set[str]:
    values = {sp.Symbol(n): sp.Float(p.value) for n, p in physics.parameters.items()}
    slope = sp.diff(physics.rhs[i], sp.Symbol(name))
    return set(summed_terms(physics, slope.xreplace(values))) if slope != 0 else set()


def _columns(model: Model, seen: Windows, i: int, learned: Array, network: Array, out: list[int]) -> Array:
    """The learned terms and the network in a rate, filtered by the windows, except those left out."""
    kept = [k for k in np.flatnonzero(model.coefficients[model.on.index(i)]) if k not in out]
    nodes = np.column_stack([learned[:, kept], network[:, i]])
    return np.asarray(np.sqrt(seen.weight[:, [i]]) * seen.seen(nodes, i))


def _size(seen: Windows, i: int) -> float:
    return max(float(seen.rms(seen.dx)[i]) ** 2 * len(seen), 1e-300)
