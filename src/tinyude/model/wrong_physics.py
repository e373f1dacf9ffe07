"""Finds the single correction of the known part (a unit, a sign, a column) that makes it agree with the data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.hypotheses import DEGREES, Hypothesis, hypotheses, squares
from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.model.windows import Windows
from tinyude.reference.numeric.elementary import TWO_PI

Array = NDArray[Any]

AS_WELL = 1.2  # times the remainder with learned terms: below, another value or exponent explains as much
CORRECTION_HELPS, CORRECTION_NEEDED = 3.0, 0.5  # times less unexplained; share unexplained as given
VALUE_HELPS, VALUE_NEEDED = 2.5, 0.2  # the same for the best value of many
NO_WORSE = 1.2  # times the mean square as given
SPARED, GONE = (
    2,
    0.1,
)  # learned terms that a correction makes unnecessary, and the share of a coefficient that may remain
EQUALLY = 1.02  # times the least share unexplained: two corrections that explain the same
SAME_FACTOR = 0.03  # relative: largest distance from one of those below
NEAR_FACTOR, NEAR_ERRORS = 0.01, 3.0  # relative, or standard errors: largest distance from it
# Names of factors between two quantities.
FACTORS = (
    (1000.0, "1000 (milli: mm, ms, g, mA)"),
    (1e6, "a million (micro, or mm against km)"),
    (100.0, "100 (cm, per cent)"),
    (DEGREES, "57.3 (degrees for radians)"),
    (TWO_PI, "6.28 (revolutions for radians)"),
    (60.0 / TWO_PI, "9.55 (rpm for rad/s)"),
    (60.0, "60 (minutes for seconds)"),
    (3.6, "3.6 (km/h for m/s)"),
    (9.80665, "9.81 (kgf for N, or a mass for a weight)"),
    (10.0, "10"),
    (2.0, "2 (a diameter for a radius, a forgotten half)"),
)


@dataclass(frozen=True)
class Correction:
    """One correction of the known part, and the share of the rate that it leaves unexplained with and without it."""

    text: str  # what seems to be wrong
    remedy: str
    share: float
    share_as_given: float
    kind: str = "units"
    free: bool = False  # the best of many values: approximate, because other parts are missing


def factor_name(factor: float, error: float) -> str:
    """The mistake that a factor with this standard error indicates; "" for none, or if it is not precise enough."""
    if error > SAME_FACTOR * max(abs(factor), 1.0):
        return ""
    for value, name in FACTORS:
        for candidate in (value, 1.0 / value):
            near = max(NEAR_FACTOR, min(SAME_FACTOR, NEAR_ERRORS * error / candidate))
            if abs(abs(factor) / candidate - 1.0) < near:
                return name
    return ""


def corrections(model: Model, seen: Windows) -> list[Correction]:
    """The single correction that leaves least unexplained, and those that the data cannot distinguish from it.

    Whether it helps is judged by the equations that it changes, together or singly if it makes none worse: the
    remainder of other equations does not count.
    """
    on = free_rows(model)
    if not on or len(seen) < 20:
        return []
    nothing = squares(seen, seen.dx)[on]  # the remainder if a correction makes the known part vanish
    rest = Hypothesis("", "", model.physics).left(seen)
    given = squares(seen, rest)[on]
    if not np.any(given > VALUE_NEEDED**2 * nothing):
        return []
    vanishing = [_spared(model, seen, i, rest, seen.dx) for i in on]  # terms that only cancel the known part
    tried = []
    for hypothesis in hypotheses(model.physics, seen):
        other = hypothesis.left(seen)
        left = squares(seen, other)[on]
        changed = np.flatnonzero(np.abs(left - given) > 1e-9 * given)
        if not np.isfinite(left).all() or not len(changed):
            continue
        rows = (
            [on[k] for k in changed] if hypothesis.free else [] if hypothesis.added is None else [hypothesis.added[0]]
        )
        if rows and not any(_spares_a_term(model, seen, i, rest, other) for i in rows):
            continue
        no_worse = bool((left <= NO_WORSE * given).all())
        helps, needed = (VALUE_HELPS, VALUE_NEEDED) if hypothesis.free else (CORRECTION_HELPS, CORRECTION_NEEDED)
        spared = sum(_spared(model, seen, on[k], rest, other) - vanishing[k] for k in changed)
        for own in (changed, *(changed[[k]] for k in range(len(changed)) if no_worse)):
            share, as_given = (float(np.sqrt(e[own].sum() / nothing[own].sum())) for e in (left, given))
            helpful = as_given > needed and share < min(CORRECTION_NEEDED, as_given / helps)
            if helpful or (spared >= SPARED and share < NO_WORSE * as_given):
                found = Correction(
                    hypothesis.text, hypothesis.remedy, share, as_given, hypothesis.kind, hypothesis.free
                )
                tried.append((float(left.sum()), float(left[own].sum()), found))
                break
    if not tried:
        return []
    tried.sort(key=lambda entry: entry[0])
    limit = tried[0][0] + (EQUALLY**2 - 1.0) * tried[0][1]
    return [found for total, _, found in tried if total <= limit]


def remainder(columns: Array, target: Array) -> float:
    """The residual of least squares."""
    return float(np.linalg.norm(target - columns @ np.linalg.lstsq(columns, target, rcond=None)[0]))


def free_rows(model: Model) -> list[int]:
    """Residual states whose rate is not simply another state."""
    return [i for i, rate in enumerate(model.physics.kinematic) if rate is None and i in model.on]


def _spared(model: Model, seen: Windows, state: int, given: Array, other: Array) -> int:
    """The number of learned terms needed with the known part as given, but not with another remainder."""
    learned, scale = _learned_columns(model, seen, state)
    if learned.shape[1] < SPARED:
        return 0
    before, after = (np.linalg.lstsq(learned, scale * rates[:, state], rcond=None)[0] for rates in (given, other))
    kept = learned[:, np.abs(after) > GONE * np.abs(before)]
    limit = AS_WELL * remainder(learned, scale * given[:, state])
    enough = remainder(kept, scale * other[:, state]) <= limit < 0.5 * remainder(kept, scale * given[:, state])
    return learned.shape[1] - kept.shape[1] if enough else 0


def _learned_columns(model: Model, seen: Windows, state: int) -> tuple[Array, Array]:
    """The learned terms of a rate filtered by the windows, times the root of the windows' weights, and that root."""
    scale = np.sqrt(seen.weight[:, state])
    kept = np.flatnonzero(model.coefficients[model.on.index(state)])
    if not len(kept):
        return np.zeros((len(seen), 0)), scale
    return scale[:, None] * seen.seen(model.term_values(seen.node_x, seen.inputs)[:, kept], state), scale


def _spares_a_term(model: Model, seen: Windows, state: int, given: Array, other: Array) -> bool:
    """Whether another remainder is explained as well with one learned term fewer; of dozens tried, some fit by chance.

    With a network, which has no terms, this cannot be tested.
    """
    learned, scale = _learned_columns(model, seen, state)
    if not learned.shape[1] or any(state in part.on for part in model.parts if not isinstance(part, Terms)):
        return True
    limit = AS_WELL * remainder(learned, scale * given[:, state])
    fewer = (remainder(np.delete(learned, k, axis=1), scale * other[:, state]) for k in range(learned.shape[1]))
    return min(fewer) <= limit
