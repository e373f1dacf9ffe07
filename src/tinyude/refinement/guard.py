"""Held-back free runs: which of several models predicts motions that it was not fitted to.

The record is cut into a few long blocks: model errors grow with the length of a free run, and short runs hardly
distinguish models. In each block the filter estimates the state over a short warm-up, then the model runs freely to
the end of the block; from several starts, with errors at several horizons. A refined model that did not converge is
first fitted to the blocks (`settled`); the influence of a block on the values is then removed. A network's weights have
their prior before any record there: the windows' weights were fitted to the block too, and a network reproduces it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.estimate import Estimate, Setup
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise
from tinyude.refinement.gating import pieces
from tinyude.refinement.gauss_newton import CONVERGED, EVERY, accepted_step, gauss_newton, step_within, system_of
from tinyude.refinement.starts import with_starts
from tinyude.refinement.stretches import Batch, Stretch, batch_of

Array = NDArray[Any]
FOLDS = 8  # at most
MOTIONS = 3  # runs, from which whole runs are left out: a model must predict new motions
BLOCKS = 3  # about, per record
SHORTEST = 40  # rows of a block
WARM_UP = 0.1  # share of a block
STARTS = (0.0, 0.5)  # shares of a block at which free runs begin
HORIZONS = (0.25, 0.5, 1.0)  # shares of a free run at which its error is computed
WITHIN = 1.0  # standard error in the mean square over the unknowns
UNDAMPED = 1e-6  # of the diagonal: damping keeps what a network learned from the fold
SETTLING = 6  # further steps of a fit before it is judged
ENOUGH = 5  # free runs, below which they are not used for the choice


@dataclass(frozen=True)
class FreeRun:
    """A part of a block: the filter uses its first rows, the model predicts the others."""

    stretch: Stretch
    warm_up: int
    block: int


@dataclass(frozen=True)
class HeldBack:
    """Blocks of a record with the fold of each, and the free runs in them.

    Attributes
    ----------
    blocks : tuple of Stretch
    fold : array (blocks,)
    runs : tuple of FreeRun
    spread : array (channels,)
        Standard deviation over the record.
    noise : Noise
        Of the warm-up, the same for every model: only the free runs differ.
    """

    blocks: tuple[Stretch, ...]
    fold: Array
    runs: tuple[FreeRun, ...]
    spread: Array
    noise: Noise

    @cached_property
    def batch(self) -> Batch:
        """The blocks, concatenated."""
        return batch_of(self.blocks)

    @property
    def enough(self) -> bool:
        return len(self.runs) >= ENOUGH


def held_back(setup: Setup, batch: Batch, noise: Noise) -> HeldBack:
    """The stretches of a batch in blocks of similar length, in folds of neighbours; whole runs if there are several.

    Parameters
    ----------
    noise : Noise
        The most likely noise; with at least a little process noise, so that the end of a warm-up counts most.
    """
    longest = max(SHORTEST, batch.rows // BLOCKS)
    parts = [part for stretch in batch.stretches for part in pieces([stretch], _block_rows(len(stretch), longest))]
    parts = with_starts([part for part in parts if len(part) >= SHORTEST], setup.measurement)
    runs = np.array([part.run for part in parts], dtype=int)
    if len(np.unique(runs)) >= MOTIONS:
        fold = np.searchsorted(np.unique(runs), runs) % FOLDS
    else:
        fold = np.arange(len(parts)) * FOLDS // max(len(parts), 1)
    free = [
        _free_run(batch, part, int(start * len(part)), block, bool(setup.measurement.sensors.guess))
        for block, part in enumerate(parts)
        for start in STARTS
    ]
    placed = with_starts([run.stretch for run in free], setup.measurement)
    free = [replace(run, stretch=stretch) for run, stretch in zip(free, placed, strict=True)]
    warm = Noise(noise.measurement, np.maximum(noise.process, 1e-4 * setup.rate**2))
    return HeldBack(tuple(parts), fold, tuple(free), np.nanstd(batch.samples, axis=0), warm)


def _free_run(batch: Batch, part: Stretch, start: int, block: int, from_beginning: bool) -> FreeRun:
    """From a row of a block to its end; with an unmeasured state, all rows before it are the warm-up."""
    warm_up = max(2, round(WARM_UP * len(part)))
    if not from_beginning:
        return FreeRun(part.cut(start, len(part)), warm_up, block)
    whole = next(s for s in batch.stretches if s.run == part.run and s.times[0] <= part.times[0] <= s.times[-1])
    before = int(np.searchsorted(whole.times, part.times[0]))
    return FreeRun(whole.cut(0, before + len(part)), before + start + warm_up, block)


def _block_rows(rows: int, longest: int) -> int:
    """Rows of a block of a stretch: about `longest`, unless blocks would then be too short."""
    count = max(1, min(round(rows / longest), rows // SHORTEST))
    return -(-rows // count)


def settled(setup: Setup, found: Estimate, parts: HeldBack, spent: Callable[[], bool]) -> Estimate:
    """The estimate, or if it stopped before it converged, further steps over the blocks: what is kept is judged."""
    if found.solution.converged:
        return found
    filter_ = setup.make(found.field, parts.batch, setup.plan)
    solution = gauss_newton(filter_, found.unknowns, found.noise, found.gate, SETTLING, spent)
    return replace(found, batch=parts.batch, solution=solution) if np.isfinite(solution.passed.cost) else found


def free_run_errors(setup: Setup, found: Estimate, parts: HeldBack) -> Array:
    """The error of each free run: mean over channels and horizons of min(RMS error / standard deviation, 1)."""
    values = _without_each_fold(setup, found, parts)
    errors = np.zeros(len(parts.runs))
    for fold in np.unique(parts.fold):
        own = [k for k, run in enumerate(parts.runs) if parts.fold[run.block] == fold]
        errors[own] = errors_of_runs(setup, found.field, values[int(fold)], parts, own)
    return errors


def errors_of_runs(setup: Setup, field: Field, values: Array, parts: HeldBack, places: Sequence[int]) -> Array:
    """The error of each of these free runs, by a field with these unknowns."""
    runs = [parts.runs[k] for k in places]
    batch = batch_of([_blinded(run) for run in runs])
    passed = setup.make(field, batch, setup.plan).run(values, parts.noise, 0.0, False)
    errors = []
    for place, run in enumerate(runs):
        states = passed.states[batch.rows_of(place)][run.warm_up :, list(setup.plan.measured)]
        errors.append(run_error(states, run.stretch.samples[run.warm_up :], parts.spread))
    return np.array(errors)


def run_error(states: Array, samples: Array, spread: Array) -> float:
    """Mean of min(RMS error / spread, 1) over channels and horizons; 1 for a model that diverged."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = ((states - samples) / np.where(spread > 0.0, spread, 1.0)) ** 2
    square = np.where(np.isfinite(samples), np.minimum(np.nan_to_num(square, nan=1e6, posinf=1e6), 1e6), 0.0)
    found = []
    for share in HORIZONS:
        rows = slice(0, max(2, round(share * len(samples))))
        known = np.isfinite(samples[rows]).sum(axis=0)
        found.extend(np.minimum(np.sqrt(square[rows].sum(axis=0)[known > 0] / known[known > 0]), 1.0))
    return float(np.mean(found)) if found else 1.0


