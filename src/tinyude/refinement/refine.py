"""Refinement in order: candidates from a fitted model, each refined, and the best of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.candidate import Candidate
from tinyude.model.model import Model
from tinyude.model.parts import Terms
from tinyude.physics import Physics
from tinyude.physics.holds import Hold
from tinyude.refinement.budget import Budget, CountedFilter, row_seconds
from tinyude.refinement.choose import LITTLE, WHOLE, choose, simplest_first
from tinyude.refinement.compiled import make_filter
from tinyude.refinement.estimate import Estimate, Setup, estimate, estimate_on, polished
from tinyude.refinement.field import Field
from tinyude.refinement.filter import Plan
from tinyude.refinement.gating import cut_alike
from tinyude.refinement.gauss_newton import Filter
from tinyude.refinement.guard import SHORTEST, HeldBack, free_run_errors, held_back, paired
from tinyude.refinement.hybrid import Hybrid, fixed_field, hybrid, without_parts
from tinyude.refinement.incomplete import Incomplete
from tinyude.refinement.noise import robust_log_likelihood
from tinyude.refinement.records import Record, rough_states, sensor_noise, stretches_of
from tinyude.refinement.starts import Sensing, with_starts
from tinyude.refinement.stretches import Batch, batch_of
from tinyude.refinement.thinning import reduced
from tinyude.refinement.uncertainty import covariance_of
from tinyude.refinement.unknowns import empty_unknowns

Array = NDArray[Any]
Progress = Callable[[float], None]
STEP = 0.2  # of the field's fastest time scale: longest Runge-Kutta step (RK4 errs by 3e-6 of it)
FIXED = ("known", *WHOLE)  # candidates of which nothing is refined
SHARES = (0.4, 0.4, 0.2)  # of the work: the richest structure, the search among incomplete models, the last polish
LEAST_ROWS = 600
JUDGED_ROWS = 2_000  # over which candidates run freely, however few rows they are fitted to: short runs say little
MOST_STEPS = 4  # of Runge-Kutta from row to row
PASSES, MANY_PASSES = 25, 250  # over the rows: for a model that explains them, and for one that does not
WHITE = (0.5, 1.6)  # mean squared innovation of a model that explains the rows up to sensor noise


@dataclass(frozen=True)
class Sensors:
    """Which states are seen, and what is known of the others.

    Attributes
    ----------
    channel, order : tuple of int
        For each state its channel and how often that is differentiated; channel -1: not seen.
    holds : tuple of Hold
        What each input does between samples.
    guess : mapping
        State number to (guess, spread) of states that are not seen.
    """

    channel: tuple[int, ...]
    order: tuple[int, ...]
    holds: tuple[Hold, ...] = ()
    guess: Mapping[int, tuple[float, float]] | None = None


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
    estimate : Estimate or None
        That of the best; None where nothing was refined in it.
    held_back : HeldBack
    by_evidence : bool
        Whether the choice rests on evidence rather than on held-back free runs.
    """

    model: Model
    candidates: list[Candidate]
    setup: Setup
    estimate: Estimate
    held_back: HeldBack
    by_evidence: bool


