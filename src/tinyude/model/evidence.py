"""The evidence that a fit is judged by: plain figures, no sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from numpy.typing import NDArray

from tinyude.model.changed_dynamics import DynamicsChange
from tinyude.model.delays import Delay
from tinyude.model.input_effects import InputEffect
from tinyude.model.other_values import OtherValue
from tinyude.model.probes import RunErrors
from tinyude.model.wrong_physics import Correction
from tinyude.model.wrong_values import Addend, Net

Array = NDArray[Any]

LEFT_LOST, LEFT_LARGE = 0.15, 0.02  # unexplained share of a rate
NEAR_NOISE = 2.0  # times the noise: a remainder below this counts as explained


@dataclass(frozen=True)
class Unexplained:
    """RMS of the unexplained remainder of a state's rate, over the RMS of that rate.

    Attributes
    ----------
    share, known : float
        By the model, and by the known physics alone.
    floor : float
        The share that sensor noise alone causes.
    """

    share: float
    known: float
    floor: float

    @property
    def over_noise(self) -> float:
        return self.share / max(self.floor, 1e-12)


@dataclass(frozen=True)
class Continuation:
    """Free-run errors over the last part of a short record, over the spread of the signals.

    Attributes
    ----------
    part, whole : float
        Of the model fitted to the part before, and of the model fitted to the whole record.
    known, hold : float
        Of the known physics alone, and of holding the first value.
    """

    part: float
    whole: float
    known: float
    hold: float


@dataclass(frozen=True)
class Driver:
    """A signal that correlates with the unexplained remainder."""

    name: str
    kind: str  # "input", "slope of input", "unused column"
    state: str
    correlation: float
    strength: float  # standard errors


@dataclass(frozen=True)
class Sensor:
    """Quality of a channel; shares are of its samples."""

    name: str
    sigma: float
    spread: float
    step: float  # quantisation step, NaN: none found
    stuck: float
    stuck_at: tuple[float, float] | None  # seconds from and to, of the longest
    clipped: float
    revolution: float  # the jump by which it seems to wrap
    held: float = 1.0  # rows of the log for which it keeps a value


@dataclass(frozen=True)
class Innovations:
    """Largest correlations of the one-step innovations, and the 99 % bound of white noise."""

    auto: tuple[float, str]  # with themselves beyond lag 0, and the channel
    cross: tuple[float, str, str]  # with an input at any lag, the channel, and the input
    bound: float


@dataclass(frozen=True)
class Lag:
    """The lag of a measured rate behind the derivative of its position (negative: ahead), and their ratio."""

    state: str
    rate: str
    seconds: float
    error: float
    factor: float
    factor_error: float


@dataclass(frozen=True)
class Evidence:
    """All evidence for a verdict; each part may be empty if the record is too short for it."""

    states: tuple[str, ...]
    inputs: tuple[str, ...]
    held_out: str = ""  # name of the judged record, if it is not the fitted one
    samples: int = 0
    seconds: float = 0.0
    period: float = 0.0
    cycles: float = 0.0  # length of the record in characteristic periods
    windows: int = 0
    passed: float = 1.0  # share of windows, from the counters of the fit
    passed_time: float = 1.0  # share of the record that they cover: rejected windows are short
    shortest: bool = False  # the shortest windows were needed
    unexplained: Mapping[str, Unexplained] = field(default_factory=dict)
    runs: RunErrors | None = None
    continuation: Continuation | None = None  # of a short record
    held_back: Mapping[str, float] = field(default_factory=dict)  # mean free-run error of candidates; "" for the best
    held_back_count: int = 0  # free runs
    innovations: Innovations | None = None
    input_shifts: Mapping[str, int] = field(default_factory=dict)  # samples by which inputs are logged late
    delays: Sequence[Delay] = ()
    drivers: Sequence[Driver] = ()
    corrections: Sequence[Correction] = ()
    addends: Sequence[Addend] = ()
    nets: Sequence[Net] = ()
    effects: Sequence[InputEffect] = ()
    values: Mapping[tuple[str, str], str] = field(default_factory=dict)  # state and term: parameter that explains it
    other_values: Sequence[OtherValue] = ()
    apart: float = 0.0  # number of non-overlapping windows in the record
    parameters: Sequence[Mapping[str, Any]] = ()
    replaced: Mapping[str, Sequence[str]] = field(default_factory=dict)  # learned parameters, by learned terms
    deficient: int = 0
    tied: Sequence[str] = ()  # collinear signals
    following: Sequence[str] = ()  # inputs that a controller computes from the states
    constant: Mapping[str, float] = field(default_factory=dict)
    sensors: Sequence[Sensor] = ()
    lags: Sequence[Lag] = ()
    outside: Mapping[str, float] = field(default_factory=dict)  # share of the time each signal leaves the range
    outside_total: float = 0.0
    network: Mapping[str, float] = field(default_factory=dict)
    faults: Mapping[str, int] = field(default_factory=dict)
    changed_at: Sequence[float] = ()
    dynamics_changes: Sequence[DynamicsChange] = ()
    rolled_back: int = 0
    uneven_noise: float = 1.0
    sizes: Mapping[str, tuple[float, float]] = field(default_factory=dict)  # RMS of known rate and of rate

    @property
    def where(self) -> str:
        """The judged record, in words."""
        return f"the unseen {self.held_out}" if self.held_out else "the record"
