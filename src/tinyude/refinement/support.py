"""Whether a record supports what a candidate learned, tested before the comparison by free runs.

If no model explains the rows, something unknown acts: a hand that moves the machine, a missing state.
Values that compensate for it in one record may simulate better there, even over held-back parts, and nowhere else. In
one-step prediction under each model's own process noise, such a disturbance is noise, and only effects present at
every step count: there a learned model must not be less likely than the known physics. And if the windows'
model explains the rates up to noise, but does not run freely for long, the motion is too sensitive for free runs to
tell models apart: they may prefer a formula that leaves much more of the rates.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from tinyude.model.candidate import Candidate
from tinyude.model.evidence import NEAR_NOISE
from tinyude.model.model import Model
from tinyude.refinement.estimate import Estimate, Setup, likeliest, one_step
from tinyude.refinement.stretches import Batch

Rates = Callable[[Model], float]
SENSITIVE = 0.05  # free-run error of a model that explains the rates, above which small errors grow


def at_bound(candidate: Candidate) -> Candidate:
    """The candidate, with a note if a learned parameter stopped at a bound: such a value is not an estimate."""
    at = candidate.model.physics.at_bounds()
    return replace(candidate, note=f"{', '.join(at)} stopped at a bound") if at else candidate


def contradicted(setup: Setup, found: Estimate, batch: Batch, alone: float) -> bool:
    """Whether a model predicts these rows one step ahead worse than the known physics, whose log-likelihood is `alone`.

    First under its own noise, and only if that does not decide under the most likely one.
    """
    return one_step(setup, found, batch) < alone and likeliest(setup, found, batch) < alone


def with_notes(
    setup: Setup, candidates: Sequence[Candidate], found: Mapping[str, Estimate], batch: Batch,
    rates: Rates | None = None,
) -> list[Candidate]:  # fmt: skip
    """The candidates, with a note where these rows contradict one.

    found: name to estimate. rates: a model's remainder of the rates estimated by the windows, in units of noise.
    """
    alone = likeliest(setup, found["known"], batch)
    least = np.inf
    if rates is not None:
        unsure = [c for c in candidates if c.name == "windows" and not c.error < SENSITIVE]
        least = min((rates(c.model) for c in unsure), default=np.inf)

    def noted(candidate: Candidate) -> Candidate:
        if candidate.name == "known":
            return candidate
        candidate = at_bound(candidate)
        if candidate.note:
            return candidate
        if contradicted(setup, found[candidate.name], batch, alone):
            return replace(candidate, note="one step ahead less likely than the known physics alone")
        if rates and least < NEAR_NOISE and (left := rates(candidate.model)) > NEAR_NOISE * max(least, 1.0):
            return replace(candidate, note=f"leaves {left:.2g} times the noise of the rates, the windows' {least:.2g}")
        return candidate

    return [noted(candidate) for candidate in candidates]