def refine(
    model: Model,
    given: Physics,
    records: Sequence[Record],
    sensors: Sensors,
    seconds: float = 2.0,
    offered: Sequence[sp.Expr] = (),
    progress: Progress | None = None,
    streamed: Callable[[], Model | None] | None = None,
) -> Refined:
    """Refine a model on the records it was fitted to.

    Parameters
    ----------
    model : Model
        What the windows found.
    given : Physics
        As the user stated it, with parameters at their first guess.
    records : sequence of Record
    sensors : Sensors
    seconds : float
        Of expected work, after which no further step is begun.
    offered : sequence of expressions, optional
        Terms to try where no candidate explains the rows up to sensor noise.
    progress : callable, optional
        Told the share done.
    streamed : callable, optional
        What the streaming learner finds, asked for where no candidate explains the rows up to sensor noise.
    """
    shares = iter(share * seconds for share in SHARES)
    budget = Budget(next(shares))
    setup = make_setup(model, records, sensors, budget)
    structures = _structures(model, given)
    hybrids = {name: _fixed(m) if name in FIXED else hybrid(m) for name, m in structures.items()}
    richest = [name for name in structures if name not in FIXED or len(structures) == 1][-1]
    everything = stretches_of(records, sensors.holds, model.physics.n_states)
    longest = setup.plan.longest_step
    field = hybrids[richest].field
    many, few = (affordable_rows(setup, field, records, seconds, passes) for passes in (PASSES, MANY_PASSES))
    stretches = reduced(everything, many, longest)
    first = estimate(setup, field, hybrids[richest].unknowns, stretches)
    white, enough = _explained(first), max(JUDGED_ROWS, 2 * SHORTEST * len(everything))
    if white:
        found = {n: first if n == richest else _beside(setup, n, h, first) for n, h in hybrids.items()}
        cut = cut_alike(everything, stretches, first.batch.stretches)
        judged = batch_of(reduced(cut, max(first.batch.rows, enough), longest))
        parts = held_back(setup, judged, first.noise)
    else:
        budget.renew(next(shares))
        cut = everything if sensors.guess else cut_alike(everything, stretches, first.batch.stretches)
        batch = batch_of(with_starts(reduced(cut, few, longest), setup.sensing))
        judged = batch_of(reduced(cut, max(few, enough), longest))
        parts = held_back(setup, judged, first.noise)
        search = Incomplete(setup, given, parts, reduced(everything, few, longest), replace(first, batch=batch))
        if streamed is not None and (other := streamed()) is not None:
            hybrids["streaming"] = _fixed(other)
        hybrids, found = search.run(hybrids, offered)
    if progress:
        progress(0.9)
    seen = min(1.0, first.batch.rows / max(sum(len(s) for s in everything), 1))
    candidates = [_candidate(name, own, found[name], setup, parts, 1.0 - seen) for name, own in hybrids.items()]
    chosen = choose(sorted(candidates, key=simplest_first), parts.enough, white, seen)
    best = next(c for c in chosen if c.best)
    own, result = hybrids[best.name], found[best.name]
    if not white and best.name not in FIXED:
        budget.renew(next(shares))
        jumps = len(result.batch.stretches) > len(everything)
        more = polished(setup, result, first.batch.stretches if jumps else stretches)
        scores = free_run_errors(setup, more, parts) if parts.enough else best.scores
        if not parts.enough or paired(scores, best.scores)[0] <= LITTLE * best.error:
            result, best = more, replace(best, model=own.moved(more.unknowns.values), scores=scores)
            chosen = [best if c.best else c for c in chosen]
    final = covariance_of(setup, own, result, best.model) if best.name not in FIXED else _certain(best)
    return Refined(final, chosen, setup, result, parts, white or not parts.enough)


def _beside(setup: Setup, name: str, own: Hybrid, first: Estimate) -> Estimate:
    """Another structure over the same stretches; that of the windows is the richest one, with other numbers."""
    return estimate_on(setup, own.field, own.unknowns, first, search=name != "windows")


def affordable_rows(setup: Setup, field: Field, records: Sequence[Record], seconds: float, passes: int) -> int:
    """Rows over which so many passes take no longer than so many seconds."""
    period = float(np.median(np.concatenate([np.diff(r.times) for r in records])))
    steps = max(1.0, period / setup.plan.longest_step)
    return max(LEAST_ROWS, int(seconds / (passes * steps * row_seconds(field))))


def _structures(model: Model, given: Physics) -> dict[str, Model]:
    """From the simplest to the richest: known physics as given, with learned parameters, + terms, + network."""
    bare = without_parts(model)
    made = {"known": replace(bare, physics=given)}
    if model.physics.learned:
        made["parameters"] = bare
    if model.coefficients.any():
        made["terms"] = without_parts(model, terms=True)
    if any(not isinstance(part, Terms) for part in model.parts):
        made["network"] = model
    if model.parts or model.physics != given:
        made["windows"] = model
    return made


