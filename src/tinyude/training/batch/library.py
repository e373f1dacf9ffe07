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
PLACES = (0.1, 0.3, 0.5, 0.7, 0.9)  # of the range of a signal: where corners and bumps are offered
BEYOND = 0.02  # of the visited states: the fewest on either side of a corner, or of the centre of a bump
AWAY_FROM_ZERO = 1e-2  # of its largest magnitude: the least that a column must keep for 1/x to be offered


ALONE = -1  # for no column that is subtracted

Entry = tuple["Factor", ...]  # a product; () is the constant


@dataclass(frozen=True)
class Factor:
    """One shape of one column; parameters that may be freed are those of FREE."""

    kind: str
    column: int
    shape: tuple[float, ...] = ()
    given: sp.Expr | None = None  # a user's own term, in all columns
    minus: int = ALONE  # the column subtracted from it, as in relative motion

    def value(self, columns: Array) -> Array:
        """The column, or the difference, that the shape is of, at rows of states and inputs."""
        own = columns[:, self.column]
        return np.asarray(own if self.minus == ALONE else own - columns[:, self.minus])


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
    "flow": lambda m, v, p: m.sign(v) * abs(v) ** p,  # through an orifice, by convection
    "above": lambda m, v, c, unit: (v - c + abs(v - c)) / 2,  # an end stop, an overflow, a rectifier: max(v - c, 0)
    "below": lambda m, v, c, unit: (c - v + abs(v - c)) / 2,
}
FREE = {
    "tanh": 1, "slow": 1, "saturation": 1, "hill": 1, "inhibited": 1, "steep": 2, "exp": 1, "bump": 2,
    "wave_sin": 1, "wave_cos": 1, "flow": 1, "above": 1, "below": 1,
}  # fmt: skip
CORNERS = ("above", "below")
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
        return np.asarray(KINDS[factor.kind](np, factor.value(columns), *factor.shape))
    except OverflowError:  # Python's c**p of a switch whose slope has diverged, far outside the record
        return np.zeros(len(columns))


@lru_cache(maxsize=512)
def _given(expr: sp.Expr, names: tuple[str, ...]) -> Callable[[Array], Array]:
    return numpy_function([expr], [sp.Symbol(name, real=True) for name in names])


def depends_on(entry: Entry, names: Sequence[str]) -> set[int]:
    """Columns that an entry depends on."""
    found = {k for factor in entry if factor.given is None for k in (factor.column, factor.minus)} - {ALONE}
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
        if factor.minus != ALONE:
            symbol = symbol - sp.Symbol(names[factor.minus], real=True)
        shape = [(free or {}).get((place, k), _number(factor.kind, value)) for k, value in enumerate(factor.shape)]
        result = result * KINDS[factor.kind](sp, symbol, *shape)
    return result


def free_shapes(entry: Entry, angles: Iterable[int] = ()) -> list[tuple[int, int]]:
    """(factor, parameter) of every shape parameter that may be fitted."""
    return [
        (place, k)
        for place, factor in enumerate(entry)
        if factor.column not in angles or factor.minus != ALONE
        for k in range(FREE.get(factor.kind, 0))
    ]


def with_shape(entry: Entry, where: tuple[int, int], value: float) -> Entry:
    """The entry with one shape parameter changed."""
    place, k = where
    factor = entry[place]
    shape = (*factor.shape[:k], float(value), *factor.shape[k + 1 :])
    changed = Factor(factor.kind, factor.column, shape, factor.given, factor.minus)
    return (*entry[:place], changed, *entry[place + 1 :])


def _number(kind: str, value: float) -> sp.Expr:
    if kind in _WHOLE or (kind in {"sin", "cos"} and value == int(value)):
        return sp.Integer(int(value))
    return sp.Float(value)


@dataclass(frozen=True)
class Signal:
    """A column, or the difference of two, with its range in the record."""

    column: int
    rms: float
    low: float
    high: float
    minus: int = ALONE
    speed: bool = False  # friction terms are offered
    angle: bool = False  # only harmonics are offered
    corners: tuple[float, ...] = ()  # values at which a slope may change

    def factor(self, kind: str, *shape: float) -> Factor:
        """A shape of it."""
        return Factor(kind, self.column, shape, minus=self.minus)


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
    differences: tuple[Signal, ...] = ()
    corners: tuple[tuple[float, ...], ...] = ()  # of each column

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

    @property
    def swinging(self) -> list[int]:
        """Angles that do not rotate: a spring or a stop may act on them, as on a distance."""
        return [k for k in self.angles if k not in self.rotating]

    def signal(self, k: int) -> Signal:
        """A column with its range."""
        low, high = float(self.low[k]), float(self.high[k])
        corners = self.corners[k] if self.corners else ()
        return Signal(k, float(self.rms[k]), low, high, speed=k in self.rates, angle=k in self.angles, corners=corners)


