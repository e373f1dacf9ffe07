"""Configuration of a learner; constant while it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Real
from typing import Any

from tinyude.reference.signal.ring import LIMIT

# Bounds of the settings that a user may override, as checked by the core.
BOUNDS: dict[str, tuple[float, float]] = {
    "taps": (1, 8192),
    "poly": (1, 6),
    "stride": (1, 10**9),
    "max_half": (5, 8192),
    "spacing": (1, 8192),
    "physics_nodes": (1, 9),
    "network_nodes": (1, 9),
    "calibration": (1, 10**9),
    "reservoir": (0, 10**6),
    "holdout": (0, 10**6),
    "batch": (1, 65_536),
    "updates": (1, 10**9),
    "train_every": (0, 10**9),
    "rate_floor": (0.0, 1.0),
    "decay": (0.0, 1.0),
    "groups": (6, 64),
    "block": (1, 10**6),
    "forget": (0, 10**9),
    "seed": (0, 2**64 - 1),
    **dict.fromkeys(("second_order", "snr_gate", "rate", "threshold"), (0.0, LIMIT)),
}


@dataclass(frozen=True)
class Config:
    """Sizes, sample period and settings. Core and reference read the same fields (`tu_config` in tinyude.h)."""

    # the system: state i is derivative number `order[i]` of sensor channel `channel[i]`
    channels: int
    channel: tuple[int, ...]
    order: tuple[int, ...]
    sample_period: float
    rate_channel: tuple[int, ...] = ()  # of each channel: 1 + the channel that senses its rate; 0: none
    wrap: tuple[int, ...] = ()  # of each channel: 1 for an angle in rad that is wrapped to [-pi, pi]
    inputs: int = 0
    linear: tuple[int, ...] = ()  # of each input: 1 where it is linear between samples; 0, or none: held until the next
    shift: tuple[int, ...] = ()  # of each input: rows by which its value is late (1) or early (-1)
    on: tuple[int, ...] = ()  # states whose equation the residual may change
    sees: tuple[int, ...] = ()  # the network's inputs: states first, then inputs
    hidden: tuple[int, ...] = (16, 16)
    parameters: int = 0  # physical parameters to learn: the first library columns
    library_terms: int = 0  # terms offered to each residual state
    forced: int = 0  # library columns, from the first, that are always kept

    # windows
    dense: bool = True  # fit every sample of the window (default) or 2 * taps + 1 spaced ones (paper)
    taps: int = 5
    poly: int = 4
    stride: int = 5  # ticks between windows
    max_half: int = 256  # longest half width in ticks: sizes the ring
    spacing: int = 20  # tap spacing (paper): initial, and fixed if not adaptive
    adaptive: bool = True  # let the calibration choose the time scale
    gated: bool = True
    repair: bool = True  # fill single dropouts, replace single outliers
    physics_nodes: int = 9
    network_nodes: int = 9
    calibration: int = 10_000  # ticks

    # learning
    second_order: float = 0.0  # lambda_2^0; 0: the term is not used
    snr_gate: float = 12.0  # second order only above this signal-to-noise ratio
    reservoir: int = 4096
    holdout: int = 0  # entries held out to test the network
    compact: bool = False  # entries in int16; the reference stores floats
    rolling: bool = False  # keep the newest entries instead of a uniform sample
    batch: int = 64
    updates: int = 8000
    train_every: int = 40  # ticks between updates while streaming; 0: only on request
    adam: bool = True  # False: plain gradient descent at a fixed rate
    rate: float = 0.02
    rate_floor: float = 0.02
    decay: float = 0.999  # of the averaged weights; 0: no averaging
    last_layer: bool = True  # solve the averaged network's last layer after training
    groups: int = 16  # of blocks of windows, for the jackknife
    block: int = 200  # windows in a block
    threshold: float = 4.5  # |coefficient| / jackknife error for a term to be kept
    follow: bool = True  # discard the data and start over when the dynamics change
    recalibrate: bool = True  # estimate noise and window again when most windows are rejected for some time
    judged: bool = False  # test the model while streaming: keep its last good state, and the network off until useful
    frozen_network: bool = False  # the known part contains a learned network, which is not trained; not with forget
    forget: int = 0  # windows after which the weight of older ones in the library falls to 1 / e; 0: equal weights
    seed: int = 0

    states: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", len(self.channel))

    @property
    def sizes(self) -> tuple[int, ...]:
        """Layer sizes of the network, input first."""
        return (len(self.sees), *self.hidden, len(self.on))

    @property
    def angles(self) -> tuple[int, ...]:
        """States that are wrapped angles."""
        pairs = enumerate(zip(self.channel, self.order, strict=True))
        return tuple(i for i, (c, order) in pairs if order == 0 and any(self.wrap[c : c + 1]))

    @property
    def columns(self) -> int:
        """Library columns: parameters, then the terms of each residual state."""
        return self.parameters + self.library_terms * len(self.on)

    @property
    def span(self) -> int:
        """Samples the ring must hold: the longest window."""
        return 2 * self.max_half + 1

    @property
    def watched(self) -> bool:
        """Whether the network is tested on held-out windows while streaming."""
        return self.judged and bool(self.hidden) and self.holdout > 0

    @property
    def keeps_good(self) -> bool:
        """Whether the last good model is kept while streaming: not with a network with several nodes per window."""
        return self.judged and (not self.hidden or self.network_nodes == 1)

    @property
    def answers(self) -> int:
        """Columns of the network's outputs in change detection."""
        return len(self.on) if self.hidden else 0

    @property
    def width(self) -> int:
        """Columns of a reservoir entry: node states and inputs, targets, second derivatives (paper)."""
        nodes = self.network_nodes * (self.states + self.inputs)
        return nodes + len(self.on) + (self.states if self.second_order else 0)


def config_error(name: str, value: Any) -> str:
    """Error message for a setting outside its bounds, with the valid range; "" if it is valid."""
    if name not in BOUNDS:
        return ""
    low, high = BOUNDS[name]
    whole = isinstance(low, int)
    number: Any = value if isinstance(value, Real) else float("nan")
    if low <= number <= high and (not whole or number == int(number)):
        return ""
    return f"{name} is {value!r}; give a {'whole ' if whole else ''}number from {low:g} to {high:g}."
