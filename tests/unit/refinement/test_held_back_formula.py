"""A formula is judged on blocks that it was not fitted to; nothing that was not judged replaces what was chosen."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.candidate import Candidate
from tinyude.physics import Physics
from tinyude.refinement import guard, support
from tinyude.refinement import identified as kept
from tinyude.refinement.choose import clearly_worse
from tinyude.refinement.estimate import Estimate, Setup, estimate
from tinyude.refinement.gauss_newton import accepted_step as gauss_newton_step
from tinyude.refinement.gauss_newton import gauss_newton
from tinyude.refinement.guard import HeldBack, _without_each_fold, free_run_errors, held_back, settled
from tinyude.refinement.hybrid import hybrid, without_parts
from tinyude.refinement.prepare import Sensors, make_setup
from tinyude.refinement.records import Record, stretches_of
from tinyude.refinement.refine import Structures, _candidates
from tinyude.refinement.stretches import batch_of
from tinyude.refinement.structures import as_it_is
from tinyude.refinement.unknowns import empty_unknowns

DECAYS = (1.0, 1.1, 1.2, 1.0, 1.1, 1.2)


def decay(**options: Any) -> Physics:
    return Physics(["x"], ["-c*x"], parameters={"c": tu.Parameter(1.1, learn=True, **options)})


@pytest.fixture(scope="module")
def fitted() -> tuple[Setup, Estimate, HeldBack]:
    """The rate that six decays agree on best; each decays a little faster or slower."""
    rng, times = np.random.default_rng(0), 0.02 * np.arange(80)
    samples = [np.exp(-c * times)[:, None] + 1e-3 * rng.standard_normal((80, 1)) for c in DECAYS]
    records = [Record(times, x, np.zeros((80, 0))) for x in samples]
    model = tu.UDE(decay(), hidden=(), library=[], refine=False).fit(samples, t=[times] * 6).model_
    own, setup = hybrid(without_parts(model)), make_setup(model, records, Sensors((0,), (0,), ()))
    found = estimate(setup, own.field, own.unknowns, stretches_of(records, (), 1))
    return setup, found, held_back(setup, found.batch, found.noise)


def with_value(found: Estimate, value: float) -> Estimate:
    unknowns = found.unknowns.with_values(np.array([value]))
    return replace(found, solution=replace(found.solution, unknowns=unknowns))


def test_values_without_a_fold_are_those_of_a_new_fit_without_it(fitted) -> None:
    setup, found, parts = fitted
    for fold, values in _without_each_fold(setup, found, parts).items():
        others = [block for block, own in zip(parts.blocks, parts.fold, strict=True) if own != fold]
        filter_ = setup.make(found.field, batch_of(others), setup.plan)
        again = gauss_newton(filter_, found.unknowns, found.noise, found.gate).unknowns
        influence = again.values - found.unknowns.values
        assert values - found.unknowns.values == pytest.approx(influence, rel=0.2, abs=2e-4)
    assert abs(influence[0]) > 1e-3


def test_values_of_another_fit_are_judged_and_not_corrected(fitted) -> None:
    setup, found, parts = fitted
    wrong = with_value(found, 1.6)
    assert free_run_errors(setup, wrong, parts).mean() > 3.0 * free_run_errors(setup, found, parts).mean()


def test_values_of_another_fit_move_by_the_influence_of_one_block_only(fitted) -> None:
    """A sixth of the record at a rate a tenth away moves the value by a sixtieth; a new fit would move it by 0.5."""
    setup, found, parts = fitted
    wrong = with_value(found, 1.6)
    moved = _without_each_fold(setup, wrong, parts)
    assert len(moved) > 2 and max(abs(value[0] - 1.6) for value in moved.values()) < 0.1


def test_a_step_within_the_standard_errors_is_not_tried(fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    """At the fit, noise alone moves the value without a fold; elsewhere a full step may be too long."""
    setup, found, parts = fitted
    same = [replace(block, samples=np.exp(-1.1 * block.times)[:, None]) for block in parts.blocks]  # blocks that agree
    parts, tried = replace(parts, blocks=tuple(same)), []
    monkeypatch.setattr(guard, "accepted_step", lambda *a: tried.append(1) or gauss_newton_step(*a))
    _without_each_fold(setup, with_value(found, 1.1), parts)
    assert not tried
    _without_each_fold(setup, with_value(found, 1.6), parts)
    assert len(tried) == len(np.unique(parts.fold))


@pytest.mark.parametrize("spent", [False, True])
def test_estimate_is_fitted_to_the_blocks_that_judge_it_while_the_work_lasts(spent: bool, fitted) -> None:
    setup, found, parts = fitted
    unfinished = with_value(found, 1.6)
    assert settled(setup, unfinished, parts, lambda: False) is unfinished  # it is said to have converged
    unfinished = replace(unfinished, solution=replace(unfinished.solution, converged=False))
    made = settled(setup, unfinished, parts, lambda: spent)
    assert made.unknowns.values == pytest.approx([1.6] if spent else found.unknowns.values, rel=0.01)
    assert made.batch is parts.batch and len(made.solution.passed.states) == parts.batch.rows


@pytest.mark.parametrize(("guess", "fits"), [(1.1, 0), (1.5, 1)])
def test_a_parameter_that_stands_at_its_guess_is_kept_without_a_new_fit(
    guess: float, fits: int, fitted, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An incomplete model may fit elsewhere if its steps go on, and that was not compared on held-back runs."""
    setup, found, _ = fitted
    found, calls = with_value(found, 1.1), []
    model = replace(
        tu.UDE(decay(), hidden=(), library=[], refine=False).fit(np.exp(-0.022 * np.arange(200)), t=0.02).model_,
        physics=decay(),
    )
    given = decay().with_parameters({"c": guess})

    def fitted_again(_: Setup, now: Estimate, rounds: int) -> Estimate:
        calls.append(rounds)
        return now

    monkeypatch.setattr(kept, "solve_with_noise", fitted_again)
    unsure: dict[str, Any] = {"parameter_errors": np.array([2.0]), "covariance": None}
    monkeypatch.setattr(kept, "covariance_of", lambda _, __, ___, m: replace(m, **unsure))
    final, _ = kept.identified(setup, hybrid(without_parts(model)), found, model, given, lambda _: False)
    assert len(calls) == fits
    assert final.parameter_errors[0] == 0.0 and final.physics.parameters["c"].value == guess


