import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.model.kernel import KernelNetwork
from tinyude.physics import Parameter, Physics
from tinyude.physics.library import default_terms, given_terms, known_terms, linear_terms
from tinyude.physics.programs import program_numpy
from tinyude.systems import double_pendulum, pendulum
from tinyude.training.known import known_functions, known_programs

DRIVEN = Physics(
    ["theta", "omega"],
    ["omega", "-(g/L)*sin(theta) + tau"],
    inputs=["tau"],
    parameters={"g": 9.81, "L": Parameter(0.8, learn=True)},
)


def names(terms: list[sp.Expr]) -> set[str]:
    return {str(term) for term in terms}


def test_default_terms_hold_what_machines_leave_out() -> None:
    found = names(default_terms(DRIVEN, {"omega": 2.0}))
    assert {"1", "theta", "omega", "tau", "omega*Abs(omega)", "omega**2", "omega**3"} <= found
    assert {"sin(theta)", "cos(theta)", "sin(6*theta)", "cos(8*theta)"} <= found
    assert "tanh(5.0*omega)" in found  # ten times the velocity over its RMS


def test_default_terms_are_distinct() -> None:
    for physics in (pendulum().physics, double_pendulum().physics, DRIVEN):
        terms = default_terms(physics, {})
        assert len(set(terms)) == len(terms)


def test_default_terms_know_friction_only_for_rates() -> None:
    prey = Physics(["a", "b"], ["a - a*b", "a*b - b"])
    found = names(default_terms(prey, {}))
    assert not any("Abs" in name or "tanh" in name for name in found)
    assert {"a*b", "a**2*b", "b**3"} <= found


def test_default_terms_grow_slowly_with_the_states() -> None:
    chain = Physics([f"x{i}" for i in range(8)], [f"-x{i}" for i in range(8)])
    assert len(default_terms(chain, {})) < 20


def test_linear_terms_are_a_constant_and_every_variable() -> None:
    assert [str(term) for term in linear_terms(DRIVEN)] == ["1", "theta", "omega", "tau"]


def test_given_terms_take_text_and_sympy_alike() -> None:
    omega = sp.Symbol("omega")
    text, symbolic = given_terms(DRIVEN, ["omega*abs(omega)"]), given_terms(DRIVEN, [omega * sp.Abs(omega)])
    values = np.array([[0.1, -2.0, 0.0]])
    for terms in (text, symbolic):
        known = known_functions(DRIVEN, terms, (1,))
        assert known.terms(values[:, :2], values[:, 2:])[0, 0] == pytest.approx(-4.0)


@pytest.mark.parametrize(
    ("items", "remedy"),
    [
        ([sp.Symbol("speed")], "use theta, omega, tau"),
        (["speed**2"], "speed"),
        (["omega", "omega"], "given twice"),
        (["__import__('os')"], "."),
    ],
)
def test_given_terms_reject_with_a_remedy(items: list, remedy: str) -> None:
    with pytest.raises(TinyUDEError, match=remedy):
        given_terms(DRIVEN, items)


@pytest.mark.parametrize("physics", [pendulum("B").physics, double_pendulum("C").physics, DRIVEN])
def test_known_programs_equal_known_functions(physics: Physics) -> None:
    """Both engines are told the same known part."""
    on = tuple(i for i, rate in enumerate(physics.kinematic) if rate is None)
    terms = default_terms(physics, {})
    functions, programs = known_functions(physics, terms, on), known_programs(physics, terms, on)
    rows = np.random.default_rng(0).standard_normal((7, physics.n_states + physics.n_inputs))
    x, u = rows[:, : physics.n_states], rows[:, physics.n_states :]
    for name in ("field", "jacobian", "terms", "sensitivity"):
        expected = getattr(functions, name)(x, u).reshape(7, -1)
        np.testing.assert_allclose(program_numpy(getattr(programs, name), rows), expected, rtol=1e-12, atol=1e-13)


