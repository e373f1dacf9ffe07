"""The batch estimator step by step: samples, local windows, targets with their noise, models by evidence.

runs -> local_windows -> make_targets -> for each residual state: whiten, terms, kernels -> the best as a Model
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.physics.holds import CLEARLY_LIKELIER, Hold
from tinyude.training.batch.assemble import make_model
from tinyude.training.batch.observe import Observed
from tinyude.training.batch.parameters import learn_parameters
from tinyude.training.batch.regression import BatchOptions, Regression, evidence_of
from tinyude.training.batch.samples import Counts, SensorNoise
from tinyude.training.batch.state_fit import ONLY_NOISE, StateFit, combinations
from tinyude.training.batch.targets import Targets
from tinyude.training.batch.through_inputs import chosen_again, with_input_terms

Array = NDArray[Any]

STILL = 1e-4  # of a state's spread: no further pass if node states move by less


@dataclass(frozen=True)
class BatchCandidate:
    """A model of all residual states, with the joint log evidence of its parts."""

    name: str
    model: Model
    evidence: float
    states: dict[int, StateFit]


@dataclass(frozen=True)
class BatchResult:
    """Candidates, the best first, and the windows and targets behind them."""

    candidates: list[BatchCandidate]
    targets: Targets
    observed: Observed
    chi2: dict[int, float]  # of the best model, per row, relative to noise alone, by state
    holds: tuple[Hold, ...] = ()  # what inputs do between samples
    deficient: int = 0  # learned parameters that cannot be distinguished in this record

    @property
    def best(self) -> BatchCandidate:
        """The candidate with the most evidence."""
        return self.candidates[0]

    @property
    def noise(self) -> SensorNoise:
        """Sensor noise by channel."""
        return self.observed.sensors

    @property
    def counts(self) -> Counts:
        """Counts of samples and windows."""
        return self.observed.counts

    @property
    def sigma(self) -> Array:
        """Standard deviation of the sensor noise by channel."""
        return self.noise.sigma


def batch_fit(physics: Physics, stream: Stream, options: BatchOptions | None = None) -> BatchResult:
    """Fit models of what the known physics lacks.

    A parameter that reaches a bound compensates for something else: it keeps its first value, unless
    the evidence clearly favours the bound.

    Parameters
    ----------
    physics : Physics
        What is known; its learned parameters are fitted too.
    stream : Stream
        The record, in memory.
    options : BatchOptions, optional
        What may be learned, and where.

    Returns
    -------
    BatchResult
        Candidates by log evidence, with windows, noise and counts.

    Raises
    ------
    TinyUDEError
        If no window fits into the record.
    """
    found = _fit(physics, stream, options or BatchOptions())
    if not (kept := found.best.model.physics.at_bounds()):
        return found
    others = [name for name in physics.learned if name not in kept]
    without = _fit(physics.with_learned(others), stream, options or BatchOptions())
    clearly = found.best.evidence > without.best.evidence + CLEARLY_LIKELIER
    return found if clearly else without


def _fit(physics: Physics, stream: Stream, options: BatchOptions) -> BatchResult:
    """Fit with these learned parameters, also where they end at a bound."""
    raw = Regression(physics, stream, options)
    if wrong := raw.contradicted():
        names = [physics.states[i] for i in sorted((*raw.on, *wrong))]
        raw = Regression(physics, stream, replace(raw.options, on=names))
    raw, work, fits = _first_pass(raw)
    errors, deficient = np.zeros(0), 0
    if work.physics.learned:
        ways = [_with_parameters(raw, *learn_parameters(work, fits, beside_terms)) for beside_terms in (True, False)]
        raw, work, fits, errors, deficient = max(ways, key=lambda way: evidence_of(way.fits))
    if work.carried:
        raw = raw.shifted(fits)
        fits = raw.corrected(fits).rough()
    work, found, chi2 = _along_what_was_found(raw, fits)
    candidates = []
    for name, states in combinations(found):
        model = make_model(work.physics, work.on, work.sees, work.rotating, work.targets, states, errors)
        candidates.append(BatchCandidate(name, model, sum(fit.evidence for fit in states.values()), states))
    if not work.options.keep:  # otherwise the first has the requested terms
        candidates.sort(key=lambda candidate: -candidate.evidence)
    return BatchResult(candidates, work.targets, work.observed, chi2, work.holds, deficient)


def _first_pass(begin: Regression) -> tuple[Regression, Regression, dict[int, StateFit]]:
    """Targets, those along the known field, and rough fits; with terms that act through inputs where these fit better.

    With such terms in the physics the holds are chosen again: what is missing may have decided them.
    """
    raw, work, fits = begin.first_pass()
    if (more := with_input_terms(work, fits)) is None:
        return raw, work, fits
    raw, _, _ = begin.with_physics(more).first_pass()
    return raw.with_physics(chosen_again(raw)).passed()


def _along_what_was_found(
    raw: Regression, fits: dict[int, StateFit]
) -> tuple[Regression, dict[int, list[StateFit]], dict[int, float]]:
    """Targets whose node states follow the fitted model, the fits offered there, and the remainder of the best.

    If the remainder exceeds noise, one more pass along the new fit, kept if it raises the evidence: a sharp bend shows
    only once the node states follow it.
    """
    work = raw.corrected(fits)
    found = work.final(fits)
    best, chi2 = _best(work, found)
    if not any(left > ONLY_NOISE for left in chi2.values()):
        return work, found, chi2
    other = raw.corrected(best)
    if other.distance(work) < STILL:
        return work, found, chi2
    anew = other.final(best)
    better, left = _best(other, anew)
    clearly = evidence_of(better) > evidence_of(best) + CLEARLY_LIKELIER
    return (other, anew, left) if clearly else (work, found, chi2)


def _best(work: Regression, found: dict[int, list[StateFit]]) -> tuple[dict[int, StateFit], dict[int, float]]:
    """The best fit of each state, and its remainder in units of noise."""
    best = {i: offered[0] for i, offered in found.items()}
    return best, {i: work.left(i, fit) for i, fit in best.items()}


class _Learned(NamedTuple):
    """Targets at the fitted parameters, their rough fits, the errors, and the number of indistinguishable ones."""

    raw: Regression
    work: Regression
    fits: dict[int, StateFit]
    errors: Array
    deficient: int


def _with_parameters(raw: Regression, physics: Physics, errors: Array, deficient: int) -> _Learned:
    moved = raw.with_physics(physics)
    work = moved.corrected()
    return _Learned(moved, work, work.rough(), errors, deficient)
