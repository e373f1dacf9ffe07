"""Chooses a candidate: by evidence if a model explains the rows up to sensor noise, otherwise by free runs."""

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
BARE = ("known", "parameters")  # candidates that learn at most parameters
WHOLE = ("windows", "streaming")  # candidates that are not refined
FIRST = (*BARE, *WHOLE)  # then the refined ones, by their number of unknowns
CLEARLY = 1.5  # standard errors of the paired difference (`tinyude reproduce choice`)
NETWORK = 2.0  # factor by which a network's error must be smaller than that of every formula
CHANCE = 0.1  # largest probability that the gain over the known physics with its parameters is chance
NEAR = 1.1  # times the best formula's error: a simpler one is kept if it is also within a standard error
LITTLE = 0.02  # of a held-back error: smaller differences do not change the choice
TINY = 1e-4  # of the spread: smaller errors count as equal


def simplest_first(candidate: Candidate) -> tuple[bool, bool, int, int]:
    """Order of preference when several candidates predict equally well.

    A network is reliable only where the record has data; a formula extrapolates. How an input acts is stated in the
    physics: where a controller makes the input follow the states, a further effect of it may in fact be friction.
    The windows and the streaming learner fit rates, not simulated stretches: their free runs are an independent test.
    A refined model was fitted to these very stretches, and if it is incomplete its values compensate for what is
    missing in these motions, not in others.
    """
    place = FIRST.index(candidate.name) if candidate.name in FIRST else len(FIRST)
    return has_network(candidate.model), _acts_otherwise(candidate.model), place, candidate.cost


def has_network(model: Model) -> bool:
    """Whether something other than terms was learned."""
    return any(not isinstance(part, Terms) for part in model.parts)


def _acts_otherwise(model: Model) -> bool:
    """Whether a learned term gives an input an effect that the physics does not state."""
    kept = [term for term, column in zip(model.terms, model.coefficients.T, strict=True) if column.any()]
    return any(symbol.name in model.physics.inputs for term in kept for symbol in term.free_symbols)


def choose(
    candidates: Sequence[Candidate], by_free_runs: bool, by_evidence: bool, blocks: Sequence[int] | None = None
) -> list[Candidate]:
    """The candidates, with one marked as the best.

    Parameters
    ----------
    candidates : sequence of Candidate
        In the order of `simplest_first`; one with a note is not chosen, unless all have one.
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
    """The best by evidence among those that keep the parts found by the windows.

    The windows used the whole record to decide whether anything is learned. Refinement often uses a part of it,
    too little to decide again about dozens of kernel weights: whether learning hurts is decided by held-back free runs.
    Parameters to be learned are learned, with their errors, even if the given values are as likely.
    """
    found = [k for k, c in enumerate(candidates) if c.name not in BARE]
    bare = max((c.cost for c in candidates if c.name in BARE), default=0)
    most = max((candidates[k].cost for k in found), default=0)
    fitted = [k for k, c in enumerate(candidates) if c.name != "known"] or range(len(candidates))
    kept = found if most > bare else fitted
    return max(kept, key=lambda k: candidates[k].evidence if np.isfinite(candidates[k].evidence) else -np.inf)


def _by_free_runs(candidates: Sequence[Candidate], blocks: Sequence[int] | None = None) -> int:
    """A formula, unless a network has clearly smaller errors; of formulas the first that is near the best.

    By the geometric mean over the held-back runs: every motion counts equally, and one bad run of a candidate does
    not hide all others. Held-back runs come from the recorded motions. A network is reliable only
    there, and a small advantage there says nothing about other motions. Of two networks, neither is simpler in a
    way that would make it generalise better.
    """
    errors = np.array([np.mean(_logs(c)) for c in candidates])
    network = np.array([has_network(c.model) for c in candidates])
    errors[~_supported(candidates, errors, blocks) | _given(candidates)] = np.inf
    best = int(np.argmin(errors + np.log(NETWORK) * network))
    if network[best]:
        return best
    for k in np.flatnonzero(~network & (errors - errors[best] <= np.log(NEAR))).tolist():
        apart, error = paired(_logs(candidates[k]), _logs(candidates[best]))
        if apart <= max(error, LITTLE):
            return k
    return best


def _given(candidates: Sequence[Candidate]) -> Array:
    """Where the known physics is as given, although its learned parameters do not predict clearly worse.

    Parameters to be learned are learned, with their errors, even if the given values predict as well.
    """
    learned = next((c.scores for c in candidates if c.name == "parameters"), None)
    if learned is None:
        return np.zeros(len(candidates), dtype=bool)
    return np.array([c.name == "known" and not clearly_worse(learned, c.scores) for c in candidates], dtype=bool)


def _supported(candidates: Sequence[Candidate], errors: Array, blocks: Sequence[int] | None) -> Array:
    """Which candidates predict held-back blocks significantly better than the bare ones.

    By Student's t of the blocks' mean logarithms, since free runs in one block share its rows: with few blocks, one
    large loss outweighs gains in the others. All, if there is no bare candidate.
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
    """Whether a simpler one predicts clearly better: then the learned part of the chosen one hurts."""
    return any(clearly_worse(candidates[place].scores, simpler.scores) for simpler in candidates[:place])


def clearly_worse(a: Array, b: Array) -> bool:
    """Whether held-back errors a are clearly larger than b: by the mean difference, where a bad run counts most."""
    apart, error = paired(a, b)
    return apart > max(CLEARLY * error, LITTLE * float(np.mean(b)))