def test_a_frozen_kernel_network_counts_as_known_in_both_engines() -> None:
    rng = np.random.default_rng(1)
    kernel = KernelNetwork(
        (1,), (0, 1, 2), (0,), np.array([0.1, 0.5, -0.2, 0.3]), rng.standard_normal((1, 3, 4)), np.ones((1, 4)),
        rng.standard_normal((1, 3)), rng.standard_normal((1, 5)),
    )  # fmt: skip
    rows = rng.standard_normal((7, 3))
    x, u = rows[:, :2], rows[:, 2:]
    plain = known_functions(DRIVEN, default_terms(DRIVEN, {}), (1,))
    known = known_functions(DRIVEN, default_terms(DRIVEN, {}), (1,), (kernel,))
    expected = plain.field(x, u)
    expected[:, 1] += kernel.evaluate(rows)[:, 0]
    np.testing.assert_allclose(known.field(x, u), expected, rtol=1e-12)
    for column in range(2):
        step = 1e-6 * np.eye(2)[column]
        slope = (known.field(x + step, u) - known.field(x - step, u)) / 2e-6
        np.testing.assert_allclose(known.jacobian(x, u)[:, :, column], slope, atol=1e-7)
    np.testing.assert_allclose(known.terms(x, u), plain.terms(x, u), rtol=1e-12)
    np.testing.assert_allclose(known.sensitivity(x, u)[..., :1], plain.sensitivity(x, u), rtol=1e-12)
    gain = known.sensitivity(x, u)[:, 0, 1]  # is learned as a parameter is
    np.testing.assert_allclose(gain, kernel.evaluate(rows)[:, 0], rtol=1e-12)


def test_known_functions_sensitivity_is_the_derivative_by_each_learned_parameter() -> None:
    known = known_functions(DRIVEN, [sp.Integer(1)], (1,))
    x, u = np.array([[0.7, 1.0]]), np.array([[0.3]])
    assert known.sensitivity(x, u)[0, 0, 0] == pytest.approx(9.81 * np.sin(0.7) / 0.8**2)
    np.testing.assert_array_equal(known.terms(x, u), [[1.0]])


def test_default_terms_offer_friction_of_a_speed_without_a_position() -> None:
    motor = Physics(["omega"], ["k*u"], inputs=["u"], parameters={"k": 2.0})
    assert not any("tanh" in name for name in names(default_terms(motor, {})))
    assert "omega*Abs(omega)" in names(default_terms(motor, {"omega": 3.0}, ["omega"]))
    assert names(default_terms(DRIVEN, {"omega": 2.0}, ["theta"])) == names(default_terms(DRIVEN, {"omega": 2.0}))


def test_default_terms_of_many_states_leave_out_kinds_that_do_not_fit() -> None:
    names = [f"q{i}" for i in range(12)]
    chain = Physics(states=names, rhs=[f"-{name}" for name in names])
    assert len(default_terms(chain, {}, names)) == 1 + 12 + 5 * 12
    assert default_terms(chain, {}, names, most=42) == default_terms(chain, {})[:13]


def test_given_terms_rejects_more_than_the_core_takes() -> None:
    with pytest.raises(TinyUDEError, match="has 3 terms; at most 2"):
        given_terms(pendulum("A").physics, ["theta", "omega", "omega**2"], most=2)


def test_known_terms_are_those_of_the_right_hand_side_in_numbers() -> None:
    physics = Physics(
        states=["x", "w"],
        rhs=["w", "-(g/L)*sin(x) - c*tanh(k*w) + tau/J - 0.3*tanh(20*w)"],
        inputs=["tau"],
        parameters={"g": 9.81, "L": 0.5, "c": 1.0, "k": 20.0, "J": 0.05},
    )
    assert known_terms(physics, 1) == pytest.approx({"tau": 20.0, "tanh(20*w)": -1.3, "sin(x)": -19.62})
