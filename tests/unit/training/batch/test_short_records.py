"""Transients, stiff stretches, waves of two states and angles that swing: what short public records are full of."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import tinyude as tu
from tinyude.data.streams import as_stream
from tinyude.physics import Physics
from tinyude.training.batch import fit as batch
from tinyude.training.batch.fit import batch_fit
from tinyude.training.batch.regression import BatchOptions, Regression
from tinyude.training.batch.state_fit import StateFit
from tinyude.training.batch.windows import ENDS

Array = np.ndarray


def record(rates: object, starts: list[list[float]], period: float, rows: int, noise: float = 0.01) -> list[Array]:
    """Noisy samples of runs of a system."""
    rng, t = np.random.default_rng(1), np.arange(rows) * period
    runs = [solve_ivp(rates, (0.0, t[-1]), x, t_eval=t, rtol=1e-9, atol=1e-11, method="LSODA").y.T for x in starts]
    size = noise * np.sqrt(np.mean(np.concatenate(runs) ** 2, axis=0))
    return [run + size * rng.standard_normal(run.shape) for run in runs]


def regression(physics: Physics, runs: list[Array], period: float, library: str | None = "auto") -> Regression:
    stream = as_stream(runs, period, None, list(physics.states), ())
    return Regression(physics, stream, BatchOptions(library=library))


def left(work: Regression, state: int) -> float:
    """chi^2 a row of the known physics alone, in units of noise."""
    problem = work.problem(state)
    return float(np.mean(problem.y**2)) / problem.whitener.expected


def test_run_ends_tell_where_a_transient_begins() -> None:
    runs = record(lambda t, x: -4.0 * x, [[3.0], [1.0]], 0.02, 200)
    work = regression(Physics(["x"], ["-4*x"]), runs, 0.02, None)
    ends = [batch for batch in work.batches if batch.tau]
    assert sum(len(batch.run) for batch in ends) == 2 * 2 * len(ENDS)
    first = work.targets.x[(work.targets.run == 0)].max()
    assert first == pytest.approx(3.0, abs=0.1)  # the state of the first sample; the first centre is three later
    assert left(work.corrected(), 0) == pytest.approx(1.0, abs=0.4)  # their noise is told as exactly as the others'


def test_a_network_alone_sees_the_beginning_of_a_fast_transient() -> None:
    def rates(t: float, x: Array) -> list[float]:
        return [x[0] * (3.0 - x[0] - 2.0 * x[1]), x[1] * (2.0 - x[1] - x[0])]

    runs = record(rates, [[5.0, 4.3]], 0.02, 400)
    physics = Physics(["a", "b"], ["a*(3 - a - 2*b)", "b*(2 - b)"])
    ude = tu.UDE(physics, library=None, network="kernel", refine=False).fit(runs, t=0.02)
    x = runs[0]
    wanted = -x[:, 0] * x[:, 1]
    found = ude.residual(x)[:, 1]
    assert np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2)) < 0.08  # 0.2 without the ends


def test_node_states_do_not_follow_a_stiff_field() -> None:
    """A bursting neuron rests between bursts on a path that its fast states are drawn to; long windows fit there."""

    def rates(t: float, x: Array) -> list[float]:
        return [
            x[1] + 3.0 * x[0] ** 2 - x[0] ** 3 - x[2] + 3.2,
            1.0 - 5.0 * x[0] ** 2 - x[1],
            0.006 * (4.0 * (x[0] + 1.6) - x[2]),
        ]

    runs = record(rates, [[-1.0, -2.0, 3.0]], 0.12, 1667)
    physics = Physics(["x", "y", "z"], ["y + 3*x**2 - x**3 - z + 3.2", "1 - 5*x**2 - y", "0.006*(4*(x + 1.6) - z)"])
    work = regression(physics, runs, 0.12)
    assert work.targets.half.max() > 100
    assert max(left(work.corrected(), state) for state in range(3)) < 1.4  # 230 where every window's states follow it
    assert all(fit.name == "known" for fit in best(physics, runs, 0.12).values())


def best(physics: Physics, runs: list[Array], period: float) -> dict:
    return batch_fit(physics, as_stream(runs, period, None, list(physics.states), ()), BatchOptions()).best.states


def test_rich_library_holds_waves_of_two_states() -> None:
    def rates(t: float, x: Array) -> list[float]:
        return [1.4 + np.sin(x[1]) * np.cos(x[0]), 1.0]

    runs = record(rates, [[2.2, 0.7], [0.0, -0.1]], 0.02, 700)
    states = best(Physics(["a", "b"], ["1.4", "1"]), runs, 0.02)
    assert [fit.name for fit in states.values()] == ["terms", "known"]
    assert states[0].terms.coefficients == pytest.approx([1.0], abs=0.02)


def test_a_state_that_swings_beyond_one_revolution_may_enter_as_it_is() -> None:
    """Thomas' system: every state enters by its sine, and one also as it is, which is not told."""

    def rates(t: float, x: Array) -> Array:
        return np.sin(np.roll(x, -1)) - 0.185 * x

    runs = record(rates, [[2.4, 2.4, 3.6]], 0.04, 3000)
    physics = Physics(["x", "y", "z"], ["sin(y)", "sin(z) - 0.185*y", "sin(x) - 0.185*z"])
    work = regression(physics, runs, 0.04)
    assert physics.angles == ("x",) and np.ptp(work.targets.columns[:, 0]) > 2.0 * np.pi and not work.rotating
    assert best(physics, runs, 0.04)[0].terms.coefficients == pytest.approx([-0.185], abs=2e-3)


