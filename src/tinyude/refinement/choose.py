"""Which candidate is kept: by evidence where a model explains the rows up to sensor noise, else by free runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.candidate import Candidate

Array = NDArray[Any]
CLEARLY = 1.0  # standard errors of the paired difference


def choose(candidates: Sequence[Candidate], by_free_runs: bool, by_evidence: bool) -> list[Candidate]:
    """The candidates, simplest first, with one of them marked as the best.

    Parameters
    ----------
    candidates : sequence of Candidate
        From the simplest to the richest.
    by_free_runs : bool
        Whether there are enough held-back stretches.
    by_evidence : bool
        Whether the likelihood can be trusted: the richest model's innovations are sensor noise.
    """
    place = _by_evidence(candidates) if by_evidence or not by_free_runs else _by_free_runs(candidates)
    if by_free_runs:
        place = _not_worse_than_simpler(candidates, place)
    return [replace(c, best=k == place) for k, c in enumerate(candidates)]


def _by_evidence(candidates: Sequence[Candidate]) -> int:
    return int(np.argmax([c.evidence if np.isfinite(c.evidence) else -np.inf for c in candidates]))


def _by_free_runs(candidates: Sequence[Candidate]) -> int:
    """The simplest whose error is within one standard error of the smallest."""
    best = int(np.argmin([c.error for c in candidates]))
    for k, candidate in enumerate(candidates):
        worse, error = _difference(candidate, candidates[best])
        if worse <= CLEARLY * error:
            return k
    return best


def _not_worse_than_simpler(candidates: Sequence[Candidate], place: int) -> int:
    """A simpler one instead, if the chosen one predicts clearly worse: then what it learned hurts."""
    for k in range(place):
        worse, error = _difference(candidates[place], candidates[k])
        if worse > 2.0 * CLEARLY * error and worse > 0.01 * candidates[k].error:
            return _by_free_runs(candidates)
    return place


def _difference(a: Candidate, b: Candidate) -> tuple[float, float]:
    """By how much a's held-back error is larger than b's, and the standard error of that."""
    apart = a.scores - b.scores
    return float(np.mean(apart)), float(np.std(apart, ddof=1) / np.sqrt(len(apart))) if len(apart) > 1 else np.inf
