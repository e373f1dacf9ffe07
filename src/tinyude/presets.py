"""What the presets mean: the paper's two, constant for constant, and the default that goes beyond them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.reference.config import Config

TRAINING_RATE = 25.0  # updates a second while streaming
WINDOWS_WANTED = 4000  # windows overlap less where a record is long enough to give this many
_GROUPS = 16
_PAST = 1024  # windows kept without a network, to tell a change from a region that is new

_PAPER: dict[str, Any] = {
    "dense": False, "repair": False, "physics_nodes": 1, "network_nodes": 1, "second_order": 0.1, "follow": False,
    "rate_channel": (), "circular": (), "settle": False,
}  # fmt: skip
_RATE_ALONE = 0.04  # of a network without a library: there is more to learn
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper-v2": _PAPER,
    # the ablation's first row: decimated windows, the newest 32 as a minibatch, plain descent, second order always on
    "paper-v1": {
        **_PAPER, "adaptive": False, "snr_gate": 0.0, "reservoir": 32, "rolling": True, "batch": 32,
        "updates": 1500, "adam": False, "rate": 0.5, "decay": 0.0,
    },
}  # fmt: skip


def measured_map(
    physics: Physics, measured: Sequence[str] | None
) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """The channels' names, and for each state the channel it comes from and how often that is differentiated."""
    names = tuple(physics.states) if measured is None else tuple(str(name) for name in measured)
    for name in names:
        if name not in physics.states:
            raise TinyUDEError(
                f"measured names {name}, which is not a state; the states are {', '.join(physics.states)}."
            )
    if len(set(names)) != len(names) or not names:
        raise TinyUDEError(f"measured is {list(names)}; name each sensed state once.")
    source: dict[str, tuple[int, int]] = {name: (channel, 0) for channel, name in enumerate(names)}
    for _ in physics.states:  # a chain may be several links long
        for state, rate in zip(physics.states, physics.kinematic, strict=True):
            if rate is not None and state in source and physics.states[rate] not in source:
                channel, order = source[state]
                source[physics.states[rate]] = (channel, order + 1)
    for name in physics.states:
        if name not in source:
            raise TinyUDEError(
                f"The state {name} is neither measured nor the derivative of a measured state; "
                "add it to measured=[...], or write the equation of its integral as a plain derivative."
            )
    return names, tuple(source[s][0] for s in physics.states), tuple(source[s][1] for s in physics.states)


def rate_channels(physics: Physics, measured: Sequence[str] | None, on: Sequence[int]) -> tuple[int, ...]:
    """For each channel 1 + the channel that senses its rate, where the known rate is all there is to it; else 0."""
    names, _, _ = measured_map(physics, measured)
    senses = {name: 1 + channel for channel, name in enumerate(names)}
    rates = dict(zip(physics.states, physics.kinematic, strict=True))

    def rate(name: str) -> int:
        state = rates[name]
        if state is None or physics.states.index(name) in on:
            return 0
        return senses.get(physics.states[state], 0)

    return tuple(rate(name) for name in names)


def circular_channels(
    physics: Physics, measured: Sequence[str] | None, turning: Sequence[str] | None = None
) -> tuple[int, ...]:
    """For each channel 1 where it senses an angle that may be taken on any turn.

    turning: channels that were seen to go round; None: any angle may.
    """
    names, _, _ = measured_map(physics, measured)
    angles = set(physics.angles) if turning is None else set(physics.angles) & set(turning)
    return tuple(int(name in angles) for name in names)


def residual_states(physics: Physics, on: Sequence[str] | None, preset: str) -> tuple[int, ...]:
    """Where the residual acts: as told, else every state that is not a pure derivative (paper: every state)."""
    if on is not None:
        for name in on:
            if name not in physics.states:
                raise TinyUDEError(
                    f"on names {name}, which is not a state; the states are {', '.join(physics.states)}."
                )
        return tuple(physics.states.index(name) for name in on)
    if preset != "default":
        return tuple(range(physics.n_states))
    free = tuple(i for i, rate in enumerate(physics.kinematic) if rate is None)
    return free or tuple(range(physics.n_states))


