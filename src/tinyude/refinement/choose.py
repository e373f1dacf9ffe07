"""Which candidate is kept: by evidence where a model explains the rows up to sensor noise, else by free runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.candidate import Candidate
from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.refinement.guard import paired

Array = NDArray[Any]
BARE = ("known", "parameters")  # candidates without anything learned beside parameters
WHOLE = ("windows", "streaming")  # candidates taken as they are
FIRST = (*BARE, *WHOLE)  # then what was refined, by the number of its unknowns
CLEARLY = 1.5  # standard errors of the paired difference (`tinyude reproduce choice`)
SEVERAL = 3.0  # times the best's error: worse by that, however few of the runs say so
LITTLE = 0.02  # of a held-back error: less is no reason to choose otherwise
TINY = 1e-9  # error below which ratios are not looked at


def simplest_first(candidate: Candidate) -> tuple[bool, bool, int, int]:
    """Where a candidate stands when several predict alike.

    A network is known only where the record was; a formula goes on beyond it. How an input acts is stated in the
    physics: where a controller made the input follow the states, a further effect of it may be friction in disguise.
    The windows and the streaming learner look at rates, not at simulated stretches: that they simulate well is a test
    that they passed. A refined model was fitted to just these stretches, and where it is incomplete its numbers make up
    for what is missing in these motions, not in others.
    """
    place = FIRST.index(candidate.name) if candidate.name in FIRST else len(FIRST)
    return _has_network(candidate.model), _acts_otherwise(candidate.model), place, candidate.cost


def _has_network(model: Model) -> bool:
    return any(not isinstance(part, Terms) for part in model.parts)


def _acts_otherwise(model: Model) -> bool:
    """Whether a learned term gives an input another effect than the physics does."""
    kept = [term for term, column in zip(model.terms, model.coefficients.T, strict=True) if column.any()]
    return any(symbol.name in model.physics.inputs for term in kept for symbol in term.free_symbols)


def choose(
    candidates: Sequence[Candidate], by_free_runs: bool, by_evidence: bool, in_a_loop: bool = False
) -> list[Candidate]:
    """The candidates with one of them marked as the best.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order of `simplest_first`; one with a note is not kept, unless all have one.
    by_free_runs : bool
        Whether there are enough held-back free runs.
    by_evidence : bool
        Whether the likelihood can be trusted: the richest model's innovations are sensor noise.
    in_a_loop : bool
        Whether inputs follow the states. Held-back runs are then of the same loop and tell little of other motions:
        only what is clear counts.
    """
    most = np.inf if in_a_loop else SEVERAL
    offered = [c for c in candidates if not c.note] or list(candidates)
    place = _by_evidence(offered) if by_evidence or not by_free_runs else _by_free_runs(offered, most)
    if by_free_runs:
        place = _not_worse_than_simpler(offered, place, most)
    return [replace(c, best=c is offered[place]) for c in candidates]


def _by_evidence(candidates: Sequence[Candidate]) -> int:
    """The best by evidence among those that keep what the windows found.

    The windows saw the whole record and weighed learning against nothing there. Refinement often sees a part of it,
    too little to weigh dozens of kernel weights anew: that learning hurts is for the held-back free runs to say.
    Parameters to be learned are learned, with their errors, also where the given values are as likely.
    """
    found = [k for k, c in enumerate(candidates) if c.name not in BARE]
    bare = max((c.cost for c in candidates if c.name in BARE), default=0)
    most = max((candidates[k].cost for k in found), default=0)
    fitted = [k for k, c in enumerate(candidates) if c.name != "known"] or range(len(candidates))
    kept = found if most > bare else fitted
    return max(kept, key=lambda k: candidates[k].evidence if np.isfinite(candidates[k].evidence) else -np.inf)


def _by_free_runs(candidates: Sequence[Candidate], most: float) -> int:
    """The first formula that is not clearly worse than the best; else the best.

    Of two networks neither is simpler in a way that would promise more. One run that a candidate loses raises the
    standard error as much as the mean, and would never be clear by itself: beyond `most` times the best's error
    nothing is kept.
    """
    errors = np.array([c.error for c in candidates])
    best = int(np.argmin(errors))
    near = errors <= most * errors[best]
    for k, candidate in enumerate(candidates):
        if near[k] and not _has_network(candidate.model) and not _worse(candidate, candidates[best]):
            return k
    return best


def _not_worse_than_simpler(candidates: Sequence[Candidate], place: int, most: float) -> int:
    """A simpler one instead, if the chosen one predicts clearly worse: then what it learned hurts."""
    hurts = any(_worse(candidates[place], simpler) for simpler in candidates[:place])
    return _by_free_runs(candidates, most) if hurts else place


def _worse(a: Candidate, b: Candidate) -> bool:
    """Whether a's held-back error is clearly larger than b's.

    By the mean difference: a run that one of them loses counts most. For what learned nothing also by the mean
    ratio, so that one such run does not hide that learning helps in all.
    """
    if _above(a.scores, b.scores, LITTLE * b.error):
        return True
    return a.name in BARE and _above(np.log(a.scores + TINY), np.log(b.scores + TINY), LITTLE)


def _above(a: Array, b: Array, least: float) -> bool:
    apart, error = paired(a, b)
    return apart > max(CLEARLY * error, least)
