"""Refines one model structure: noise, jumps and unknowns are estimated together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.field import Field
from tinyude.refinement.filter import Noise, Passed, Plan
from tinyude.refinement.gating import GATE, MOST_REJECTED, cut_at_jumps, rejected_rows
from tinyude.refinement.gauss_newton import Filter, Solution, gauss_newton
from tinyude.refinement.noise import GRID, fit_noise, mean_squares, robust_log_likelihood
from tinyude.refinement.starts import MeasurementModel, with_starts
from tinyude.refinement.stretches import Batch, Stretch, batch_of
from tinyude.refinement.thinning import reduced
from tinyude.refinement.unknowns import Unknowns

Array = NDArray[Any]
MakeFilter = Callable[[Field, Batch, Plan], Filter]
COARSE_ROWS = 5_000  # rows of the first fit, for values far from the truth
NOISE_ROWS = 6_000  # rows used in the search for the noise
FEW_REJECTED = 0.02  # share of rows
CONTINUED = 4  # rounds of noise and unknowns for each process noise of a continuation
SAME_NOISE = 0.1  # relative change of a measurement variance below which no new solution is needed
WHITE = (0.5, 1.6)  # range of the mean squared innovation of a model that explains the rows up to sensor noise
CUT_PRICE = 10.0  # log-likelihood that a cut must gain, in addition to that of its new start state


@dataclass(frozen=True)
class Setup:
    """What all model structures share.

    Attributes
    ----------
    measurement : MeasurementModel
    plan : Plan
    rate : array (states,)
        Typical rate of the states whose equation may be incomplete; 0 for the others.
    floor : array (channels,)
        Least measurement variance.
    make : callable
        Field, batch and plan to a Filter.
    spent : callable
        Whether the work budget is spent.
    part : callable
        Count to a callable: whether the first of `count` equal parts of the remaining work is done.
    """

    measurement: MeasurementModel
    plan: Plan
    rate: Array
    floor: Array
    make: MakeFilter
    spent: Callable[[], bool] = bool
    part: Callable[[int], Callable[[], bool]] = lambda _: bool


@dataclass(frozen=True)
class Estimate:
    """A refined structure.

    Attributes
    ----------
    field : Field
    solution : Solution
    batch : Batch
        The stretches, cut at jumps.
    noise : Noise
    kappa : float
        Process noise as a share of rate^2 per second.
    gate : float
    log_likelihood : float
    """

    field: Field
    solution: Solution
    batch: Batch
    noise: Noise
    kappa: float
    gate: float
    log_likelihood: float

    @property
    def unknowns(self) -> Unknowns:
        return self.solution.unknowns


def estimate(
    setup: Setup, field: Field, unknowns: Unknowns, stretches: Sequence[Stretch],
    rounds: int = 4,
) -> Estimate:  # fmt: skip
    """Refine the unknowns of one field over the stretches.

    If the given values already explain the rows up to sensor noise, without process noise. Otherwise with much of
    it first, so that a model far from the truth converges; then jumps are cut out and the process noise is lowered
    as far as the likelihood allows. At 0 every row has its full weight.
    """
    whole = batch_of(with_starts(stretches, setup.measurement))
    now = _exact(setup, field, unknowns, whole)
    if now is None and whole.rows > 2 * COARSE_ROWS:
        few = reduced(stretches, COARSE_ROWS, setup.plan.longest_step, 3)
        unknowns = estimate(setup, field, unknowns, few).unknowns
        now = _exact(setup, field, unknowns, whole)
    begun = now.solution.passed if now is not None else None
    now = now or _with_noise(setup, _begin(setup, field, unknowns, whole))
    for _ in range(rounds):
        before = now = replace(now, solution=_solve(setup, now, begun))
        begun = None
        now = _with_noise(setup, _cut_anew(setup, now, whole))
        if _converged(before, now) or setup.spent():
            return _passed_anew(setup, now)
    return replace(now, solution=_solve(setup, now))


def estimate_on(setup: Setup, field: Field, unknowns: Unknowns, like: Estimate, search: bool = True) -> Estimate:
    """Refine another structure over the stretches of an estimate; without `search`, under its noise too."""
    nothing = replace(like.solution, unknowns=unknowns)
    now = replace(like, field=field, solution=nothing)
    now = _with_noise(setup, now) if search else now
    now = replace(now, solution=_solve(setup, now))
    if search and len(unknowns) and not setup.spent():
        now = _with_noise(setup, now)
        now = replace(now, solution=_solve(setup, now))
    return now


def likeliest(setup: Setup, found: Estimate, batch: Batch) -> float:
    """One-step log-likelihood of these rows, under the most likely noise for this model."""
    nothing = replace(found, batch=batch, gate=0.0, log_likelihood=-np.inf)  # so that the whole grid is searched
    return _with_noise(replace(setup, spent=bool), nothing).log_likelihood


def one_step(setup: Setup, found: Estimate, batch: Batch) -> float:
    """One-step log-likelihood of these rows, under the noise of the estimate: at most that of `likeliest`."""
    filter_ = setup.make(found.field, _some_rows(batch), setup.plan)
    return robust_log_likelihood(filter_.run(found.unknowns.values, found.noise, 0.0, sensitivities=False), 0.0)


def explained(found: Estimate) -> bool:
    """Whether the innovations are sensor noise, without any process noise."""
    passed = found.solution.passed
    ratio = passed.squares.sum() / max(passed.counts.sum(), 1.0)
    return bool(found.kappa == 0.0 and WHITE[0] < ratio < WHITE[1])


def continuation(setup: Setup, found: Estimate) -> list[Estimate]:
    """The same structure under decreasing process noise, each from the previous one; the last without any.

    One-step predictions are best under the most likely process noise; an incomplete model may simulate
    better when fitted with less. Held-back free runs decide which does.
    """
    path = []
    for kappa in (0.01 * found.kappa, 0.0) if found.kappa else ():
        found = replace(found, gate=0.0, kappa=kappa)
        for _ in range(CONTINUED):
            found = replace(_with_noise(setup, found, (kappa,)), gate=0.0)
            found = replace(found, solution=_solve(setup, found))
            if found.solution.converged or setup.spent():
                break
        path.append(found)
    return path


def polished(setup: Setup, found: Estimate, stretches: Sequence[Stretch], rounds: int = 8) -> Estimate:
    """The same fit over these stretches, with its process noise, until it converges or the work is spent."""
    more = solve_with_noise(setup, replace(found, batch=batch_of(with_starts(stretches, setup.measurement))), rounds)
    solved = more.solution is not found.solution  # otherwise its rows are those of other stretches
    return more if solved and np.isfinite(more.solution.passed.cost) else found


def simulation_fit(setup: Setup, field: Field, unknowns: Unknowns, stretches: Sequence[Stretch]) -> Estimate:
    """Without process noise, from the given values, without jump detection: least squares of simulated stretches."""
    whole = batch_of(with_starts(stretches, setup.measurement))
    spread = np.nanvar(whole.samples, axis=0) + setup.floor
    start = replace(_begin(setup, field, unknowns, whole), noise=Noise(spread, np.zeros(field.states)))
    return solve_with_noise(setup, start, CONTINUED)


def solve_with_noise(setup: Setup, now: Estimate, rounds: int) -> Estimate:
    """Alternate unknowns and measurement noise, with fixed process noise; the last finite result."""
    best = now
    for _ in range(rounds):
        now = replace(now, solution=_solve(setup, now))
        ratio = mean_squares(now.solution.passed)
        if not np.isfinite(now.solution.passed.cost):
            return best
        best = now
        if setup.spent() or (now.solution.converged and np.all(np.abs(ratio - 1.0) < SAME_NOISE)):
            break
        measurement = np.maximum(now.noise.measurement * np.clip(ratio, 0.01, 100.0), setup.floor)
        now = replace(now, noise=Noise(measurement, now.noise.process))
    return best


def _converged(before: Estimate, now: Estimate) -> bool:
    """Whether the solution is consistent with its noise and cuts."""
    same = now.kappa == before.kappa and np.array_equal(now.batch.offsets, before.batch.offsets)
    ratio = now.noise.measurement / before.noise.measurement
    return bool(same and before.solution.converged and np.all(np.abs(ratio - 1.0) < SAME_NOISE))


def _passed_anew(setup: Setup, now: Estimate) -> Estimate:
    """The same unknowns, with a pass under the latest noise and cuts: sums and likelihood must agree."""
    passed = setup.make(now.field, now.batch, setup.plan).run(now.unknowns.values, now.noise, now.gate)
    return replace(now, solution=replace(now.solution, passed=passed))


def _solve(setup: Setup, now: Estimate, begun: Passed | None = None) -> Solution:
    filter_ = setup.make(now.field, now.batch, setup.plan)
    return gauss_newton(filter_, now.unknowns, now.noise, now.gate, spent=setup.spent, begun=begun)


def _begin(setup: Setup, field: Field, unknowns: Unknowns, whole: Batch) -> Estimate:
    """The initial state: the sensors' noise, every row used."""
    noise = Noise(setup.measurement.sigma**2, np.zeros(field.states))
    nothing = Passed(*([np.zeros(0)] * 10))
    return Estimate(field, Solution(unknowns, nothing, 0, False), whole, noise, 0.0, 0.0, -np.inf)


