"""What a chip is given: a fitted model, or physics alone, at sizes that a microcontroller holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.export.boards.memory_presets import board_config
from tinyude.model.kernel import KernelNetwork
from tinyude.model.kernel_parts import kernel_parts
from tinyude.model.result import learner_part
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map, wrapped_channels
from tinyude.physics.library import default_terms, following_terms, given_terms
from tinyude.reference.config import Config
from tinyude.reference.start import StartModel
from tinyude.training.known import KnownPrograms, Ranges, known_programs
from tinyude.training.presets import PRESETS, chip_config
from tinyude.training.resume import start_model, with_terms
from tinyude.training.session import gains_of, with_gains

if TYPE_CHECKING:
    from tinyude.estimator.ude import UDE

STRIDE = 10  # most ticks between the windows of a live stream, which never runs out of them,
WINDOW_SECONDS = 0.01  # where it is not slower,
BLOCK = 100  # and windows in a block, however long the fitted record was: eight blocks detect a change
PAST = 256  # windows kept without a network, in int16: they distinguish a change from a new region
WITHIN_A_REVOLUTION = (
    2.0  # rad; the RMS of an angle beyond which a fit that did not wrap it saw other revolutions than the middle one
)
CALIBRATION = 10_000  # ticks
MOST_ENTRIES = 1_000_000  # windows that the core takes (MAX_ENTRIES in core/src/config.c)


@dataclass(frozen=True)
class Chip:
    """A learner as configured for its board."""

    physics: Physics  # with learned parameters at their fitted value
    measured: tuple[str, ...]
    terms: tuple[sp.Expr, ...]
    config: Config
    start: StartModel | None = None  # None: it starts from nothing
    kernel: KernelNetwork | None = None  # of the fitted model: stays as it is, and counts as known,
    visited: Ranges | None = None  # in the ranges of its record

    @property
    def parameters(self) -> dict[str, float]:
        """Its learned parameters, with the values that are compiled into the known part."""
        learned = {name: self.physics.parameters[name].value for name in self.physics.learned}
        if self.kernel is None:
            return learned
        states, names = self.physics.states, (*self.physics.states, *self.physics.inputs)
        learned |= {f"gain of the network of {states[state]}": 1.0 for state in self.kernel.on}
        for part in kernel_parts(self.kernel):  # in addition to the gain of the whole
            learned[f"its part of {names[part.depends_on(0)[0]]} in {states[part.on[0]]}"] = 0.0
        return learned

    @property
    def programs(self) -> KnownPrograms:
        frozen = () if self.kernel is None else (self.kernel,)
        return known_programs(self.physics, self.terms, self.config.on, frozen, self.visited)

    def resized(self, reservoir: int | None = None, compact: bool = False) -> Chip:
        """With so many reservoir entries, and with entries in int16 if `compact`."""
        if reservoir is not None and not 1 <= reservoir <= MOST_ENTRIES:
            raise TinyUDEError(f"reservoir is {reservoir}; give 1 to {MOST_ENTRIES:,} windows.")
        config = replace(self.config, reservoir=self.config.reservoir if reservoir is None else reservoir)
        return replace(self, config=replace(config, compact=config.compact or compact))

    def reduced(
        self, reservoir: int | None = None, compact: bool = False, kept_terms: bool = False, no_network: bool = False
    ) -> Chip:
        """Smaller in the requested ways."""
        chip = self.with_kept_terms() if kept_terms else self
        chip = chip.without_network() if no_network else chip
        return chip.resized(reservoir, compact)

    def forgetting(self, seconds: float | None) -> Chip:
        """With library sums in which what is so many seconds old counts 1 / e: follows a slow drift. None: as it is.

        The newest windows are stored, not a sample of all: a network would learn what has drifted away since.
        """
        if seconds is None:
            return self
        config = self.config
        if not np.isfinite(seconds):
            raise TinyUDEError(f"forget is {seconds}; give seconds, or leave it out to forget nothing.")
        windows = round(seconds / (config.sample_period * config.stride))
        least = config.block * config.groups
        if windows < least:
            raise TinyUDEError(
                f"forget is {seconds:g} s, {windows} windows; the errors need {least}: "
                f"give at least {least * config.sample_period * config.stride:.3g} s."
            )
        return replace(self, config=replace(config, forget=windows, rolling=True, frozen_network=False))

    def with_kept_terms(self) -> Chip:
        """Offered only the terms that the fit kept for some state."""
        if self.start is None:
            raise TinyUDEError("Only a fitted model knows which terms it kept; give a model with its weights.")
        parameters, on = self.config.parameters, len(self.config.on)
        shape = (on, len(self.terms))
        kept = np.flatnonzero(self.start.coefficients[parameters:].reshape(shape).any(axis=0))
        columns = [*range(parameters), *(parameters + i * len(self.terms) + k for i in range(on) for k in kept)]
        config = replace(self.config, library_terms=len(kept), forced=min(self.config.forced, parameters))
        start = replace(
            self.start, coefficients=self.start.coefficients[columns], errors=self.start.errors[columns]
        )  # fmt: skip
        return replace(self, terms=tuple(self.terms[k] for k in kept), config=config, start=start)

    def without_network(self) -> Chip:
        """Library terms only: no network to train, and a small reservoir for change detection."""
        if not (self.config.library_terms or self.config.parameters):
            raise TinyUDEError(
                "There are neither library terms nor learned parameters; without a network nothing would be learned."
            )
        config = replace(self.config, hidden=(), holdout=0, reservoir=min(self.config.reservoir, PAST), compact=True)
        start = self.start and replace(self.start, weights=np.zeros(0), network_on=np.zeros(len(config.on)))
        return replace(self, config=config, start=start)


def chip_of_model(ude: UDE, weights: bool = True) -> Chip:
    """A fitted UDE for a live stream: the same terms on offer, the same network; without `weights` from nothing."""
    fitted = learner_part(ude.result_.config)
    offered = _following(ude) if weights else []
    result = with_terms(ude.result_, offered) if offered else ude.result_
    model = result.model
    kernel = model.kernel if weights else None
    config = replace(
        chip_config(fitted, len(model.terms)),
        library_terms=len(model.terms),
        forced=fitted.forced,
        stride=_live_stride(fitted.sample_period) if fitted.dense else fitted.stride,
        block=BLOCK if fitted.dense else fitted.block,
        calibration=min(fitted.calibration, CALIBRATION),
        frozen_network=kernel is not None,
    )
    config = with_gains(config, gains_of(kernel))
    start = start_model(result) if weights else None
    if start is not None:  # nothing is left to calibrate: the ring holds the window that was found
        reach = start.window_half * start.window_spacing
        config = replace(config, max_half=reach, spacing=start.window_spacing, second_order=0.0)
    if config.dense:
        config = replace(config, wrap=_wrapped(model.physics, ude, config, start))
    measured = measured_map(model.physics, ude.measured).names
    visited = None if kernel is None else result.diagnostics.get("visited")
    return Chip(model.physics.spelled_out, measured, model.terms, config, start, kernel, visited)


def _following(ude: UDE) -> list[sp.Expr]:
    """Terms offered in addition to a kernel network, which does not learn: the user's own, or the usual ones."""
    model, library = ude.model_, ude.library
    if model.kernel is None or model.terms or model.physics.learned:
        return []
    if library is not None and not isinstance(library, str):
        return given_terms(model.physics, list(library))
    return following_terms(model.physics, dict(zip(model.physics.states, model.x_scale.tolist(), strict=True)))


