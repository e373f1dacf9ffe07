"""Held-back free runs: which of several models predicts motions that its numbers were not fitted to.

A held-back stretch begins with a warm-up, over which the filter finds the state; the rest is simulated freely. Numbers
for a fold are those of the whole fit, moved by one Gauss-Newton step over the sums of the other folds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.estimate import Estimate, Setup
from tinyude.refinement.filter import Noise
from tinyude.refinement.gating import pieces
from tinyude.refinement.gauss_newton import damped_solve
from tinyude.refinement.starts import with_starts
from tinyude.refinement.stretches import Batch, Stretch, batch_of
from tinyude.refinement.unknowns import Unknowns

Array = NDArray[Any]
FOLDS = 5
SEGMENTS = 8  # held-back stretches wanted of one record: fewer are longer, and tell models apart better
SHORTEST = 40  # rows of one
WARM_UP = 0.3  # share of a stretch
ENOUGH = 5  # held-back stretches, below which they do not choose


@dataclass(frozen=True)
class HeldBack:
    """Stretches to be predicted and the fold of each."""

    stretches: tuple[Stretch, ...]
    fold: Array
    spread: Array  # (channels,) standard deviation over the record

    @property
    def enough(self) -> bool:
        return len(self.stretches) >= ENOUGH


def held_back(batch: Batch) -> HeldBack:
    """The stretches of a batch in pieces of like length, in folds of neighbours; whole runs where there are several."""
    longest = max(SHORTEST, batch.rows // SEGMENTS)
    parts = [part for part in pieces(batch.stretches, longest) if len(part) >= SHORTEST]
    runs = np.array([part.run for part in parts], dtype=int)
    if len(np.unique(runs)) >= FOLDS:
        fold = np.searchsorted(np.unique(runs), runs) % FOLDS
    else:
        fold = np.arange(len(parts)) * FOLDS // max(len(parts), 1)
    return HeldBack(tuple(parts), fold, np.nanstd(batch.samples, axis=0))


def free_run_errors(setup: Setup, found: Estimate, parts: HeldBack) -> Array:
    """The error of each held-back stretch: mean over channels of min(RMS error / standard deviation, 1)."""
    stretches = with_starts(parts.stretches, setup.sensing)
    values = _without_each_fold(setup, found, stretches, parts.fold)
    noise = _warm_up_noise(setup, found)
    errors = np.ones(len(stretches))
    for fold in np.unique(parts.fold):
        own = np.flatnonzero(parts.fold == fold)
        warm = [max(2, round(WARM_UP * len(stretches[k]))) for k in own]
        batch = batch_of([_blinded(stretches[k], rows) for k, rows in zip(own, warm, strict=True)])
        passed = setup.make(found.field, batch, setup.plan).run(values[int(fold)], noise, 0.0, False)
        for place, (k, rows) in enumerate(zip(own, warm, strict=True)):
            if np.isfinite(passed.squares[place]).all():
                states = passed.states[batch.rows_of(place)][rows:, list(setup.plan.measured)]
                errors[k] = run_error(states, stretches[k].samples[rows:], parts.spread)
    return errors


def run_error(states: Array, samples: Array, spread: Array) -> float:
    """Mean over channels of min(RMS error / spread, 1)."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = ((states - samples) / np.where(spread > 0.0, spread, 1.0)) ** 2
    known = np.isfinite(samples).sum(axis=0)
    total = np.where(np.isfinite(samples), square, 0.0).sum(axis=0)
    rms = np.sqrt(total[known > 0] / known[known > 0])
    return float(np.mean(np.minimum(np.nan_to_num(rms, nan=1.0, posinf=1.0), 1.0))) if len(rms) else 1.0


def _without_each_fold(setup: Setup, found: Estimate, stretches: Sequence[Stretch], fold: Array) -> dict[int, Array]:
    """The unknowns as they would be without each fold's stretches."""
    unknowns = found.unknowns
    folds = [int(f) for f in np.unique(fold)]
    if not len(unknowns):
        return dict.fromkeys(folds, unknowns.values)
    passed = setup.make(found.field, batch_of(stretches), setup.plan).run(unknowns.values, found.noise, found.gate)
    if not np.isfinite(passed.cost):
        return dict.fromkeys(folds, unknowns.values)
    return {
        f: _leave_out(
            unknowns, passed.information[fold == f].sum(axis=0), passed.gradient[fold == f].sum(axis=0), found
        )
        for f in folds
    }


def _leave_out(unknowns: Unknowns, information: Array, gradient: Array, found: Estimate) -> Array:
    """One step over the whole sums less those left out; at the solution the whole gradient is 0."""
    whole = found.solution.information
    matrix, _ = unknowns.system(whole - information, gradient)
    step = damped_solve(matrix, -gradient * unknowns.scale, 1e-6)
    return unknowns.moved(step).values


def _warm_up_noise(setup: Setup, found: Estimate) -> Noise:
    """A little process noise at least, so that the last rows of the warm-up count most."""
    return Noise(found.noise.measurement, np.maximum(found.noise.process, 1e-4 * setup.rate**2))


def _blinded(stretch: Stretch, rows: int) -> Stretch:
    """Without the samples after the warm-up: the filter then simulates freely."""
    samples = stretch.samples.copy()
    samples[rows:] = np.nan
    return replace(stretch, samples=samples)