def _exact(setup: Setup, field: Field, unknowns: Unknowns, whole: Batch) -> Estimate | None:
    """Without process noise, cut at jumps; None unless few rows are rejected and the others are sensor noise.

    Its pass is that at the given values.
    """
    start = replace(_begin(setup, field, unknowns, whole), gate=GATE)
    cut = _cut(setup, start)
    if cut is None:
        return None
    passed = setup.make(field, cut.batch, setup.plan).run(unknowns.values, cut.noise, GATE)
    ratio = mean_squares(passed)
    explained = rejected_rows(passed).mean() < FEW_REJECTED and np.all((ratio > 0.3) & (ratio < 2.0))
    return replace(cut, solution=replace(cut.solution, passed=passed)) if explained else None


def _with_noise(setup: Setup, now: Estimate, grid: Sequence[float] = GRID) -> Estimate:
    """The most likely noise, found on a part of the rows; its likelihood over that part."""
    filter_ = setup.make(now.field, _some_rows(now.batch), setup.plan)
    values, near = now.unknowns.values, now.kappa if np.isfinite(now.log_likelihood) else None
    noise, kappa, score = fit_noise(
        filter_, values, now.noise, setup.rate, setup.floor, now.gate, grid, near, setup.spent
    )
    return replace(now, noise=noise, kappa=kappa, log_likelihood=score)