def corner_places(values: Array) -> tuple[float, ...]:
    """Values over the range of a column, with enough of what it visits on both sides to determine the slopes there."""
    low, high = float(values.min()), float(values.max())
    places = low + np.array(PLACES) * (high - low)
    return tuple(dict.fromkeys(map(_digits, np.clip(places, *np.quantile(values, (BEYOND, 1.0 - BEYOND))))))


def plain_library(offer: Offer) -> list[Entry]:
    """Constant, linear, drag, smooth dry friction, low powers and products, harmonics of angles."""
    entries: list[Entry] = [(), *((Factor("power", k, (1.0,)),) for k in offer.linear)]
    for signal in (*map(offer.signal, offer.rates), *offer.differences):
        entries += _friction(signal) if signal.speed else []
    degree = DEGREE.get(len(offer.straight), 1)
    for d in range(2, degree + 1):
        entries += [_product(group) for group in combinations_with_replacement(offer.straight, d)]
    for angle in offer.angles:
        for k in range(1, HARMONICS.get(len(offer.angles), 2) + 1):
            entries += [(Factor(wave, angle, (float(k),)),) for wave in ("sin", "cos")]
    return entries


def relative_library(offer: Offer) -> list[Entry]:
    """The plain library, corners and powers of all states and inputs, and every shape of their differences."""
    signals = [offer.signal(k) for k in range(offer.columns) if k not in (*offer.followed, *offer.switched)]
    shapes = [factor for signal in (*signals, *offer.differences) for factor in _corners(signal)]
    shapes += [factor for signal in offer.differences for factor in (*_relative(signal), *_shapes(signal))]
    shapes += [Factor("power", k, (float(d),)) for k in offer.swinging for d in (2, 3)]
    return list(dict.fromkeys([*plain_library(offer), *((shape,) for shape in shapes)]))


def rich_library(offer: Offer) -> list[Entry]:
    """The plain library, squares and cubes of all states, and every shape alone and times every state and input."""
    plain = plain_library(offer)
    told = [k for k in range(offer.columns) if k not in offer.followed]
    shapes = [factor for k in told if k not in offer.switched for factor in _shapes(offer.signal(k))]
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


def _friction(signal: Signal) -> list[Entry]:
    """Drag, dry friction with a soft and a sharp transition, and Stribeck friction at low speed."""
    soft, sharp = (signal.factor("tanh", float(f"{s / signal.rms:.3g}")) for s in SMOOTH_SIGNS)
    slow = signal.factor("slow", float(f"{1.0 / (SLOW * signal.rms) ** 2:.3g}"))
    return [(signal.factor("drag"),), (soft,), (sharp,), (soft, slow), (sharp, slow)]


def _relative(signal: Signal) -> list[Factor]:
    """Powers of a difference, as of a spring between two masses."""
    return [signal.factor("drag"), signal.factor("power", 2.0), signal.factor("power", 3.0)]


def _digits(value: float) -> float:
    """A shape parameter in readable form."""
    return float(f"{value:.4g}")


def _corners(signal: Signal) -> list[Factor]:
    """Corners at several places of its range, and a signed power."""
    width = signal.high - signal.low
    if signal.angle or not width > 0.0:
        return []
    corners = [signal.factor(side, place, width) for place in signal.corners for side in CORNERS]
    return [*corners, signal.factor("flow", 1.5)]


def _shapes(signal: Signal) -> list[Factor]:
    made, rms, low, high = signal.factor, signal.rms, signal.low, signal.high
    if signal.angle:
        return [made(wave, float(n)) for n in (1, 2, 3, 4) for wave in ("sin", "cos")]
    width = high - low
    if not width > 0.0:
        return []
    size = max(abs(low), abs(high))
    found = [made(wave, float(n)) for n in (1, 2, 3, 4) for wave in ("sin", "cos") if 0.3 < n * width < 60.0]
    found += [
        made(wave, _digits(n * np.pi / width), _digits(low)) for n in (1, 2, 3) for wave in ("wave_sin", "wave_cos")
    ]
    found += [made("saturation", _digits(c * rms)) for c in (0.2, 0.6, 2.0)]
    found += [made("hill", _digits(c * rms)) for c in (0.3, 0.8, 2.0)]
    found += [made("inhibited", _digits(c * rms)) for c in (0.3, 0.8, 2.0)]
    found += [made("exp", _digits(s * n / max(rms, width / 4.0))) for n in (0.5, 1.5) for s in (-1.0, 1.0)]
    found += [made("bump", _digits(low + f * width), _digits(16.0 / width**2)) for f in PLACES]
    found += [made("tanh", _digits(s / rms)) for s in (1.0, 4.0)]
    found += [made("root"), made("power", 4.0), made("power", 5.0)]
    if low * high < 0.0:  # of one sign, |x| is x again: rounding would decide between the two
        found.append(made("abs"))
    elif min(abs(low), abs(high)) > AWAY_FROM_ZERO * size:
        found += [made("inverse", 1.0), made("inverse", 2.0), made("log")]
        found += [made("steep", _digits(abs(low + f * width)), STEEP) for f in (0.25, 0.6)]
    return found