def test_a_shaft_that_goes_round_rotates() -> None:
    runs = record(lambda t, x: [x[1], 2.0 - 0.5 * x[1] - 3.0 * np.sin(x[0])], [[0.0, 6.0]], 0.01, 2000)
    assert regression(Physics(["q", "w"], ["w", "2 - 3*sin(q)"]), runs, 0.01).rotating == (0,)


def test_a_kernel_network_competes_with_no_perceptron() -> None:
    """Two transients to rest: held-back runs could not tell an error of 0.27 from one of 0.002."""

    def rates(t: float, x: Array) -> list[float]:
        return [5.1 * (x[1] - x[0]), x[0] * (12.0 - x[2]) - x[1], x[0] * x[1] - 1.67 * x[2]]

    runs = record(rates, [[2.3, 8.1, 12.4], [10.0, 20.0, 30.0]], 8.0 / 1199, 1200)
    physics = Physics(["x", "y", "z"], ["5.1*(y - x)", "12*x - y", "x*y - 1.67*z"])
    ude = tu.UDE(physics, library=None, network="kernel").fit(runs, t=8.0 / 1199)
    assert "streaming" not in {candidate.name for candidate in ude.candidates_}


@pytest.mark.parametrize("library", ["auto", None])
def test_a_rotating_state_that_no_equation_reads_is_taken_for_an_angle(library: str | None) -> None:
    """A driven pendulum told without its weight: over 20 revolutions no shape but a sine fits."""
    runs = record(lambda t, x: [x[1], 1.2 - 0.3 * x[1] - np.sin(x[0])], [[0.1, 0.0], [2.0, 1.0]], 0.02, 2000)
    physics = Physics(["q", "w"], ["w", "1.2 - 0.3*w"])
    found = batch_fit(physics, as_stream(runs, 0.02, None, ["q", "w"], ()), BatchOptions(library=library))
    q = np.linspace(0.0, 6.28, 50)
    assert np.ptp(runs[0][:, 0]) > 60.0 and found.best.model.physics.angles == ("q",)
    error = found.best.model.residual(np.stack([q, np.full(50, 3.8)], axis=1))[:, 1] + np.sin(q)
    assert np.sqrt(np.mean(error**2)) < 0.1


def test_a_position_that_goes_far_is_no_angle() -> None:
    runs = record(lambda t, x: [x[1], 1.5 - 0.2 * x[1] - 0.05 * x[1] ** 2], [[0.0, 8.0]], 0.05, 1000)
    physics = Physics(["x", "v"], ["v", "1.5 - 0.2*v"])
    found = batch_fit(physics, as_stream(runs, 0.05, None, ["x", "v"], ()), BatchOptions())
    assert np.ptp(runs[0][:, 0]) > 60.0 and found.best.model.physics.angles == ()


def test_a_rate_that_falls_again_is_found() -> None:
    """Bacterial respiration: a shape that rises and falls, in a fast equation, which many terms would mimic."""

    def rates(t: float, x: Array) -> list[float]:
        used = x[0] * x[1] / (1.0 + 0.48 * x[0] ** 2)
        return [18.3 - x[0] - used, 11.23 - used]

    runs = record(rates, [[0.1, 30.4], [13.2, 5.21]], 0.02, 800)
    found = best(Physics(["x", "y"], ["18.3 - x", "11.23 - x*y/(1 + 0.48*x**2)"]), runs, 0.02)[0]
    (entry,) = found.terms.entries
    assert {factor.kind for factor in entry} == {"inhibited", "power"}
    assert found.terms.coefficients == pytest.approx([-1.0 / 0.48], rel=0.01)


def test_node_states_that_stay_are_not_searched_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, final = [], Regression.final

    def counted(work: Regression, fits: dict[int, StateFit]) -> dict[int, list[StateFit]]:
        calls.append(work)
        return final(work, fits)

    monkeypatch.setattr(Regression, "final", counted)
    monkeypatch.setattr(batch, "ONLY_NOISE", 0.0)
    runs = record(lambda t, x: [-x[0]], [[1.0]], 0.01, 300)
    batch_fit(Physics(["x"], ["-x"]), as_stream(runs, 0.01, None, ["x"], ()), BatchOptions())
    assert len(calls) == 1
