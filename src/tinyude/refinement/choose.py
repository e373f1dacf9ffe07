"""Which candidate is kept: by evidence where a model explains the rows up to sensor noise, else by free runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.candidate import Candidate
from tinyude.refinement.guard import paired

Array = NDArray[Any]
BARE = ("known", "parameters")  # candidates without anything learned beside parameters
CLEARLY = 1.0  # standard errors of the paired difference
MOST_WORSE = 0.1  # of a held-back error that a simpler model may be worse by, however uncertain the difference
LITTLE = 0.02  # of a held-back error: less is no reason to choose otherwise


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
    """The best by evidence among those that keep what the windows found.

    The windows saw the whole record and weighed learning against nothing there. Refinement often sees a part of it,
    too little to weigh dozens of kernel weights anew: that learning hurts is for the held-back free runs to say.
    """
    found = [k for k, c in enumerate(candidates) if c.name not in BARE]
    bare = max((c.cost for c in candidates if c.name in BARE), default=0)
    kept = found if any(candidates[k].cost > bare for k in found) else range(len(candidates))
    return max(kept, key=lambda k: candidates[k].evidence if np.isfinite(candidates[k].evidence) else -np.inf)


def _by_free_runs(candidates: Sequence[Candidate]) -> int:
    """The simplest whose error is within one standard error of the smallest, and not much above it."""
    best = int(np.argmin([c.error for c in candidates]))
    for k, candidate in enumerate(candidates):
        worse, error = _difference(candidate, candidates[best])
        if worse <= max(min(CLEARLY * error, MOST_WORSE), LITTLE):
            return k
    return best


def _not_worse_than_simpler(candidates: Sequence[Candidate], place: int) -> int:
    """A simpler one instead, if the chosen one predicts clearly worse: then what it learned hurts."""
    for k in range(place):
        worse, error = _difference(candidates[place], candidates[k])
        if worse > 2.0 * CLEARLY * error and worse > LITTLE:
            return _by_free_runs(candidates)
    return place


def _difference(a: Candidate, b: Candidate) -> tuple[float, float]:
    """By how much the logarithm of a's held-back error is larger than b's, and the standard error of that."""
    return paired(a.scores, b.scores)