def _live_stride(period: float) -> int:
    return max(1, min(STRIDE, round(WINDOW_SECONDS / period)))


def _wrapped(physics: Physics, ude: UDE, config: Config, start: StartModel | None) -> tuple[int, ...]:
    """For each channel 1 where its angle is wrapped: a live one may rotate, whether or not the record did."""
    wrap = list(wrapped_channels(physics, ude.measured))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        unwrapped = order == 0 and not any(config.wrap[channel : channel + 1])
        if start is not None and unwrapped and start.x_scale[state] > WITHIN_A_REVOLUTION:
            wrap[channel] = 0
    return tuple(wrap)


def chip_of_physics(
    physics: Physics,
    preset: str = "default",
    period: float = 1e-3,
    measured: Sequence[str] | None = None,
    on: Sequence[str] | None = None,
    sees: Sequence[str] | None = None,
) -> Chip:
    """What a chip would be given for this physics before there is any data."""
    if preset not in PRESETS:
        raise TinyUDEError(f"preset is {preset!r}; use one of {', '.join(PRESETS)}.")
    terms = tuple(default_terms(physics, {})) if preset == "default" else ()
    whole = board_config(physics, preset, period=period, terms=terms, measured=measured, on=on, sees=sees)
    names = measured_map(physics, measured).names
    return Chip(physics, names, terms, chip_config(whole, len(terms)))
