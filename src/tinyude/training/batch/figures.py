"""The calibration and counters of a batch fit, in the same form as those of the streaming learner."""

from __future__ import annotations

from collections import Counter

from tinyude.model.result import Calibration, FitCounters
from tinyude.reference.signal.gates import REASONS
from tinyude.training.batch.accepted import usual_half
from tinyude.training.batch.fit import BatchResult

SHORTEST_HALF = 5  # samples, of the one window that represents a whole record


def batch_calibration(found: BatchResult, longest: int) -> Calibration:
    """The usual window, at most `longest` samples either side, and the sensor noise."""
    half = min(max(usual_half(found.targets.half), SHORTEST_HALF), longest)
    return Calibration(half, 1, found.noise.sigma, found.noise.step)


def batch_counters(found: BatchResult) -> FitCounters:
    """Counts of samples and windows."""
    counts = found.counts
    reasons = Counter(reason for reason, _, _ in counts.rejected)
    tried = sum(len(batch.run) for batch in found.observed.batches)  # of very many, every second one is a target
    accepted = tried - reasons["misfit"]  # these have little weight: no shorter window was left
    rejected = tuple(reasons[reason] for reason in REASONS)
    return FitCounters(
        samples=counts.samples,
        filled=counts.filled,
        replaced=counts.outliers,
        windows=accepted + sum(rejected),
        accepted=accepted,
        rejected=rejected,
        deficient=found.deficient,
    )
