"""The terms offered to a residual: products of a few shapes, evaluated without SymPy until one is chosen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.physics.expressions import numpy_function
from tinyude.physics.library import HARMONICS, SLOW, SMOOTH_SIGNS

Array = NDArray[Any]

RICH_COLUMNS = 700  # most columns of the rich library
DEGREE = {1: 3, 2: 3, 3: 3, 4: 3, 5: 3, 6: 2}  # of products, by the number of straight columns; 1 beyond
STEEP = 5.0  # first exponent of a switch between two levels (Hill function)
AWAY_FROM_ZERO = 1e-2  # of its largest magnitude: the least that a column must keep for 1/x to be offered


Entry = tuple["Factor", ...]  # a product; () is the constant


@dataclass(frozen=True)
class Factor:
    """One shape of one column; parameters that may be freed are those of FREE."""

    kind: str
    column: int
    shape: tuple[float, ...] = ()
    given: sp.Expr | None = None  # a user's own term, in all columns


def given_entry(expr: sp.Expr) -> Entry:
    """A user's own term, unchanged."""
    return (Factor("given", -1, (), expr),)


def _power(v: Any, p: float) -> Any:
    """By products: NumPy's own powers beyond 2 take many times as long."""
    answer = v
    for _ in range(int(p) - 1):
        answer = answer * v
    return answer


# Of a value and shape parameters, in NumPy or SymPy: the first argument is the module.
KINDS: dict[str, Callable[..., Any]] = {
    "power": lambda m, v, p: _power(v, p),
    "abs": lambda m, v: abs(v),
    "drag": lambda m, v: v * abs(v),
    "root": lambda m, v: m.sqrt(abs(v)),
    "tanh": lambda m, v, k: m.tanh(k * v),
    "slow": lambda m, v, k: m.exp(-k * v**2),
    "sin": lambda m, v, k: m.sin(k * v),
    "cos": lambda m, v, k: m.cos(k * v),
    "wave_sin": lambda m, v, k, lo: m.sin(k * (v - lo)),
    "wave_cos": lambda m, v, k, lo: m.cos(k * (v - lo)),
    "saturation": lambda m, v, c: v / (c + abs(v)),
    "hill": lambda m, v, c: v**2 / (c**2 + v**2),
    "inhibited": lambda m, v, c: v / (c**2 + v**2),  # substrate inhibition: falls again at large values
    "steep": lambda m, v, c, p: abs(v) ** p / (c**p + abs(v) ** p),
    "exp": lambda m, v, k: m.exp(k * v),
    "bump": lambda m, v, middle, k: m.exp(-k * (v - middle) ** 2),
    "inverse": lambda m, v, p: 1 / _power(v, p),
    "log": lambda m, v: m.log(abs(v)),
}
FREE = {
    "tanh": 1, "slow": 1, "saturation": 1, "hill": 1, "inhibited": 1, "steep": 2, "exp": 1, "bump": 2,
    "wave_sin": 1, "wave_cos": 1,
}  # fmt: skip
_WHOLE = {"power", "inverse"}  # whose parameter is a whole number


def evaluate(entries: Sequence[Entry], columns: Array, names: tuple[str, ...] = ()) -> Array:
    """The entries at rows of states and inputs (rows, columns): (rows, entries). names: of the columns."""
    cache: dict[Factor, Array] = {}
    answer = np.empty((len(entries), len(columns)))
    for values, entry in zip(answer, entries, strict=True):
        for factor in entry:
            if factor not in cache:
                cache[factor] = _factor(factor, columns, names)
        if len(entry) > 1:
            np.multiply(cache[entry[0]], cache[entry[1]], out=values)
            for factor in entry[2:]:
                values *= cache[factor]
        else:
            values[:] = cache[entry[0]] if entry else 1.0
    return answer.T


def _factor(factor: Factor, columns: Array, names: tuple[str, ...]) -> Array:
    if factor.given is not None:
        return np.asarray(_given(factor.given, names)(columns)[:, 0])
    try:
        return np.asarray(KINDS[factor.kind](np, columns[:, factor.column], *factor.shape))
    except OverflowError:  # Python's c**p of a switch whose slope has diverged, far outside the record
        return np.zeros(len(columns))


