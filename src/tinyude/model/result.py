"""The result of a fit: one object for the estimator, model files, boards, fleets and the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model.candidate import Candidate
from tinyude.model.equations import LearnedParameter
from tinyude.model.model import Model
from tinyude.model.uncertainty import Spread
from tinyude.reference.config import Config

Array = NDArray[Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Calibration:
    """Window and sensor noise, as the learner calibrated them or the batch estimator found them.

    Attributes
    ----------
    half, spacing : int
        Samples either side of a window's centre, and ticks between them.
    sigma, step : array (channels,)
        Standard deviation of the noise, and the sensor's resolution.
    sigma_scale : float
        Ratio of the windows' misfit to that expected from sigma.
    second_order, snr2 : float
        Weight of the second-order loss, and the signal-to-noise ratio that allowed it; 0 except for the paper presets.
    """

    half: int
    spacing: int
    sigma: Array
    step: Array
    sigma_scale: float = 1.0
    second_order: float = 0.0
    snr2: float = 0.0


@dataclass(frozen=True)
class FitCounters:
    """Counters of a fit; all 0 in a model that was read from a file.

    Attributes
    ----------
    samples, filled, replaced : int
        Rows, dropouts filled, outliers replaced.
    windows, accepted : int
        Windows tested, and those that passed the acceptance test.
    rejected : sequence of int
        By reason, in the order of tinyude.reference.signal.gates.REASONS.
    deficient : int
        Library columns that depend on others.
    updates, rolled_back, recalibrations : int
        Of the streaming learner.
    changed_at : sequence of int
        Ticks at which a change of the dynamics was detected.
    """

    samples: int = 0
    filled: int = 0
    replaced: int = 0
    windows: int = 0
    accepted: int = 0
    rejected: tuple[int, ...] = ()
    deficient: int = 0
    updates: int = 0
    rolled_back: int = 0
    recalibrations: int = 0
    changed_at: tuple[int, ...] = ()


def no_history() -> dict[str, Array]:
    """The loss history of a fit that trained no perceptron."""
    return {"update": np.zeros(0), "loss": np.zeros(0)}


@dataclass
class FitResult:
    """A fitted model and its accompanying data; None where a fit has no such part.

    Attributes
    ----------
    model : Model
    diagnostics : dict
        Figures of the fit, and its verdict.
    config : Config, optional
        With which a board continues to learn; None if a state is not measured, because then no learner was used.
    calibration : Calibration, optional
    counters : FitCounters
    history : dict
        Loss over the perceptron's updates.
    record : dict, optional
        An excerpt of the record, for plots.
    spread : Spread, optional
        Of the learned numbers over groups of windows, for intervals; None if the model has a covariance.
    parameters : list of LearnedParameter, optional
        None after a streamed fit.
    candidates, states : optional
        Results of refinement: the compared models, smoothed states.
    """

    model: Model
    diagnostics: dict[str, Any] = field(default_factory=dict)
    config: Config | None = None
    calibration: Calibration | None = None
    counters: FitCounters = field(default_factory=FitCounters)
    history: Mapping[str, Array] = field(default_factory=no_history)
    record: dict[str, Array] | None = None
    spread: Spread | None = None
    candidates: list[Candidate] | None = None
    states: Any = None
    parameters: list[LearnedParameter] | None = None


def learner_part(part: T | None) -> T:
    """The configuration or calibration of a result; raises if no learner was used."""
    if part is None:
        raise TinyUDEError(
            "A model with states that are not measured has no learner for a board; export it with to_casadi, to_jax, "
            "to_control or to_sympy."
        )
    return part
