"""Which candidate is kept: by evidence where a model explains the rows up to sensor noise, else by free runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import stdtr

from tinyude.model.candidate import Candidate
from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.refinement.guard import paired

Array = NDArray[Any]
BARE = ("known", "parameters")  # candidates without anything learned beside parameters
WHOLE = ("windows", "streaming")  # candidates taken as they are
FIRST = (*BARE, *WHOLE)  # then what was refined, by the number of its unknowns
CLEARLY = 1.5  # standard errors of the paired difference (`tinyude reproduce choice`)
NETWORK = 1.2  # times smaller errors that a network must have than every formula
CHANCE = 0.2  # at most: that what was learned only seems to predict better than the known physics with its parameters
NEAR = 1.25  # times the best formula's error: a simpler one is kept if that is within a standard error too
LITTLE = 0.02  # of a held-back error: less is no reason to choose otherwise
TINY = 1e-4  # of the spread: smaller errors are alike


def simplest_first(candidate: Candidate) -> tuple[bool, bool, int, int]:
    """Where a candidate stands when several predict alike.

    A network is known only where the record was; a formula goes on beyond it. How an input acts is stated in the
    physics: where a controller made the input follow the states, a further effect of it may be friction in disguise.
    The windows and the streaming learner look at rates, not at simulated stretches: that they simulate well is a test
    that they passed. A refined model was fitted to just these stretches, and where it is incomplete its numbers make up
    for what is missing in these motions, not in others.
    """
    place = FIRST.index(candidate.name) if candidate.name in FIRST else len(FIRST)
    return has_network(candidate.model), _acts_otherwise(candidate.model), place, candidate.cost


def has_network(model: Model) -> bool:
    """Whether something beside terms was learned."""
    return any(not isinstance(part, Terms) for part in model.parts)


def _acts_otherwise(model: Model) -> bool:
    """Whether a learned term gives an input another effect than the physics does."""
    kept = [term for term, column in zip(model.terms, model.coefficients.T, strict=True) if column.any()]
    return any(symbol.name in model.physics.inputs for term in kept for symbol in term.free_symbols)


def choose(
    candidates: Sequence[Candidate], by_free_runs: bool, by_evidence: bool, blocks: Sequence[int] | None = None
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
    blocks : sequence of int, optional
        The held-back block of each free run; by default each has its own.
    """
    offered = [c for c in candidates if not c.note] or list(candidates)
    place = _by_evidence(offered) if by_evidence or not by_free_runs else _by_free_runs(offered, blocks)
    if by_free_runs and _hurts(offered, place):
        place = _by_free_runs(offered, blocks)
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


def _by_free_runs(candidates: Sequence[Candidate], blocks: Sequence[int] | None = None) -> int:
    """A formula, unless a network has clearly smaller errors; of formulas the first that is near the best.

    By the geometric mean over the held-back runs: every motion counts alike, and one run that a candidate loses does
    not hide what it does in all others. Held-back runs are of the motions that were seen. A network is known only
    there, and that it is a little better there says nothing of other motions. Of two networks neither is simpler in a
    way that would promise more.
    """
    errors = np.array([np.mean(_logs(c)) for c in candidates])
    network = np.array([has_network(c.model) for c in candidates])
    errors[~_supported(candidates, errors, blocks)] = np.inf
    best = int(np.argmin(errors + np.log(NETWORK) * network))
    if network[best]:
        return best
    for k in np.flatnonzero(~network & (errors - errors[best] <= np.log(NEAR))).tolist():
        apart, error = paired(_logs(candidates[k]), _logs(candidates[best]))
        if apart <= max(error, LITTLE):
            return k
    return best


def _supported(candidates: Sequence[Candidate], errors: Array, blocks: Sequence[int] | None) -> Array:
    """Which candidates predict held-back blocks better than nothing learned, and not by chance.

    By Student's t of the blocks' mean logarithms, since free runs in one block share its rows: of few blocks, one that
    a candidate loses outweighs much that it gains in the others. All where nothing bare is offered.
    """
    bare = np.array([c.name in BARE for c in candidates])
    if not bare.any():
        return np.ones(len(candidates), dtype=bool)
    first = candidates[int(np.argmin(np.where(bare, errors, np.inf)))]
    place = np.arange(len(first.scores)) if blocks is None else np.unique(blocks, return_inverse=True)[1]
    kept = bare.copy()
    for k in np.flatnonzero(~bare).tolist():
        gained = np.bincount(place, _logs(first) - _logs(candidates[k])) / np.bincount(place)
        apart, error = paired(gained, np.zeros(len(gained)))
        kept[k] = stdtr(len(gained) - 1, -apart / max(error, TINY)) < CHANCE if len(gained) > 1 else apart > 0.0
    return kept


def _logs(candidate: Candidate) -> Array:
    return np.asarray(np.log(candidate.scores + TINY))


def _hurts(candidates: Sequence[Candidate], place: int) -> bool:
    """Whether a simpler one predicts clearly better: then what the chosen one learned hurts."""
    return any(_worse(candidates[place], simpler) for simpler in candidates[:place])


def _worse(a: Candidate, b: Candidate) -> bool:
    """Whether a's held-back error is clearly larger than b's: by the mean difference, a lost run counts most."""
    apart, error = paired(a.scores, b.scores)
    return apart > max(CLEARLY * error, LITTLE * b.error)
