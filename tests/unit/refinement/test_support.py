"""What a record contradicts is not kept, however well it runs over held-back parts of the same record."""

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.experiments.studies.zoo import plant_named
from tinyude.model.model import Model
from tinyude.refinement.search import offered

WEIGHT, INERTIA = 3.3, 0.17
PERIOD = 0.005


def moved_by_hand(seed: int, seconds: float = 12.0) -> tuple[np.ndarray, np.ndarray]:
    """A pendulum whose weight a motor carries, pushed by a hand that no channel tells of: angle and torque."""
    rng = np.random.default_rng(seed)
    begins = np.arange(0.5, seconds, 1.7)
    pushes = rng.choice([-1.0, 1.0], len(begins)) * rng.uniform(1.5, 3.0, len(begins))
    angle, rate, samples, torques = 0.0, 0.0, [], []
    for t in PERIOD * np.arange(round(seconds / PERIOD)):
        samples.append(0.003 * np.round(angle / 0.003))
        torques.append(WEIGHT * np.sin(samples[-1]))
        hand = float(pushes[(begins <= t) & (t < begins + 0.3)].sum())
        for _ in range(5):
            friction = 0.2 * np.tanh(30.0 * rate) + 0.02 * rate
            rate += (torques[-1] - WEIGHT * np.sin(angle) - friction + hand) / INERTIA * PERIOD / 5
            angle += rate * PERIOD / 5
    return np.array(samples)[:, None], np.array(torques)[:, None]


def told(**bounds: float) -> tu.Physics:
    inertia = tu.Parameter(INERTIA, learn=True, **bounds)
    return tu.Physics(
        ["theta", "omega"], ["omega", f"(tau - {WEIGHT}*sin(theta))/J"], inputs=["tau"], parameters={"J": inertia}
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_a_parameter_that_runs_to_its_bound_keeps_its_value(seed: int) -> None:
    angle, torque = moved_by_hand(seed)
    ude = tu.UDE(told(min=0.05, max=0.5), measured=["theta"]).fit(angle, t=PERIOD, u=torque)
    assert [(name, value) for name, value, _, _ in ude.parameters_] == [("J", INERTIA)]
    kept = next(c for c in ude.candidates_ if c.best)
    notes = {c.note for c in ude.candidates_}
    assert not kept.note and "J stopped at a bound" in notes
    assert ude.verdict_.status == "bad"


def test_no_term_of_an_input_that_a_controller_made_is_tried() -> None:
    omega, tau = (sp.Symbol(name, real=True) for name in ("omega", "tau"))
    found = Model(
        told(), on=(1,), sees=(0, 1, 2), hidden=(), weights=np.zeros(0), network_on=np.zeros(1), x_scale=np.ones(2),
        u_scale=np.ones(1), dx_scale=np.ones(2), terms=(tau, omega), coefficients=np.zeros((1, 2)),
        errors=np.zeros((1, 2)), parameter_errors=np.zeros(1),
    )  # fmt: skip
    wide = offered(found, [omega**3, omega * tau], ["tau"])
    assert [term for term, c in zip(wide.terms, wide.coefficients[0], strict=True) if c] == [omega, omega**3]
    assert np.all(offered(found, [omega**3, omega * tau]).coefficients != 0.0)


def test_what_is_less_likely_one_step_ahead_is_not_kept() -> None:
    angle, torque = moved_by_hand(2)
    ude = tu.UDE(told(), measured=["theta"]).fit(angle, t=PERIOD, u=torque)
    contradicted = [c for c in ude.candidates_ if "less likely" in c.note]
    assert contradicted and not any(c.best for c in contradicted)


def test_a_formula_that_leaves_much_of_the_rates_is_not_kept_for_its_free_runs() -> None:
    """Free runs of a chaotic circuit hardly tell models apart; the rates, which the windows' network explains, do."""
    plant = plant_named("Chua, piecewise")
    samples, _ = plant.record(0.01)
    ude = tu.UDE(plant.physics, measured=plant.measured, library=["x", "x**3"]).fit(samples, t=plant.period)
    noted = [c.name for c in ude.candidates_ if "times the noise of the rates" in c.note]
    assert noted and not any(c.best for c in ude.candidates_ if c.name in noted)
    assert plant.error(ude.residual) < 0.005 and ude.verdict_.status == "good"
