"""Presets for the memory of microcontrollers, for a live stream that cannot be replayed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.kinematics import (
    measured_map,
    perceptron_columns,
    rate_channels,
    residual_states,
    wrapped_channels,
)
from tinyude.reference.config import Config
from tinyude.training.presets import make_config

_SIZES: dict[str, dict[str, Any]] = {
    # a small reservoir needs the lower rate, with or without a library
    "default": {
        "stride": 10, "max_half": 250, "calibration": 10_000, "reservoir": 2048, "holdout": 128, "rate": Config.rate,
    },
    "paper-v2": {"reservoir": 2048},
    "paper-v1": {},
}  # fmt: skip
# Where arena, stack and all else must fit: found on the single pendulum, which both hold with a library of its states.
SMALL: dict[str, dict[str, Any]] = {
    "32k": {
        "hidden": (12, 12),
        "reservoir": 2048,
        "holdout": 128,
        "max_half": 160,
        "network_nodes": 1,
        "compact": True,
    },
    "16k": {"hidden": (12,), "reservoir": 512, "holdout": 64, "max_half": 128, "network_nodes": 1, "compact": True},
}
SMALL_STACK_BYTES = 2048


def board_config(
    physics: Physics,
    preset: str = "default",
    *,
    samples: int = 60_000,
    period: float = 1e-3,
    terms: Sequence[sp.Expr] = (),
    measured: Sequence[str] | None = None,
    on: Sequence[str] | None = None,
    sees: Sequence[str] | None = None,
    size: str | None = None,
    seed: int = 0,
    **overrides: Any,
) -> Config:
    """The configuration of a preset for a board and this many samples, or of one of the SMALL sizes.

    Overrides are fields of Config.
    """
    if size is not None and size not in SMALL:
        raise TinyUDEError(f"size is {size!r}; use one of {', '.join(SMALL)}, or none and single fields.")
    overrides = (SMALL[size] if size else {}) | overrides
    hidden = overrides.pop("hidden", (16, 16))
    names, channel, order = measured_map(physics, measured)
    acts = residual_states(physics, on, preset)
    return make_config(
        preset, samples, period, {**_SIZES[preset], **overrides},
        channels=len(names), channel=channel, order=order, rate_channel=rate_channels(physics, measured, acts),
        wrap=wrapped_channels(physics, measured),
        inputs=physics.n_inputs, on=acts, sees=perceptron_columns(physics, sees, preset), hidden=hidden,
        parameters=len(physics.learned), library_terms=len(terms), forced=len(physics.learned), seed=seed,
    )  # fmt: skip