def _some_rows(batch: Batch) -> Batch:
    """Stretches spread over the batch with about NOISE_ROWS rows; long ones are shortened."""
    if batch.rows <= NOISE_ROWS:
        return batch
    wanted = max(1, min(len(batch.stretches), 6))
    places = np.unique(np.linspace(0, len(batch.stretches) - 1, wanted).astype(int))
    return batch_of([batch.stretches[k].cut(0, NOISE_ROWS // len(places)) for k in places])


def _cut_anew(setup: Setup, now: Estimate, whole: Batch) -> Estimate:
    """Cut the whole record where the state jumps under the current unknowns, if that raises the likelihood."""
    best, best_score = now, None
    measurement = np.maximum(now.noise.measurement, 0.25 * setup.measurement.sigma**2)
    for kappa in sorted({0.0, 0.01 * now.kappa}, reverse=True):
        noise = Noise(measurement, kappa * setup.rate**2)
        cut = _cut(setup, replace(now, batch=whole, noise=noise, kappa=kappa, gate=GATE))
        if cut is None:
            break
        if now.kappa == kappa and np.array_equal(cut.batch.offsets, now.batch.offsets):
            return now
        if best_score is None:
            best_score = record_score(setup, now)
        score = record_score(setup, cut)
        if score > best_score:
            best, best_score = cut, score
    return best


def _cut(setup: Setup, now: Estimate) -> Estimate | None:
    """Cut at every jump; None if too much is rejected or nothing is left: then the model is wrong, not the rows."""
    passed = setup.make(now.field, now.batch, setup.plan).run(now.unknowns.values, now.noise, now.gate, False)
    if not np.isfinite(passed.cost) or rejected_rows(passed).mean() > MOST_REJECTED:
        return None
    parts = cut_at_jumps(now.batch, passed)
    if not parts:
        return None
    return replace(now, batch=batch_of(with_starts(parts, setup.measurement)))


def record_score(setup: Setup, now: Estimate) -> float:
    """Log-likelihood of the whole record minus the price of the cuts."""
    passed = setup.make(now.field, now.batch, setup.plan).run(now.unknowns.values, now.noise, now.gate, False)
    return robust_log_likelihood(passed, now.gate) - CUT_PRICE * len(now.batch.stretches)
