"""A physical constant of the known part, fixed or learned."""

from __future__ import annotations

import math
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError


@dataclass(frozen=True)
class Parameter:
    """A physical constant of the known part.

    Parameters
    ----------
    value : float
        Its value, or the first guess of one that is learned.
    learn : bool, default False
        Whether it is fitted with the model.
    min, max : float
        Bounds of a learned parameter; default: none.

    Raises
    ------
    TinyUDEError
        If a number is not finite or the value lies outside its bounds.

    Examples
    --------
    >>> import tinyude as tu
    >>> tu.Parameter(0.5, learn=True, min=0.1, max=2.0)
    Parameter(value=0.5, learn=True, min=0.1, max=2.0)
    """

    value: float
    learn: bool = False
    min: float = -math.inf
    max: float = math.inf

    def __post_init__(self) -> None:
        for name in ("value", "min", "max"):
            number = as_float(getattr(self, name))
            if math.isnan(number):
                raise TinyUDEError(f"A parameter's {name} is {getattr(self, name)!r}; give a number.")
            object.__setattr__(self, name, number)
        if not isinstance(self.learn, bool | np.bool_):
            raise TinyUDEError(f"A parameter's learn is {self.learn!r}; give True or False.")
        if not math.isfinite(self.value):
            raise TinyUDEError(f"A parameter's value is {self.value}; give a finite number.")
        if not self.min <= self.value <= self.max:
            raise TinyUDEError(f"A parameter's value {self.value:g} is outside [{self.min:g}, {self.max:g}]; widen it.")


def as_float(value: Any) -> float:
    """A real number as it is computed with: infinite where it is beyond float64, NaN for what is no number."""
    number: Any = value if isinstance(value, Real) and not isinstance(value, bool) else math.nan
    try:
        return float(number)
    except OverflowError:  # a whole number of hundreds of digits
        return math.inf if number > 0 else -math.inf


def parameter_dict(parameter: Parameter) -> dict[str, Any]:
    """Without infinite bounds, which JSON cannot write."""
    fields = {"value": parameter.value, "learn": bool(parameter.learn), "min": parameter.min, "max": parameter.max}
    return {key: value for key, value in fields.items() if math.isfinite(value)}
