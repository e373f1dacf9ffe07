"""Refinement step by step: candidates from a fitted model, each refined, and the best of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.candidate import Candidate
from tinyude.model.evidence import NEAR_NOISE
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.refinement.budget import Budget
from tinyude.refinement.choose import LITTLE, WHOLE, choose, clearly_worse, has_network, simplest_first
from tinyude.refinement.estimate import Estimate, Setup, estimate, estimate_on, explained, polished
from tinyude.refinement.filter import Passed
from tinyude.refinement.gating import cut_alike
from tinyude.refinement.guard import SHORTEST, HeldBack, free_run_errors, held_back, paired, settled
from tinyude.refinement.hybrid import Hybrid, hybrid
from tinyude.refinement.identified import identified
from tinyude.refinement.incomplete import Incomplete
from tinyude.refinement.learned_again import Streamed, errors_learned_again
from tinyude.refinement.noise import robust_log_likelihood
from tinyude.refinement.prepare import affordable_rows
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.starts import Sensors, with_starts
from tinyude.refinement.stretches import Batch, Stretch, batch_of
from tinyude.refinement.structures import FIXED, as_it_is, hybrids_of
from tinyude.refinement.support import Rates, at_bound, with_notes
from tinyude.refinement.thinning import reduced
from tinyude.refinement.weak_terms import without_weak_terms
from tinyude.training.batch.feedback import followed_states

Array = NDArray[Any]
RICHEST = 0.3  # of the work: for one structure
SEARCH, SETTLE, POLISH = 0.4, 0.1, 0.1  # where it does not explain the rows: others, all again, the best again
KEEPING = 0.1  # for the others where parameters are not identified
JUDGED_ROWS = 2_000  # least rows of free runs, even if fewer are fitted: short runs distinguish little
ROWS_AN_UNKNOWN = 10  # least rows per unknown: a model with more unknowns explains any record
PASSES, MANY_PASSES = 25, 250  # over the rows: for a model that explains them, and otherwise


@dataclass(frozen=True)
class Refined:
    """What refinement found.

    Attributes
    ----------
    model : Model
        The best candidate's, with the covariance of its unknowns.
    candidates : list of Candidate
        From the simplest to the richest; the best is marked.
    setup : Setup
    estimate : Estimate
        That of the best; of one that is not refined, a pass with its values.
    held_back : HeldBack
    by_evidence : bool
        Whether the choice rests on evidence rather than on held-back free runs.
    following : tuple of str
        Inputs that a controller computes from the states.
    """

    model: Model
    candidates: list[Candidate]
    setup: Setup
    estimate: Estimate
    held_back: HeldBack
    by_evidence: bool
    following: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The whole record, and as much of it as the work budget allows.

    Attributes
    ----------
    everything : list of Stretch
    many : list of Stretch
        For a model that explains the rows and needs few passes.
    few : int
        Number of rows for models that do not.
    longest : float
        Seconds between rows of a thinned record, at most.
    """

    everything: list[Stretch]
    many: list[Stretch]
    few: int
    longest: float

    def cut_like(self, first: Estimate) -> list[Stretch]:
        """Everything, cut where the state was found to jump."""
        return cut_alike(self.everything, self.many, first.batch.stretches)

    def judged(self, cut: Sequence[Stretch], fitted: int) -> Batch:
        """Rows for free runs: at least as many as are fitted."""
        enough = max(JUDGED_ROWS, 2 * SHORTEST * len(self.everything))
        return batch_of(reduced(cut, max(fitted, enough), self.longest))

    def share_unseen(self, seen: int) -> float:
        """The share of the record that `seen` rows do not cover."""
        return max(0.0, 1.0 - seen / max(sum(len(s) for s in self.everything), 1))


@dataclass(frozen=True)
class Structures:
    """Structures, each with its best fit, the held-back runs for their comparison, and the rows they were fitted to."""

    hybrids: Mapping[str, Hybrid]
    found: Mapping[str, Estimate]
    parts: HeldBack
    batch: Batch