def _fixed(model: Model) -> Hybrid:
    return Hybrid(model, fixed_field(model), empty_unknowns(), np.zeros(0, dtype=int))


def _candidate(name: str, own: Hybrid, result: Estimate, setup: Setup, parts: HeldBack, unseen: float) -> Candidate:
    """A structure with its evidence and held-back errors.

    Numbers that were fitted to a part of the rows look better there than elsewhere, by one unit of log-likelihood an
    unknown. The windows' numbers come from all rows: what refinement has not seen of them is taken off its evidence.
    """
    model = own.moved(result.unknowns.values) if len(result.unknowns) else own.model
    scores = free_run_errors(setup, result, parts) if parts.enough else np.zeros(0)
    cost = len(result.unknowns) if name not in WHOLE else len(own.model.unknowns)
    likelihood = robust_log_likelihood(result.solution.passed, result.gate)
    price = 0.5 * cost * np.log(result.batch.rows) + unseen * len(result.unknowns)
    return Candidate(name, model, float(likelihood - price), scores, cost)


def _certain(best: Candidate) -> Model:
    """A model of which nothing was refined; the known physics alone has nothing that could be unsure."""
    if best.name in WHOLE:
        return best.model
    count = len(best.model.unknowns)
    errors = np.zeros(len(best.model.physics.learned))
    return replace(best.model, covariance=np.zeros((count, count)), parameter_errors=errors)


def _explained(result: Estimate) -> bool:
    """Whether innovations are sensor noise without any process noise."""
    passed = result.solution.passed
    ratio = passed.squares.sum() / max(passed.counts.sum(), 1.0)
    return bool(result.kappa == 0.0 and WHITE[0] < ratio < WHITE[1])


def make_setup(model: Model, records: Sequence[Record], sensors: Sensors, budget: Budget | None = None) -> Setup:
    """Noise, scales and step lengths of the records."""
    sigma, floor = sensor_noise(records)
    guess = dict(sensors.guess or {})
    centres = {state: value for state, (value, _) in guess.items()}
    rough = [rough_states(r, sensors.channel, sensors.order, centres) for r in records]
    states, inputs = np.concatenate(rough), np.concatenate([r.inputs for r in records])
    thin = slice(None, None, max(1, len(states) // 2000))
    states, inputs = states[thin], inputs[thin]
    spread = np.where(model.x_scale > 0.0, model.x_scale, np.std(states, axis=0) + 1e-12)
    for state, (_, width) in guess.items():
        spread[state] = width
    states = np.clip(states, states.mean(axis=0) - 5.0 * spread, states.mean(axis=0) + 5.0 * spread)
    field = fixed_field(model)
    with np.errstate(all="ignore"):
        rates, slopes = field.linearise(states, inputs, np.zeros(0))
    good = np.isfinite(rates).all(axis=1) & np.isfinite(slopes).all(axis=(1, 2))
    size = np.sqrt(np.mean(rates[good] ** 2, axis=0)) if good.any() else spread
    fastest = np.abs(np.linalg.eigvals(slopes[good][:: max(1, good.sum() // 200)])).max(axis=1) if good.any() else [1.0]
    rate = np.zeros(len(spread))
    rate[list(model.on)] = np.maximum(size, 1e-3 * spread)[list(model.on)]
    sensing = Sensing(sensors.channel, sensors.order, sigma, spread, guess)
    longest = STEP / max(float(np.median(fastest)), 1e-12)
    shortest = min(float(np.median(np.diff(r.times))) for r in records) / MOST_STEPS
    plan = Plan(sensing.measured, max(longest, shortest), 4.0 * spread**2)
    if budget is None:
        return Setup(sensing, plan, rate, floor**2, make_filter)
    allowed = budget

    def make(field: Field, batch: Batch, plan: Plan) -> Filter:
        return CountedFilter(make_filter(field, batch, plan), field, batch, plan, allowed)

    return Setup(sensing, plan, rate, floor**2, make, lambda: allowed.over)