@lru_cache(maxsize=512)
def _given(expr: sp.Expr, names: tuple[str, ...]) -> Callable[[Array], Array]:
    return numpy_function([expr], [sp.Symbol(name, real=True) for name in names])


def depends_on(entry: Entry, names: Sequence[str]) -> set[int]:
    """Columns that an entry depends on."""
    found = {factor.column for factor in entry if factor.given is None}
    for factor in entry:
        if factor.given is not None:
            found |= {names.index(symbol.name) for symbol in factor.given.free_symbols}
    return found


def expression(entry: Entry, names: Sequence[str], free: Mapping[tuple[int, int], sp.Symbol] | None = None) -> sp.Expr:
    """The entry in SymPy; free: symbols for shape parameter (factor, parameter) instead of its value."""
    result = sp.Integer(1)
    for place, factor in enumerate(entry):
        if factor.given is not None:
            result = result * factor.given
            continue
        symbol = sp.Symbol(names[factor.column], real=True)
        shape = [(free or {}).get((place, k), _number(factor.kind, value)) for k, value in enumerate(factor.shape)]
        result = result * KINDS[factor.kind](sp, symbol, *shape)
    return result


def free_shapes(entry: Entry, angles: Iterable[int] = ()) -> list[tuple[int, int]]:
    """(factor, parameter) of every shape parameter that may be fitted."""
    return [
        (place, k)
        for place, factor in enumerate(entry)
        if factor.column not in angles
        for k in range(FREE.get(factor.kind, 0))
    ]


def with_shape(entry: Entry, where: tuple[int, int], value: float) -> Entry:
    """The entry with one shape parameter changed."""
    place, k = where
    factor = entry[place]
    shape = (*factor.shape[:k], float(value), *factor.shape[k + 1 :])
    return (*entry[:place], Factor(factor.kind, factor.column, shape), *entry[place + 1 :])


def _number(kind: str, value: float) -> sp.Expr:
    if kind in _WHOLE or (kind in {"sin", "cos"} and value == int(value)):
        return sp.Integer(int(value))
    return sp.Float(value)


@dataclass(frozen=True)
class Offer:
    """Properties of the columns before any term is chosen."""

    states: int
    angles: tuple[int, ...]
    rates: tuple[int, ...]  # columns that are speeds: friction terms are offered
    rms: Array  # (columns,)
    low: Array
    high: Array
    rotating: tuple[int, ...] = ()  # angles that rotate: only harmonics are offered
    followed: tuple[int, ...] = ()  # inputs computed by a controller from the states: no shapes are offered
    switched: tuple[int, ...] = ()  # inputs of two values: every function of one is a straight line

    @property
    def columns(self) -> int:
        return len(self.rms)

    @property
    def linear(self) -> list[int]:
        """Columns that may enter directly."""
        return [k for k in range(self.columns) if k not in self.rotating]

    @property
    def straight(self) -> list[int]:
        """States that are not angles."""
        return [k for k in range(self.states) if k not in self.angles]


def plain_library(offer: Offer) -> list[Entry]:
    """Constant, linear, drag, smooth dry friction, low powers and products, harmonics of angles."""
    entries: list[Entry] = [(), *((Factor("power", k, (1.0,)),) for k in offer.linear)]
    for k in offer.rates:
        entries += _friction(k, float(offer.rms[k]))
    degree = DEGREE.get(len(offer.straight), 1)
    for d in range(2, degree + 1):
        entries += [_product(group) for group in combinations_with_replacement(offer.straight, d)]
    for angle in offer.angles:
        for k in range(1, HARMONICS.get(len(offer.angles), 2) + 1):
            entries += [(Factor(wave, angle, (float(k),)),) for wave in ("sin", "cos")]
    return entries