def refine(
    model: Model, given: Physics, records: Sequence[Record], sensors: Sensors, setup: Setup, budget: Budget,
    offered: Sequence[sp.Expr] = (), streamed: Streamed | None = None, rates: Rates | None = None,
) -> Refined:  # fmt: skip
    """Refine a model on the records it was fitted to.

    Parameters
    ----------
    model : Model
        What the windows found.
    given : Physics
        As the user gave it, with parameters at their first guess.
    records : sequence of Record
    sensors : Sensors
    setup : Setup
        Of these records, its passes charged to the budget.
    budget : Budget
        Of expected work; once spent, no further step is started.
    offered : sequence of expressions, optional
        Terms to try if no candidate explains the rows up to sensor noise.
    streamed : callable, optional
        Takes the spans of the record to leave out; returns the streaming learner's model, or None. Called if no
        candidate explains the rows up to sensor noise, and the windows' model does not explain the rates either.
    rates : callable, optional
        A model's remainder of the rates estimated by the windows, in units of noise.
    """
    budget.grant(RICHEST)
    hybrids = hybrids_of(model, given, windows=not sensors.guess)
    richest = [name for name in hybrids if name not in FIXED or len(hybrids) == 1][-1]
    rows = _rows(setup, hybrids[richest], records, sensors, budget.seconds)
    first = estimate(setup, hybrids[richest].field, hybrids[richest].unknowns, rows.many)
    following = tuple(followed_states(records, given.inputs, sensors.holds))
    white = explained(first) and first.batch.rows >= ROWS_AN_UNKNOWN * len(first.unknowns)
    if white:
        hybrids, found = _beside(setup, hybrids, richest, first)
        budget.grant(KEEPING)
        made = _with_fewer_terms(setup, hybrids, found, richest, rows)
    else:
        budget.grant(SEARCH)
        left = rates is None or rates(model) > NEAR_NOISE  # the streaming learner sees the same rates, no more
        if left and streamed is not None and (other := streamed(())) is not None:
            hybrids["streaming"] = as_it_is(other)
        made = _searched(setup, hybrids, given, offered, first, rows, bool(sensors.guess), following, budget)
    candidates = _candidates(setup, made, rows.share_unseen(first.batch.rows))
    if not white:
        candidates = with_notes(setup, candidates, made.found, made.batch, rates)
    chosen = _chosen(setup, candidates, made.parts, white, streamed)
    result = made.found[next(c for c in chosen if c.best).name]
    if not white:
        budget.grant(POLISH)
        chosen, result = _kept(setup, chosen, made, first, rows, streamed)
    best = next(c for c in chosen if c.best)
    own = made.hybrids[best.name]
    if best.name in FIXED:
        return Refined(_certain(best), chosen, setup, result, made.parts, white or not made.parts.enough, following)
    budget.grant(KEEPING)

    def worse(now: Estimate) -> bool:
        return not white and made.parts.enough and clearly_worse(free_run_errors(setup, now, made.parts), best.scores)

    final, result = identified(setup, own, result, best.model, given, worse)
    return Refined(final, chosen, setup, result, made.parts, white or not made.parts.enough, following)


def _chosen(
    setup: Setup, candidates: Sequence[Candidate], parts: HeldBack, white: bool, streamed: Streamed | None
) -> list[Candidate]:
    """The candidates, one of them marked; a perceptron that would be kept is judged by learning it again."""
    blocks = [run.block for run in parts.runs]
    chosen = choose(sorted(candidates, key=simplest_first), parts.enough, white, blocks)
    best = next(c for c in chosen if c.best)
    if white or not parts.enough or streamed is None or best.name != "streaming" or not has_network(best.model):
        return chosen
    again = replace(best, scores=errors_learned_again(setup, streamed, parts))
    return choose([again if c is best else c for c in chosen], parts.enough, white, blocks)


def _kept(
    setup: Setup, chosen: list[Candidate], made: Structures, first: Estimate, rows: Rows, streamed: Streamed | None
) -> tuple[list[Candidate], Estimate]:
    """The best candidate fitted to more rows, and its estimate; another one if a parameter ends at a bound there."""
    while True:
        best = next(c for c in chosen if c.best)
        if best.name in FIXED:
            return chosen, made.found[best.name]
        own, result = made.hybrids[best.name], made.found[best.name]
        final, result = _polished(setup, best, own, result, made.parts, first, rows)
        final = at_bound(final)
        chosen = [final if c is best else c for c in chosen]
        if not final.note or best.note:  # the latter: nothing else is left
            return chosen, result
        chosen = _chosen(setup, chosen, made.parts, False, streamed)


def _rows(setup: Setup, richest: Hybrid, records: Sequence[Record], sensors: Sensors, seconds: float) -> Rows:
    everything, longest = stretches_of(records, sensors.holds, len(setup.rate)), setup.plan.longest_step
    many, few = (affordable_rows(setup, richest.field, records, seconds, n) for n in (PASSES, MANY_PASSES))
    return Rows(everything, reduced(everything, many, longest), few, longest)


def _beside(
    setup: Setup, hybrids: Mapping[str, Hybrid], richest: str, first: Estimate
) -> tuple[dict[str, Hybrid], dict[str, Estimate]]:
    """Every structure over the stretches of the richest one, which explains the rows.

    The windows' structure is the richest one with other values, so it has the same noise. Nor is the noise
    sought for the known physics as given: it is not chosen by its evidence, and its free runs do not depend on it.
    """
    found = {
        name: first
        if name == richest
        else estimate_on(setup, own.field, own.unknowns, first, name not in ("windows", "known"))
        for name, own in hybrids.items()
    }
    return dict(hybrids), found


