"""Presets at sizes that a microcontroller holds, for a live stream that nobody can play back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sympy as sp

from tinyude.physics import Physics
from tinyude.presets import make_config, measured_map, residual_states, seen_columns
from tinyude.reference.config import Config

_SIZES: dict[str, dict[str, Any]] = {
    "default": {"stride": 10, "max_half": 250, "calibration": 10_000, "reservoir": 2048, "holdout": 128},
    "paper-v2": {"reservoir": 2048},
    "paper-v1": {},
}


def board_config(
    physics: Physics,
    preset: str = "default",
    *,
    samples: int = 60_000,
    period: float = 1e-3,
    terms: Sequence[sp.Expr] = (),
    measured: Sequence[str] | None = None,
    hidden: tuple[int, ...] = (16, 16),
    seed: int = 0,
    **overrides: Any,
) -> Config:
    """The configuration of a preset for a board that sees so many samples; overrides are fields of Config."""
    names, channel, order = measured_map(physics, measured)
    return make_config(
        preset, samples, period, {**_SIZES[preset], **overrides},
        channels=len(names), channel=channel, order=order, inputs=physics.n_inputs,
        on=residual_states(physics, None, preset), sees=seen_columns(physics, None), hidden=hidden,
        parameters=len(physics.learned), library_terms=len(terms), forced=len(physics.learned), seed=seed,
    )  # fmt: skip
