"""Forces that act where an input acts: the friction of a joint moves both arms of a double pendulum."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.model import Model
from tinyude.model.simulation import free_run
from tinyude.refinement.forces import forces_of

M = "(0.05 + 0.04*cos(b))"
DET = f"(0.05*(0.13 + 0.08*cos(b)) - {M}**2)"


def arm(first: str, second: str, extra: tuple[str, ...] = (), rates: tuple[str, ...] = ()) -> tu.Physics:
    """Two arms with these torques at the joints; extra: further states with their rates."""
    push = f"(({first}) - 3*sin(a) - sin(a + b) + 0.04*sin(b)*(2*v*w + w**2))"
    pull = f"(({second}) - sin(a + b) - 0.04*sin(b)*v**2)"
    return tu.Physics(
        ["a", "b", "v", "w", *extra],
        ["v", "w", f"(0.05*{push} - {M}*{pull})/{DET}", f"((0.13 + 0.08*cos(b))*{pull} - {M}*{push})/{DET}", *rates],
        inputs=["tau", "rho"],
    )


def bare(physics: tu.Physics) -> Model:
    return Model(
        physics, on=(2, 3), sees=(0, 1, 2, 3), hidden=(), weights=np.zeros(0), network_on=np.zeros(2),
        x_scale=np.ones(4), u_scale=np.ones(2), dx_scale=np.ones(4), terms=(), coefficients=np.zeros((2, 0)),
        errors=np.zeros((2, 0)), parameter_errors=np.zeros(0),
    )  # fmt: skip


def test_a_force_enters_both_equations_through_the_inertia() -> None:
    v, tau = (sp.Symbol(name, real=True) for name in ("v", "tau"))
    forces = forces_of(bare(arm("tau", "rho")), [v, sp.tanh(9 * v), tau, v * tau, sp.Symbol("a", real=True)])
    assert forces is not None
    assert [(f.input, str(f.form)) for f in forces.offered] == [
        ("tau", "v"), ("tau", "tanh(9*v)"), ("tau", "tau"), ("rho", "v"), ("rho", "tanh(9*v)"),
    ]  # fmt: skip
    wide, places = forces.wide(bare(arm("tau", "rho")))
    values = np.zeros(len(places))
    values[0] = -0.3
    x, u = np.array([0.4, -1.1, 2.0, -3.0]), np.array([0.5, -0.2])
    one = forces.narrow(wide.with_unknowns(values), places, values != 0.0)
    assert one.physics.learned == ("tau_v",)
    assert one.field(x, u) == pytest.approx(arm("tau - 0.3*v", "rho").field(x, u))
    again, places = forces.wide(one)  # what was added keeps its value, the others have no effect
    assert again.field(x, u) == pytest.approx(one.field(x, u))


def test_no_force_of_an_input_that_follows_the_states_is_offered_as_its_gain() -> None:
    tau = sp.Symbol("tau", real=True)
    forces = forces_of(bare(arm("tau", "rho")), [sp.Integer(1), tau], ["tau"])
    assert forces is not None and [f.form for f in forces.offered] == [1, 1]


def test_no_forces_where_a_term_of_one_equation_says_the_same() -> None:
    physics = tu.Physics(["a", "v"], ["v", "tau/0.2 - 9.81*sin(a)"], inputs=["tau"])
    model = replace(bare(arm("tau", "rho")), physics=physics, on=(1,))
    assert forces_of(model, [sp.Symbol("v", real=True)]) is None


@pytest.mark.slow
def test_friction_of_joints_is_found_and_predicts_other_motions() -> None:
    """Motors with a lag that is not modelled: no candidate explains the record in full."""
    truth = arm(
        "s - 0.05*v - 0.1*tanh(30*v)", "r - 0.02*w - 0.06*tanh(30*w)", ("s", "r"), ("(tau - s)/0.01", "(rho - r)/0.01")
    )

    def motion(seed: int, seconds: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rng, t = np.random.default_rng(seed), 0.005 * np.arange(round(seconds / 0.005))
        u = np.stack([
            size * np.sin(np.outer(t, rng.uniform(2.0, 9.0, 5)) + rng.uniform(0.0, 6.0, 5)).sum(axis=1)
            for size in (0.3, 0.15)
        ], axis=1)  # fmt: skip
        return t, free_run(known_dynamics(truth), np.zeros(6), t, np.full(6, 100.0), u), u

    t, states, u = motion(0, 10.0)
    noisy = states[:, :2] + 0.0005 * np.random.default_rng(1).standard_normal((len(t), 2))
    ude = tu.UDE(arm("tau", "rho"), measured=["a", "b"]).fit(noisy, t=t, u=u)
    assert {"tau", "rho"} <= {row["state"] for row in ude.terms_}
    times, other, pushes = motion(5, 3.0)
    miss = ude.simulate(other[0, :4], times, pushes)[:, :2] - other[:, :2]
    assert np.sqrt(np.mean(miss**2)) < 0.1 * other[:, :2].std()