def rich_library(offer: Offer) -> list[Entry]:
    """The plain library, squares and cubes of all states, and every shape alone and times every state and input."""
    plain = plain_library(offer)
    told = [k for k in range(offer.columns) if k not in offer.followed]
    shapes = [factor for k in told if k not in offer.switched for factor in _shapes(offer, k)]
    linear = [Factor("power", k, (1.0,)) for k in offer.linear if k in told]
    powers = [_product((k,) * d) for d in (2, 3) for k in offer.straight]  # plain: few products of many states
    alone: list[Entry] = [*(power for power in powers if power not in plain), *((shape,) for shape in shapes)]
    pairs: list[Entry] = [(shape, x) for shape in shapes for x in linear]
    inputs = [j for j in told if j >= offer.states]
    pairs += [_product((k, j)) for j in inputs for k in told if k < j or (k == j and j not in offer.switched)]
    alone += _of_two(shapes)
    room = RICH_COLUMNS - len(plain) - len(alone)
    if len(pairs) > room:  # many states: products with only a few shapes
        pairs = [pair for pair in pairs if pair[0].kind not in {"bump", "wave_sin", "wave_cos"}][: max(room, 0)]
    return list(dict.fromkeys([*plain, *alone, *pairs]))


def _of_two(shapes: Sequence[Factor]) -> list[Entry]:
    """Harmonics of two columns, as in sin(a - b), and a harmonic of one over another."""
    waves = [factor for factor in shapes if factor.kind in {"sin", "cos"} and factor.shape == (1.0,)]
    over = [factor for factor in shapes if factor.kind == "inverse" and factor.shape == (1.0,)]
    found: list[Entry] = [(a, b) for a in waves for b in waves if a.column < b.column]
    return found + [(a, b) for a in waves for b in over if a.column != b.column]


def _product(group: Sequence[int]) -> Entry:
    return tuple(Factor("power", k, (float(group.count(k)),)) for k in sorted(set(group)))


def _friction(k: int, rms: float) -> list[Entry]:
    """Drag, dry friction with a soft and a sharp transition, and Stribeck friction at low speed."""
    soft, sharp = (Factor("tanh", k, (float(f"{s / rms:.3g}"),)) for s in SMOOTH_SIGNS)
    slow = Factor("slow", k, (float(f"{1.0 / (SLOW * rms) ** 2:.3g}"),))
    return [(Factor("drag", k),), (soft,), (sharp,), (soft, slow), (sharp, slow)]


def _digits(value: float) -> float:
    """A shape parameter in readable form."""
    return float(f"{value:.4g}")


def _shapes(offer: Offer, k: int) -> list[Factor]:
    if k in offer.angles:
        return [Factor(wave, k, (float(n),)) for n in (1, 2, 3, 4) for wave in ("sin", "cos")]
    low, high, rms = float(offer.low[k]), float(offer.high[k]), float(offer.rms[k])
    width = high - low
    if not width > 0.0:
        return []
    size = max(abs(low), abs(high))
    found = [Factor(wave, k, (float(n),)) for n in (1, 2, 3, 4) for wave in ("sin", "cos") if 0.3 < n * width < 60.0]
    found += [
        Factor(wave, k, (_digits(n * np.pi / width), _digits(low)))
        for n in (1, 2, 3)
        for wave in ("wave_sin", "wave_cos")
    ]
    found += [Factor("saturation", k, (_digits(c * rms),)) for c in (0.2, 0.6, 2.0)]
    found += [Factor("hill", k, (_digits(c * rms),)) for c in (0.3, 0.8, 2.0)]
    found += [Factor("inhibited", k, (_digits(c * rms),)) for c in (0.3, 0.8, 2.0)]
    found += [Factor("exp", k, (_digits(s * n / max(rms, width / 4.0)),)) for n in (0.5, 1.5) for s in (-1.0, 1.0)]
    found += [
        Factor("bump", k, (_digits(low + f * width), _digits(16.0 / width**2))) for f in (0.1, 0.3, 0.5, 0.7, 0.9)
    ]
    found += [Factor("tanh", k, (_digits(s / rms),)) for s in (1.0, 4.0)]
    found += [Factor("root", k), Factor("power", k, (4.0,)), Factor("power", k, (5.0,))]
    if low * high < 0.0:  # of one sign, |x| is x again: rounding would decide between the two
        found.append(Factor("abs", k))
    if low * high > 0.0 and min(abs(low), abs(high)) > AWAY_FROM_ZERO * size:
        found += [Factor("inverse", k, (1.0,)), Factor("inverse", k, (2.0,)), Factor("log", k)]
        found += [Factor("steep", k, (_digits(abs(low + f * width)), STEEP)) for f in (0.25, 0.6)]
    return found
