"""Inputs between samples: held, linear or cubic, with a shift of whole samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from tinyude.errors import TinyUDEError

Array = NDArray[Any]
KINDS = ("held", "linear", "cubic")
CLEARLY_LIKELIER = 20.0  # log-likelihood or log evidence by which another hold must exceed held inputs


@dataclass(frozen=True)
class Hold:
    """What an input does between two samples.

    Attributes
    ----------
    kind : str
        "held": constant from its sample to the next; "linear"; "cubic": a spline, for band-limited signals.
    shift : int
        Samples by which the logged values come too late (1: the value of the next row applies) or too early (-1).
    """

    kind: str = "held"
    shift: int = 0

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise TinyUDEError(f"The hold of an input is {self.kind!r}; use one of {', '.join(KINDS)}.")
        if isinstance(self.shift, bool) or self.shift not in (-1, 0, 1):
            raise TinyUDEError(f"The shift of an input is {self.shift!r} samples; use -1, 0 or 1.")


def as_holds(given: str | Mapping[str, Any], inputs: Sequence[str]) -> tuple[Hold, ...]:
    """The hold of each input, from one word for all of them or a mapping; inputs that are not named are held.

    Parameters
    ----------
    given : str or mapping
        "held", "linear" or "cubic"; or input to such a word, a Hold, or (word, shift).
    inputs : sequence of str
    """
    if isinstance(given, str):
        return tuple(Hold(given) for _ in inputs)
    for name in given:
        if name not in inputs:
            raise TinyUDEError(
                f"hold names {name}, which is not an input; the inputs are {', '.join(inputs) or 'none'}."
            )
    return tuple(_as_hold(given.get(name, "held")) for name in inputs)


def _as_hold(value: Any) -> Hold:
    if isinstance(value, Hold):
        return value
    return Hold(value) if isinstance(value, str) else Hold(*value)


def learner_holds(holds: Sequence[Hold]) -> dict[str, Any]:
    """The same for the streaming learner, which treats a spline as linear; empty: all are held."""
    if all(hold == Hold() for hold in holds):
        return {"linear": (), "shift": ()}
    return {"linear": tuple(int(hold.kind != "held") for hold in holds), "shift": tuple(hold.shift for hold in holds)}


def interval_coefficients(times: Array, inputs: Array, holds: Sequence[Hold]) -> Array:
    """Coefficients (rows, inputs, 4) of a polynomial in s = 0 to 1 from each row to the next; the last row holds."""
    rows, count = inputs.shape
    coefficients = np.zeros((rows, count, 4))
    for column, hold in enumerate(holds):
        values = _shifted(inputs[:, column], hold.shift)
        coefficients[:, column, 0] = values
        if hold.kind == "linear":
            coefficients[:-1, column, 1] = np.diff(values)
        elif hold.kind == "cubic" and rows > 2:
            spans = np.diff(times)
            powers = CubicSpline(times, values).c[::-1]  # by power of seconds
            for power in range(1, 4):
                coefficients[:-1, column, power] = powers[power] * spans**power
    return coefficients


def interval_means(inputs: Array, holds: Sequence[Hold]) -> Array:
    """The mean of each input from each row to the next."""
    shares = 1.0 / np.arange(1.0, 5.0)  # integrals of the powers of s from 0 to 1
    return np.asarray(interval_coefficients(np.arange(len(inputs)), inputs, holds) @ shares)


def _shifted(values: Array, shift: int) -> Array:
    places = np.clip(np.arange(len(values)) + shift, 0, len(values) - 1)
    return values[places]
