"""The presets: the paper's two with exactly its constants, and the default."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tinyude.errors import TinyUDEError
from tinyude.reference.config import Config, config_error

TRAINING_RATE = 25.0  # updates per second while streaming
WINDOWS_WANTED = 4000  # windows overlap less where a record is long enough to give this many
_GROUPS = 16
CHIP_HOLDOUT = 128  # windows held out on a chip to judge its network
_PAST = 1024  # windows kept without a network, to distinguish a change from a new region

_PAPER: dict[str, Any] = {
    "dense": False, "repair": False, "physics_nodes": 1, "network_nodes": 1, "second_order": 0.1, "follow": False,
    "rate_channel": (), "wrap": (), "last_layer": False,
}  # fmt: skip
_RATE_ALONE = 0.04  # learning rate of a network without a library: there is more to learn
PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    "paper-v2": _PAPER,
    # the ablation's first row: decimated windows, the newest 32 as a minibatch, plain descent, second order always on
    "paper-v1": {
        **_PAPER, "adaptive": False, "snr_gate": 0.0, "reservoir": 32, "rolling": True, "batch": 32,
        "updates": 1500, "adam": False, "rate": 0.5, "decay": 0.0,
    },
}  # fmt: skip


def make_config(
    preset: str, samples: int, period: float, overrides: Mapping[str, Any], compared: bool = False, **system: Any
) -> Config:
    """A configuration for a record of this many samples (or a live stream of this expected length).

    compared: whether held-out windows choose between two networks.
    """
    if clash := system.keys() & overrides.keys():
        raise TinyUDEError(
            f"settings names {', '.join(sorted(clash))}, which follow from other settings; leave them out."
        )
    for name, value in overrides.items():
        if value is not None and (error := config_error(name, value)):
            raise TinyUDEError(error)
    settings = PRESETS[preset] | (
        _default_sizes(samples)
        if preset == "default"
        else _paper_sizes(preset, samples, period, len(system["channel"]))
    )
    if not system.get("hidden", Config.hidden):
        settings |= {"network_nodes": 1, "holdout": 0, "reservoir": _PAST}
    if preset == "default" and not (system.get("parameters") or system.get("library_terms")):
        settings["rate"] = _RATE_ALONE
    columns = system.get("parameters", 0) + system.get("library_terms", 0) * len(system["on"])
    if preset == "default" and system.get("forced", 0) >= columns and not compared:
        settings["holdout"] = 0  # the network alone, perhaps with a linear part: there is no choice to make
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
    """The same learner sized for a microcontroller: centre form, two thousand entries, `terms` library terms."""
    judged = config.dense
    return replace(
        config, network_nodes=1, reservoir=min(config.reservoir, 2048),
        holdout=min(config.holdout or (CHIP_HOLDOUT if judged and config.hidden else 0), CHIP_HOLDOUT), judged=judged,
        max_half=min(config.max_half, 256), groups=min(config.groups, 8),
        library_terms=min(terms, config.library_terms), forced=min(config.forced, config.parameters),
    )  # fmt: skip


def longest_half(samples: int) -> int:
    """Half width of the longest window tried in a record of this many samples."""
    return min(512, max(16, samples // 16))


def _default_sizes(samples: int) -> dict[str, Any]:
    """Sizes for a host: all windows in the reservoir, long windows, calibration on the whole record."""
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
    """The paper's times at 1 kHz, in samples; four states mean the double pendulum, with a finer start."""

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