def test_parameter_stays_where_its_return_would_worsen_held_back_runs(fitted, monkeypatch: pytest.MonkeyPatch) -> None:
    setup, found, parts = fitted
    model = tu.UDE(decay(), hidden=(), library=[], refine=False).fit(np.exp(-0.022 * np.arange(200)), t=0.02).model_
    unsure: dict[str, Any] = {"parameter_errors": np.array([2.0]), "covariance": None}
    monkeypatch.setattr(kept, "covariance_of", lambda _, __, ___, m: replace(m, **unsure))
    given, before = decay().with_parameters({"c": 1.5}), free_run_errors(setup, found, parts)

    def worse(now: Estimate) -> bool:
        return clearly_worse(free_run_errors(setup, now, parts), before)

    final, result = kept.identified(setup, hybrid(without_parts(model)), found, model, given, worse)
    assert result is found and final.parameter_errors[0] == 2.0


@pytest.mark.parametrize(("error", "noted"), [(0.01, False), (0.2, True)])
def test_rates_decide_only_where_free_runs_cannot(error: float, noted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A formula that leaves more of the rates than a network is refused if even the network does not run for long."""
    monkeypatch.setattr(support, "likeliest", lambda *_: 0.0)
    monkeypatch.setattr(support, "one_step", lambda *_: 1.0)
    model = tu.UDE(decay(), hidden=(), library=[], refine=False).fit(np.exp(-0.02 * np.arange(200)), t=0.02).model_
    other = replace(model)
    made = [Candidate(name, m, 0.0, np.full(6, error)) for name, m in (("windows", model), ("parameters", other))]
    nothing: Any = dict.fromkeys(("known", "windows", "parameters"))
    found = support.with_notes(nothing, made, nothing, nothing, lambda m: 1.0 if m is model else 5.0)
    assert bool(found[1].note) is noted and not found[0].note


def test_evidence_of_refinement_is_reduced_for_rows_that_it_did_not_use(fitted) -> None:
    """By one unit of log-likelihood for each unknown and share of the record; the windows used all rows."""
    setup, found, parts = fitted
    model = tu.UDE(decay(), hidden=(), library=[], refine=False).fit(np.exp(-0.022 * np.arange(200)), t=0.02).model_
    own = hybrid(without_parts(model))
    fixed = replace(found, field=as_it_is(model).field, solution=replace(found.solution, unknowns=empty_unknowns()))
    made = Structures({"parameters": own, "windows": as_it_is(model)}, {"parameters": found, "windows": fixed}, parts,
                      found.batch)  # fmt: skip
    refined, windows = ([c.evidence for c in _candidates(setup, made, unseen)] for unseen in (0.0, 0.5))
    assert np.subtract(refined, windows) == pytest.approx([0.5 * len(found.unknowns), 0.0])