def _with_fewer_terms(
    setup: Setup, hybrids: Mapping[str, Hybrid], found: Mapping[str, Estimate], richest: str, rows: Rows
) -> Structures:
    """These structures, the richest without its weak terms, and held-back runs for the comparison."""
    first = found[richest]
    fewer = without_weak_terms(setup, hybrids[richest], first, 1.0 - rows.share_unseen(first.batch.rows))
    if fewer is not None:
        hybrids, found = {**hybrids, "fewer terms": fewer[0]}, {**found, "fewer terms": fewer[1]}
    judged = rows.judged(rows.cut_like(first), first.batch.rows)
    return Structures(hybrids, found, held_back(setup, judged, first.noise), first.batch)


def _searched(
    setup: Setup, hybrids: Mapping[str, Hybrid], given: Physics, offered: Sequence[sp.Expr], first: Estimate,
    rows: Rows, uncut: bool, following: Sequence[str], budget: Budget,
) -> Structures:  # fmt: skip
    """Every structure fitted in several ways, and further ones with offered terms, if none explains the rows."""
    cut = rows.everything if uncut else rows.cut_like(first)
    batch = batch_of(with_starts(reduced(cut, rows.few, rows.longest), setup.measurement))
    parts = held_back(setup, rows.judged(cut, rows.few), first.noise)
    whole = reduced(rows.everything, rows.few, rows.longest)
    search = Incomplete(setup, given, parts, whole, replace(first, batch=batch), tuple(following))
    made, found = search.run(hybrids, offered)
    if parts.enough:
        budget.grant(SETTLE)
        found = {
            name: settled(setup, own, parts, setup.part(len(found) - k)) for k, (name, own) in enumerate(found.items())
        }
    return Structures(made, found, parts, batch)


def _candidates(setup: Setup, made: Structures, unseen: float) -> list[Candidate]:
    """The structures with their evidence and held-back errors.

    Values fitted to a part of the rows look better there than elsewhere, by one unit of log-likelihood per
    unknown. The windows' values come from all rows: the evidence of refinement is reduced for the rows it did not use.
    """
    candidates = []
    for name, own in made.hybrids.items():
        result = made.found[name]
        model = own.moved(result.unknowns.values) if len(result.unknowns) else own.model
        judged = _movable(own, result) if name in WHOLE else result
        scores = free_run_errors(setup, judged, made.parts) if made.parts.enough else np.zeros(0)
        cost = len(result.unknowns) if name not in WHOLE else len(own.model.unknowns)
        likelihood = robust_log_likelihood(_passed_over(setup, result, made.batch), result.gate)
        price = 0.5 * cost * np.log(made.batch.rows) + unseen * len(result.unknowns)
        candidates.append(Candidate(name, model, float(likelihood - price), scores, cost))
    return candidates


def _passed_over(setup: Setup, result: Estimate, batch: Batch) -> Passed:
    """The pass of an estimate over these rows."""
    if result.batch is batch:
        return result.solution.passed
    return setup.make(result.field, batch, setup.plan).run(result.unknowns.values, result.noise, result.gate, False)


def _movable(own: Hybrid, result: Estimate) -> Estimate:
    """With everything that was learned as unknowns, so that the influence of a held-back block can be removed.

    For a perceptron the weights of the last layer: its features are kept, their weights are fitted again.
    """
    free = hybrid(own.model, last_layer=True)
    return replace(result, field=free.field, solution=replace(result.solution, unknowns=free.unknowns))


def _polished(
    setup: Setup, best: Candidate, own: Hybrid, result: Estimate, parts: HeldBack, first: Estimate, rows: Rows
) -> tuple[Candidate, Estimate]:
    """The candidate fitted to more rows, unless that worsens its held-back runs."""
    jumps = len(result.batch.stretches) > len(rows.everything)
    more = polished(setup, result, first.batch.stretches if jumps else rows.many)
    scores = free_run_errors(setup, more, parts) if parts.enough else best.scores
    if parts.enough and paired(scores, best.scores)[0] > LITTLE * best.error:
        return best, result
    return replace(best, model=own.moved(more.unknowns.values), scores=scores), more


def _certain(best: Candidate) -> Model:
    """A model that was not refined; the values of the known physics alone count as exact."""
    if best.name in WHOLE:
        return best.model
    count = len(best.model.unknowns)
    errors = np.zeros(len(best.model.physics.learned))
    return replace(best.model, covariance=np.zeros((count, count)), parameter_errors=errors)