def _without_each_fold(setup: Setup, found: Estimate, parts: HeldBack) -> dict[int, Array]:
    """The unknowns as they would be without each fold's blocks, from a prior independent of this record.

    The influence of a fold is the difference of two steps, over the other folds and over all of them, damped only if
    the first would not lower the cost: over fewer blocks a step may leave the range in which it is valid. One within
    the standard errors is valid as these are, and is not tried. NaN if no step lowers the cost, as for a network whose
    sensitivities run away: nothing is known then.
    """
    unknowns, folds = found.unknowns.unlearned(), [int(f) for f in np.unique(parts.fold)]
    values = dict.fromkeys(folds, unknowns.values)
    if not len(unknowns):
        return values
    filter_ = setup.make(found.field, parts.batch, setup.plan)
    passed = filter_.run(unknowns.values, found.noise, found.gate)
    if not np.isfinite(passed.cost):
        return values
    for fold in folds:
        others, damping = parts.fold != fold, UNDAMPED
        matrix, gradient = system_of(unknowns, passed, others)
        if gradient @ step_within(unknowns, matrix, gradient, damping) > WITHIN * len(unknowns):
            moved, damping, promised = accepted_step(filter_, unknowns, found.noise, passed, damping, others)
            if moved is None and promised >= CONVERGED:
                values[fold] = np.full(len(unknowns), np.nan)
                continue
        without, everything = (
            step_within(unknowns, *system_of(unknowns, passed, chosen), damping) for chosen in (others, EVERY)
        )
        values[fold] = unknowns.moved(without - everything).values
    return values


def _blinded(run: FreeRun) -> Stretch:
    """Without the samples after the warm-up: the filter then simulates freely."""
    samples = run.stretch.samples.copy()
    samples[run.warm_up :] = np.nan
    return replace(run.stretch, samples=samples)


def paired(a: Array, b: Array) -> tuple[float, float]:
    """Mean paired difference of two models' errors over the runs, and its standard error."""
    apart = a - b
    return float(np.mean(apart)), float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else np.inf
