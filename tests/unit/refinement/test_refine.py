"""Refinement of whole fits: parameters, jumps, states that are not measured, the choice among candidates."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import tinyude as tu
from tinyude.errors import TinyUDEError
from tinyude.model.candidate import Candidate
from tinyude.refinement.choose import choose, simplest_first


def oscillator(times: np.ndarray, damping: float, start: tuple[float, float] = (1.0, 0.0)) -> np.ndarray:
    """Exact states of x'' = -4 x - damping x'."""
    rate = np.sqrt(4.0 - 0.25 * damping**2)
    a, b = start[0], (start[1] + 0.5 * damping * start[0]) / rate
    wave = a * np.cos(rate * times) + b * np.sin(rate * times)
    slope = rate * (-a * np.sin(rate * times) + b * np.cos(rate * times))
    return np.exp(-0.5 * damping * times)[:, None] * np.column_stack([wave, slope - 0.5 * damping * wave])


@pytest.fixture(scope="module")
def runs() -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Six decays at uneven times, two of them sampled half as often; windows take the other four."""
    rng = np.random.default_rng(5)
    times = [(0.08 if k > 3 else 0.04) * (np.arange(200) + rng.uniform(-0.2, 0.2, 200)) for k in range(6)]
    starts = np.random.default_rng(6).uniform(-2.0, 2.0, (6, 2))
    clean = [oscillator(t, 0.3, tuple(start)) for t, start in zip(times, starts, strict=True)]
    return times, [x + 0.01 * rng.standard_normal(x.shape) for x in clean]


def physics(damping: float = 0.1, **options: float) -> tu.Physics:
    c = tu.Parameter(damping, learn=True, **options)
    return tu.Physics(["x", "v"], ["v", "-4*x - c*v"], parameters={"c": c})


def test_refine_finds_a_parameter_within_its_interval(runs) -> None:
    times, samples = runs
    ude = tu.UDE(physics(0.9, min=0.0), hidden=(), library=[]).fit(samples, t=times)
    [(name, value, low, high)] = ude.parameters_
    assert name == "c" and low < 0.3 < high and high - low < 0.02
    assert abs(value - 0.3) < 0.01
    kept = next(c for c in ude.candidates_ if c.best)
    assert kept.name == "parameters"
    assert repr(kept).startswith("Candidate('parameters', unknowns=") and repr(kept).endswith(", kept)")
    assert len(repr(kept)) < 120 and repr(kept.model).count("\n") == 0
    assert ude.diagnostics_["refinement"]["process_noise"] == 0.0


def test_refine_is_repeatable_and_can_be_left_out(runs) -> None:
    times, samples = runs
    first, again = (tu.UDE(physics(), hidden=(), library=[]).fit(samples, t=times) for _ in range(2))
    assert first.parameters_ == again.parameters_
    plain = tu.UDE(physics(), hidden=(), library=[], refine=False).fit(samples[:4], t=times[:4])
    assert not hasattr(plain, "candidates_")
    with pytest.raises(TinyUDEError, match="thorough"):
        tu.UDE(physics(), hidden=(), library=[], refine="much").fit(samples, t=times)


def test_refine_keeps_a_parameter_that_the_record_does_not_move() -> None:
    """A torque on an arm that stands still tells of no inertia; without bounds it ran to any number."""
    rng = np.random.default_rng(1)
    times = 0.01 * np.arange(1500)
    parameters = {
        "G": tu.Parameter(1.0, learn=True), "c": tu.Parameter(0.1, learn=True), "J": tu.Parameter(0.05, learn=True)
    }  # fmt: skip
    arm = tu.Physics(["th", "w"], ["w", "(u - G*sin(th) - c*w)/J"], inputs=["u"], parameters=parameters)
    ude = tu.UDE(arm, measured=["th"], hidden=(), library=[])
    ude.fit(1e-3 * rng.standard_normal((1500, 1)), t=times, u=np.sin(2.0 * times))
    found = {name: (value, low, high) for name, value, low, high in ude.parameters_}
    assert found["c"] == (0.1, 0.1, 0.1) and found["J"] == (0.05, 0.05, 0.05)
    assert "parameter J = 0.05, kept" in str(ude)
    assert "The parameter J is not identified: the record does not move it from 0.05." in " ".join(str(ude).split())


def test_refine_learns_beside_a_parameter_that_is_not_identified() -> None:
    rng = np.random.default_rng(3)
    times = 0.01 * np.arange(2000)
    drive = np.sin(2.0 * times)
    x = np.zeros(2000)
    for k in range(1999):
        x[k + 1] = x[k] + 0.01 * (-0.5 * x[k] + drive[k])
    both = tu.Physics(
        ["x", "y"], ["-a*x + u", "-b*y + 1e-6*d*x"], inputs=["u"],
        parameters={n: tu.Parameter(v, learn=True) for n, v in (("a", 1.0), ("b", 2.0), ("d", 5.0))},
    )  # fmt: skip
    samples = np.column_stack([x, 0.01 * np.cos(times)]) + 1e-3 * rng.standard_normal((2000, 2))
    ude = tu.UDE(both, hidden=(), library=[]).fit(samples, t=times, u=drive)
    found = {name: (value, low, high) for name, value, low, high in ude.parameters_}
    value, low, high = found["a"]
    assert value == pytest.approx(0.5, abs=0.02) and high > low
    assert found["d"] == (5.0, 5.0, 5.0)


def test_refine_gives_smoothed_states_with_intervals(runs) -> None:
    """They hold the truth as often as they say; without the errors of the parameters it was half of the rows."""
    times, samples = runs
    states = tu.UDE(physics(), hidden=(), library=[]).fit(samples, t=times).states_
    starts = np.random.default_rng(6).uniform(-2.0, 2.0, (6, 2))
    truth = np.concatenate(
        [oscillator(states.times[states.run == k], 0.3, tuple(start)) for k, start in enumerate(starts)]
    )
    apart = np.abs(states.values - truth)
    low, high = states.interval()
    assert apart.max() < 0.01 and 0.75 < ((low < truth) & (truth < high)).mean() < 1.0
    assert np.sqrt(np.mean((apart / states.errors) ** 2)) == pytest.approx(1.0, abs=0.4)


def test_refine_identifies_with_a_state_that_is_not_measured(tmp_path) -> None:
    """Two tanks of which only the lower one is seen."""
    rng = np.random.default_rng(1)
    t = 4.0 * np.arange(400)
    u = 3.0 + np.repeat(rng.uniform(-1.5, 1.5, 40), 10)
    true = tu.Physics(["x1", "x2"], ["u*0.05 - 0.06*sqrt(x1)", "0.06*sqrt(x1) - 0.05*sqrt(x2)"], inputs=["u"])
    x, states = np.array([5.0, 5.0]), []
    for k in range(400):
        states.append(x)
        for _ in range(40):
            x = x + 0.1 * true.field(x, u[k : k + 1])
    level = np.array(states)[:, 1] + 0.01 * rng.standard_normal(400)
    guess = {name: tu.Parameter(0.1, learn=True, min=0.0) for name in ("a", "b")}
    told = tu.Physics(["x1", "x2"], ["u*0.05 - a*sqrt(x1)", "a*sqrt(x1) - b*sqrt(x2)"], inputs=["u"], parameters=guess)
    ude = tu.UDE(told, measured=["x2"], unmeasured={"x1": (4.0, 2.0)}, hold="held", library=[]).fit(level, t=4.0, u=u)
    found = {name: value for name, value, _, _ in ude.parameters_}
    assert found["a"] == pytest.approx(0.06, rel=0.02) and found["b"] == pytest.approx(0.05, rel=0.02)
    assert np.abs(ude.states_.values[50:, 0] - np.array(states)[50:, 0]).max() < 0.3
    ude.save(tmp_path / "tanks.tinyude")
    again = tu.load(tmp_path / "tanks.tinyude")
    assert again.equations() == ude.equations() and again.unmeasured == {"x1": [4.0, 2.0]}
    assert np.array_equal(again.simulate([5.0, 5.0], t, u), ude.simulate([5.0, 5.0], t, u))
    with pytest.raises(TinyUDEError, match="x1 is not measured"):
        again.score(level, t=4.0, u=u)


def test_fit_says_that_an_unseen_state_takes_a_guess() -> None:
    told = tu.Physics(["x1", "x2"], ["-x1", "x1 - x2"])
    with pytest.raises(TinyUDEError, match="unmeasured="):
        tu.UDE(told, measured=["x2"]).fit(np.linspace(1.0, 2.0, 100), t=0.1)
    with pytest.raises(TinyUDEError, match="refine=True"):
        tu.UDE(told, measured=["x2"], unmeasured={"x1": (1.0, 1.0)}, refine=False).fit(np.arange(100.0), t=0.1)


def candidate(name: str, evidence: float, scores: list[float], network: bool = False) -> Candidate:
    model = SimpleNamespace(parts=[object()] if network else [])
    return Candidate(name, model, evidence, np.array(scores))


def best(candidates: list[Candidate], by_free_runs: bool, by_evidence: bool) -> str:
    return next(c.name for c in choose(candidates, by_free_runs, by_evidence) if c.best)


def test_choose_keeps_the_first_that_is_near_the_best() -> None:
    known = candidate("known", 0.0, [0.50, 0.52, 0.48, 0.51, 0.49])
    terms = candidate("terms", 5.0, [0.20, 0.21, 0.19, 0.20, 0.20])
    network = candidate("network", 9.0, [0.19, 0.23, 0.16, 0.22, 0.19])
    assert best([known, terms, network], True, False) == "terms"
    assert best([known, terms, network], False, False) == "network"  # too few free runs: evidence alone


def test_choose_leaves_out_what_the_record_contradicts() -> None:
    known = candidate("known", 0.0, [0.50, 0.52, 0.48, 0.51, 0.49])
    terms = replace(candidate("terms", 5.0, [0.20, 0.21, 0.19, 0.20, 0.20]), note="less likely")
    assert best([known, terms], by_free_runs=True, by_evidence=False) == "known"
    assert best([terms], by_free_runs=True, by_evidence=False) == "terms"  # nothing else is there


def test_choose_does_not_keep_what_loses_a_run_that_another_predicts() -> None:
    lost = candidate("terms", 0.0, [0.4, 0.03, 0.02, 0.03, 0.02, 0.03])
    more = candidate("1 more", 0.0, [0.02, 0.03, 0.02, 0.03, 0.02, 0.03])
    assert best([lost, more], by_free_runs=True, by_evidence=False) == "1 more"
    near = candidate("terms", 0.0, [0.03, 0.03, 0.02, 0.03, 0.02, 0.027])
    assert best([near, more], by_free_runs=True, by_evidence=False) == "terms"


def test_choose_asks_for_more_than_chance_in_blocks_that_share_no_rows() -> None:
    """Terms that lose one block of three, as those of an input that stepped once do, are not supported."""
    blocks = [0, 0, 1, 1, 2, 2]
    bare = candidate("parameters", 0.0, [0.06, 0.06, 0.06, 0.06, 0.06, 0.06])
    lost = candidate("terms", 0.0, [0.010, 0.010, 0.30, 0.30, 0.010, 0.010])
    alike = candidate("terms", 0.0, [0.030, 0.010, 0.030, 0.020, 0.020, 0.030])
    assert np.mean(np.log(lost.scores)) < np.mean(np.log(bare.scores)) - np.log(1.25)  # the mean alone would keep it
    assert next(c.name for c in choose([bare, lost], True, False, blocks) if c.best) == "parameters"
    assert next(c.name for c in choose([bare, alike], True, False, blocks) if c.best) == "terms"


def test_choose_keeps_a_network_only_for_clearly_smaller_errors() -> None:
    """It is known only where the record was: a little better there says nothing of other motions."""
    formula = candidate("1 more", 0.0, [0.010, 0.012, 0.011, 0.010, 0.012])
    little = candidate("network", 0.0, [0.009, 0.011, 0.010, 0.009, 0.011], network=True)
    much = candidate("network", 0.0, [0.005, 0.006, 0.005, 0.005, 0.006], network=True)
    assert best([formula, little], True, False) == "1 more"
    assert best([formula, much], True, False) == "network"


def test_choose_takes_the_best_of_networks() -> None:
    """Formulas are kept for their simplicity, networks for what they predict."""
    windows = candidate("windows", 0.0, [0.20, 0.04, 0.02, 0.04, 0.06, 0.02], network=True)
    streaming = candidate("streaming", 0.0, [0.10, 0.04, 0.02, 0.04, 0.05, 0.02], network=True)
    assert best([windows, streaming], True, False) == "streaming"
    formula = replace(windows, model=candidate("", 0.0, []).model)
    assert best([formula, streaming], True, False) == "windows"


def test_choose_rejects_learning_that_hurts() -> None:
    known = candidate("known", 0.0, [0.10, 0.12, 0.09, 0.11, 0.10])
    terms = candidate("terms", 50.0, [0.30, 0.35, 0.28, 0.33, 0.31])
    assert best([known, terms], True, False) == "known"
    assert best([known, terms], True, True) == "known"


def test_choose_keeps_learned_parameters_unless_they_predict_clearly_worse() -> None:
    """They are to be learned: values that are as good as the given ones are not refused for these."""
    known = candidate("known", 0.0, [0.10, 0.12, 0.09, 0.11, 0.10])
    alike = candidate("parameters", 0.0, [0.10, 0.11, 0.10, 0.11, 0.10])
    worse = candidate("parameters", 0.0, [0.20, 0.24, 0.18, 0.22, 0.20])
    assert best([known, alike], True, False) == "parameters"
    assert best([known, worse], True, False) == "known"


def test_choose_sees_that_learning_helps_in_every_run() -> None:
    """One run with a large error makes the difference uncertain, not the ratio."""
    known = candidate("known", 0.0, [0.05, 0.04, 0.08, 0.05, 0.90])
    terms = candidate("terms", 5.0, [0.01, 0.01, 0.02, 0.01, 0.20])
    assert best([known, terms], True, False) == "terms"
    streaming = candidate("streaming", 0.0, [0.012, 0.009, 0.02, 0.011, 0.21])
    assert best([streaming, terms], True, False) == "streaming"  # within a standard error, and simpler
    assert best([replace(known, name="streaming"), terms], True, False) == "terms"


def test_simplest_first_places_networks_last() -> None:
    model = (
        tu.UDE(physics(), hidden=(), library=[], refine=False)
        .fit(oscillator(0.02 * np.arange(600), 0.3), t=0.02)
        .model_
    )
    made = [
        Candidate(name, model, cost=cost) for name, cost in (("2 more", 3), ("terms", 2), ("windows", 9), ("known", 0))
    ]
    wide = replace(
        made[2],
        name="streaming",
        model=replace(model, hidden=(2,), weights=np.ones(14), network_on=np.ones(len(model.on))),
    )
    order = [c.name for c in sorted([*made, wide], key=simplest_first)]
    assert order == ["known", "windows", "terms", "2 more", "streaming"]


def test_simplest_first_places_further_effects_of_an_input_after_effects_of_the_state() -> None:
    """In a swing-up the torque has the sign of the speed: a weaker motor and friction look alike."""
    told = tu.Physics(["x", "v"], ["v", "u - 4*x"], inputs=["u"])
    x = oscillator(0.02 * np.arange(600), 0.3)
    model = tu.UDE(told, hidden=(), library=["v", "u"], refine=False).fit(x, t=0.02, u=0.1 * np.sign(x[:, 1])).model_
    friction = replace(model, coefficients=np.where([[str(term) == "v" for term in model.terms]], -0.3, 0.0))
    weaker = replace(model, coefficients=np.where([[str(term) == "u" for term in model.terms]], -0.3, 0.0))
    assert friction.coefficients.any() and weaker.coefficients.any()
    made = [Candidate("windows", weaker, cost=1), Candidate("1 more", friction, cost=2)]
    assert [c.name for c in sorted(made, key=simplest_first)] == ["1 more", "windows"]


def test_fit_takes_over_the_streaming_model_where_that_is_best(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    """The cogging is in no offered term: no candidate explains the rows, and the streaming learner is asked."""
    plant = tu.systems.pendulum("A", residual="cogging")
    t, Y = plant.stream(noise=0.001, seed=1, seconds=8.0)

    def marked(candidates: list[Candidate], *_: object) -> list[Candidate]:
        return [replace(c, best=c.name == "streaming") for c in candidates]

    monkeypatch.setattr("tinyude.refinement.refine.choose", marked)
    ude = tu.UDE(plant.physics, hidden=(), library=["omega"]).fit(Y[::4], t=t[::4])
    assert ude.diagnostics_["refinement"]["best"] == "streaming"
    alone = tu.UDE(plant.physics, hidden=(), library=["omega"], updates=1).fit(Y[::4], t=t[::4])
    states = Y[::100]
    assert np.allclose(ude.predict(states), alone.predict(states), rtol=1e-12)
    ude.save(tmp_path / "streamed.tinyude")
    assert np.array_equal(tu.load(tmp_path / "streamed.tinyude").predict(states), ude.predict(states))