def seen_columns(physics: Physics, sees: Sequence[str] | None) -> tuple[int, ...]:
    """What the network sees: as told, else every state and input."""
    names = (*physics.states, *physics.inputs)
    if sees is None:
        return tuple(range(len(names)))
    for name in sees:
        if name not in names:
            raise TinyUDEError(
                f"sees names {name}, which is neither a state nor an input; these are {', '.join(names)}."
            )
    return tuple(names.index(name) for name in sees)


def make_config(preset: str, samples: int, period: float, overrides: Mapping[str, Any], **system: Any) -> Config:
    """A configuration for a record of so many samples (or a live stream, told by its expected length)."""
    if clash := system.keys() & overrides.keys():
        raise TinyUDEError(f"settings names {', '.join(sorted(clash))}, which follow from the rest; leave them out.")
    settings = PRESETS[preset] | (
        _default_sizes(samples)
        if preset == "default"
        else _paper_sizes(preset, samples, period, len(system["channel"]))
    )
    if not system.get("hidden", Config.hidden):
        settings |= {"network_nodes": 1, "holdout": 0, "reservoir": _PAST}
    if preset == "default" and not (system.get("parameters") or system.get("library_terms")):
        settings["rate"] = _RATE_ALONE
        if not overrides.get("around"):  # nothing to judge it against
            settings["holdout"] = 0
    settings |= {key: value for key, value in overrides.items() if value is not None}
    updates = settings.get("updates", Config.updates)
    every = max(round(1.0 / (TRAINING_RATE * period)), -(-samples // updates), 1)
    config = Config(**{**system, "sample_period": period, "train_every": every, **settings})
    if not config.dense and config.taps * config.spacing > config.max_half:
        raise TinyUDEError(
            f"{config.taps} taps {config.spacing} samples apart reach beyond max_half = {config.max_half}; "
            "raise max_half or lower spacing."
        )
    return config


def chip_config(config: Config, terms: int) -> Config:
    """The same learner sized for a microcontroller: centre form, two thousand entries, only so many library terms."""
    return replace(
        config, network_nodes=1, reservoir=min(config.reservoir, 2048), holdout=min(config.holdout, 128),
        max_half=min(config.max_half, 256), groups=min(config.groups, 8),
        library_terms=min(terms, config.library_terms), forced=min(config.forced, config.parameters), around=False,
    )  # fmt: skip


def longest_half(samples: int) -> int:
    """Half width of the longest window tried in a record of so many samples."""
    return min(512, max(16, samples // 16))


def _default_sizes(samples: int) -> dict[str, Any]:
    """Everything a host can hold: all windows in the reservoir, long windows, the whole record to calibrate on."""
    stride = min(5, max(1, samples // WINDOWS_WANTED))
    windows = samples // stride
    return {
        "stride": stride,
        "max_half": longest_half(samples),
        "calibration": min(samples - 8, 30_000),
        "reservoir": min(windows + 1, 20_000),
        "holdout": max(64, min(windows, 20_000) // 8),
        "groups": _GROUPS,
        "block": min(200, max(20, windows // (3 * _GROUPS))),
    }


def _paper_sizes(preset: str, samples: int, period: float, states: int) -> dict[str, Any]:
    """The paper's times at 1 kHz, in samples; four states are the double pendulum, with a finer start."""

    def ticks(seconds: float) -> int:
        return max(1, round(seconds / period))

    double = states > 2
    sizes: dict[str, Any] = {
        "calibration": min(ticks(5.0 if double else 10.0), samples // 2),
        "max_half": max(ticks(0.25), 5),
    }
    if preset == "paper-v1":
        return sizes | {"spacing": ticks(0.04), "stride": ticks(0.04)}
    return sizes | {
        "spacing": ticks(0.01 if double else 0.02),
        "stride": ticks(0.005),
        "reservoir": 2048 if double else 4096,
    }
