import copy
import json
import pickle
from collections.abc import Callable

import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics import Parameter, Physics
from tinyude.physics.arguments import check_names_differ
from tinyude.physics.kinematics import free_states
from tinyude.physics.programs import program_numpy

theta, omega, tau = sp.symbols("theta omega tau", real=True)
g, L, J = sp.symbols("g L J", positive=True)


def rig() -> Physics:
    """A driven pendulum with an input, a fixed parameter and two learned ones."""
    return Physics(
        [theta, omega],
        [omega, -(g / L) * sp.sin(theta) + tau / J - sp.tanh(omega) * omega**2],
        inputs=[tau],
        parameters={g: 9.81, L: Parameter(0.5, learn=True, min=0.1, max=2.0), "J": Parameter(0.063, learn=True)},
    )


def test_physics_describes_itself() -> None:
    physics = rig()
    assert (physics.states, physics.inputs, physics.learned) == (("theta", "omega"), ("tau",), ("L", "J"))
    assert (physics.n_states, physics.n_inputs, physics.kinematic) == (2, 1, (1, None))
    assert physics.rhs[0] == sp.Symbol("omega")
    assert "domega/dt" in repr(physics)


def test_physics_from_symbols_equals_physics_from_text() -> None:
    text = Physics(
        ["theta", "omega"],
        ["omega", "-(g/L)*sin(theta) + tau/J - tanh(omega)*omega**2"],
        inputs=["tau"],
        parameters={"g": 9.81, "L": Parameter(0.5, True, 0.1, 2.0), "J": Parameter(0.063, True)},
    )
    assert text == rig() and hash(text) == hash(rig())


def test_field_matches_the_equations_over_any_leading_axes(rng: np.random.Generator) -> None:
    x, u, p = rng.normal(size=(4, 5, 2)), rng.normal(size=(4, 5, 1)), np.array([0.7, 0.1])
    expected = -(9.81 / 0.7) * np.sin(x[..., 0]) + u[..., 0] / 0.1 - np.tanh(x[..., 1]) * x[..., 1] ** 2
    np.testing.assert_allclose(rig().field(x, u, p), np.stack([x[..., 1], expected], -1), rtol=1e-14)


def test_field_uses_the_current_values_of_learned_parameters(rng: np.random.Generator) -> None:
    x, u = rng.normal(size=(3, 2)), rng.normal(size=(3, 1))
    np.testing.assert_array_equal(rig().field(x, u), rig().field(x, u, np.array([0.5, 0.063])))
    changed = rig().with_parameters({"L": 1.5})
    np.testing.assert_array_equal(changed.field(x, u), rig().field(x, u, np.array([1.5, 0.063])))
    assert changed.parameters["L"] == Parameter(1.5, True, 0.1, 2.0)


@pytest.mark.parametrize("size", [(), (7,), (2, 3)])
def test_jacobians_match_complex_step(size: tuple[int, ...], rng: np.random.Generator) -> None:
    physics, h = rig(), 1e-30
    x, u, p = rng.normal(size=(*size, 2)), rng.normal(size=(*size, 1)), np.array([0.5, 0.063])
    steps = 1j * h * np.eye(2)
    by_state = np.stack([physics.field(x + step, u, p).imag / h for step in steps], axis=-1)
    by_parameter = np.stack([physics.field(x, u, p + step).imag / h for step in steps], axis=-1)
    np.testing.assert_allclose(physics.jacobian(x, u, p), by_state, rtol=1e-13, atol=1e-15)
    np.testing.assert_allclose(physics.parameter_jacobian(x, u, p), by_parameter, rtol=1e-13, atol=1e-15)


def test_parameter_jacobian_is_empty_when_nothing_is_learned() -> None:
    assert Physics(["x"], ["-x"]).parameter_jacobian(np.ones((5, 1))).shape == (5, 1, 0)


def test_programs_equal_field_and_jacobian(rng: np.random.Generator) -> None:
    physics = rig()
    x, u = rng.normal(size=(9, 2)), rng.normal(size=(9, 1))
    joined = np.concatenate([x, u, np.tile([0.5, 0.063], (9, 1))], axis=1)
    np.testing.assert_allclose(program_numpy(physics.field_program(), joined), physics.field(x, u), rtol=1e-14)
    jacobian = program_numpy(physics.jacobian_program(), joined).reshape(9, 2, 2)
    np.testing.assert_allclose(jacobian, physics.jacobian(x, u), rtol=1e-14)


def test_physics_is_the_same_after_json_pickle_and_copy() -> None:
    physics = rig()
    for twin in (
        Physics.from_dict(json.loads(json.dumps(physics.to_dict(), allow_nan=False))),
        pickle.loads(pickle.dumps(physics)),
        copy.deepcopy(physics),
    ):
        assert twin == physics and twin.to_dict() == physics.to_dict()


def test_to_dict_keeps_floats_and_unevaluated_forms_exactly(rng: np.random.Generator) -> None:
    x, y = sp.symbols("x y")
    third = 0.1 + 0.2
    physics = Physics([x, y], [sp.Mul(third, x + y, evaluate=False), sp.Rational(1, 3) * x**2 + sp.E * y])
    again = Physics.from_dict(physics.to_dict())
    assert again.rhs == physics.rhs
    points = rng.normal(size=(5, 2))
    np.testing.assert_array_equal(again.field(points), physics.field(points))
    np.testing.assert_allclose(physics.field(points)[:, 1], points[:, 0] ** 2 / 3 + np.e * points[:, 1], rtol=1e-14)


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"states": "x", "rhs": ["x"], "inputs": [], "parameters": {}, "angles": []},
        {"states": ["x"], "rhs": [1], "inputs": [], "parameters": {}, "angles": []},
        {"states": ["x"], "rhs": ["x"], "inputs": [], "parameters": [], "angles": []},
        {"states": ["x"], "rhs": ["k*x"], "inputs": [], "parameters": {"k": {"worth": 1.0}}, "angles": []},
        {"states": ["x"], "rhs": ["__import__('os')"], "inputs": [], "parameters": {}, "angles": []},
    ],
)
def test_from_dict_rejects_malformed_data(data: dict[str, object]) -> None:
    with pytest.raises(TinyUDEError):
        Physics.from_dict(data)


@pytest.mark.parametrize(
    ("rhs", "expected"),
    [
        (["omega", "-sin(theta)"], ("theta",)),
        (["omega", "-cos(theta + tau)"], ("theta",)),
        (["omega", "-sin(theta) - theta"], ()),
        (["omega", "-sin(theta/2)"], ()),
        (["omega", "-sin(k*theta)"], ()),
        (["omega", "-omega"], ()),
        (["omega*cos(2*theta)", "-sin(omega)*0.5"], ("theta",)),
    ],
)
def test_angles_are_states_that_only_enter_as_angles(rhs: list[str], expected: tuple[str, ...]) -> None:
    assert Physics(["theta", "omega"], rhs, inputs=["tau"], parameters={"k": 2.0}).angles == expected


def test_angles_can_be_given() -> None:
    assert Physics(["theta", "omega"], ["omega", "-sin(theta)"], angles=()).angles == ()
    assert Physics(["theta", "omega"], ["omega", "0"], angles=[theta]).angles == ("theta",)
    with pytest.raises(TinyUDEError, match="phi is not a state"):
        Physics(["theta"], ["1"], angles=["phi"])


def test_physics_accepts_a_position_that_nothing_depends_on() -> None:
    assert Physics(["x", "v"], ["v", "-0.1*v"]).kinematic == (1, None)


def test_physics_accepts_dummy_symbols_numbers_and_matrices() -> None:
    x, v = sp.Dummy("x"), sp.Dummy("v")
    physics = Physics([x, v], sp.Matrix([v, -x]))
    np.testing.assert_array_equal(physics.field(np.array([1.0, 2.0])), [2.0, -1.0])
    np.testing.assert_array_equal(Physics(["x", "v"], ["v", np.float64(-9.81)]).field(np.zeros(2)), [0.0, -9.81])


t = sp.Symbol("t")
x_symbol = sp.Symbol("x")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (dict(states=[], rhs=[]), "at least one state"),
        (dict(states=["x", "v"], rhs=["v"]), "1 right-hand sides for 2 states"),
        (dict(states=["x"], rhs="x"), "give a list"),
        (dict(states="x", rhs=["x"]), "give a list"),
        (dict(states=["x", "x"], rhs=["x", "x"]), "already the name of a state"),
        (dict(states=["x"], rhs=["x"], inputs=["x"]), "input x is already the name of a state"),
        (dict(states=["x"], rhs=["x"], inputs=["u"], parameters={"u": 1.0}), "parameter u is already"),
        (dict(states=["x"], rhs=[-sp.Symbol("k") * x_symbol]), "unknown k.*inputs=.*parameters="),
        (dict(states=["x"], rhs=["-k*x"]), "'k' is unknown.*parameter"),
        (dict(states=["x"], rhs=[sp.floor(x_symbol)]), "floor"),
        (dict(states=["x"], rhs=[sp.gamma(x_symbol)]), "gamma.*not supported"),
        (dict(states=["x"], rhs=[sp.I * x_symbol]), "I, which is not supported"),
        (dict(states=["x"], rhs=[sp.oo]), "not supported"),
        (dict(states=["x"], rhs=[float("nan")]), "not supported"),
        (dict(states=["x"], rhs=[sp.Function("x")(t)]), "function of time"),
        (dict(states=[sp.Function("x")(t)], rhs=["0"]), "function of time"),
        (dict(states=["x"], rhs=[sp.Derivative(sp.Function("x")(t), t)]), "function of time"),
        (dict(states=["x"], rhs=[None]), "neither"),
        (dict(states=[3], rhs=["1"]), "neither a name"),
        (dict(states=["x y"], rhs=["1"]), "cannot name"),
        (dict(states=["sin"], rhs=["1"]), "cannot name"),
        (dict(states=["lambda"], rhs=["1"]), "cannot name"),
        (dict(states=["x"], rhs=["-x"], parameters={"k": Parameter(1.0, learn=True)}), "k is to be learned"),
        (dict(states=["x"], rhs=["-k*x"], parameters={"k": float("inf")}), "finite"),
        (dict(states=["x"], rhs=["-k*x"], parameters={"k": "1"}), "give a number"),
    ],
)
def test_physics_rejects_with_a_remedy(arguments: dict[str, object], complaint: str) -> None:
    with pytest.raises(TinyUDEError, match=complaint):
        Physics(**arguments)


@pytest.mark.parametrize(
    ("rhs", "plain"),
    [
        ("abs(x - 1)", lambda x: np.abs(x - 1.0)),
        ("2*sign(x)", lambda x: 2.0 * np.sign(x)),
        ("max(x, 0.3) + min(x, -x, 0.1)", lambda x: np.maximum(x, 0.3) + np.minimum(np.minimum(x, -x), 0.1)),
        (sp.Heaviside(x_symbol) * x_symbol, lambda x: np.where(x > 0.0, x, 0.0)),
        (sp.Piecewise((-x_symbol, x_symbol < -1), (x_symbol**2, x_symbol < 1), (5, True)),
         lambda x: np.where(x < -1.0, -x, np.where(x < 1.0, x**2, 5.0))),
        ("Piecewise((-x, x < -1), (x**2, x < 1), (5, True))",
         lambda x: np.where(x < -1.0, -x, np.where(x < 1.0, x**2, 5.0))),
        ("2*Piecewise((-x, (x < -1) | (x > 1.5)), (x, ~(x < 0) & (x <= 1)), (Piecewise((3, x > 0), (4, True)), True))",
         lambda x: 2.0 * np.where((x < -1.0) | (x > 1.5), -x, np.where((x >= 0.0) & (x <= 1.0), x,
                                                                      np.where(x > 0.0, 3.0, 4.0)))),
        ("Piecewise((sqrt(max(x, 1e-6)), 0 <= x < 1 or x >= 1), (0, True))",
         lambda x: np.where(x >= 0.0, np.sqrt(np.maximum(x, 1e-6)), 0.0)),
    ],
)  # fmt: skip
def test_physics_takes_corners(rhs: sp.Expr | str, plain: Callable[[np.ndarray], np.ndarray]) -> None:
    physics = Physics(["x"], [rhs])
    x = np.linspace(-2.037, 2.013, 40)[:, None]
    assert not physics.smooth and Physics.from_dict(physics.to_dict()) == physics
    assert np.allclose(physics.field(x)[:, 0], plain(x[:, 0]))
    assert np.allclose(program_numpy(physics.field_program(), x)[:, 0], plain(x[:, 0]))
    slope = (plain(x[:, 0] + 1e-6) - plain(x[:, 0] - 1e-6)) / 2e-6
    assert np.allclose(physics.jacobian(x)[:, 0, 0], slope, atol=1e-5)


@pytest.mark.parametrize("order", ["<", "<=", ">", ">="])
def test_a_condition_is_exact_on_its_border(order: str) -> None:
    """An input that is a switch, 0 or 1, lies on it all the time."""
    levels = np.array([-1.0, 0.0, 1.0])
    expected = eval(f"levels {order} 0.0").astype(float)
    told = sp.Piecewise((1, sp.Rel(sp.Symbol("u"), 0, order)), (0, True))
    for rhs in (f"Piecewise((1, u {order} 0), (0, True))", told):
        physics = Physics(["x"], [rhs], inputs=["u"])
        np.testing.assert_array_equal(physics.field(np.zeros((3, 1)), levels[:, None])[:, 0], expected)
        assert Physics.from_dict(physics.to_dict()) == physics


def test_physics_takes_a_state_of_which_nothing_is_known() -> None:
    physics = Physics(["s", "i"], ["0", "-0.4*i"])
    assert not physics.field(np.ones(2))[0] and physics.kinematic == (None, None)


def test_parameters_are_learned_or_not_and_stand_at_bounds_other_than_0() -> None:
    values = {"a": Parameter(2.0, learn=True, max=2.0), "b": Parameter(0.0, learn=True, min=0.0), "c": Parameter(1.0)}
    physics = Physics(["x"], ["-a*x - b*x**2 + c"], parameters=values)
    assert physics.at_bounds() == ["a"]
    fewer = physics.with_learned(["b"])
    assert fewer.learned == ("b",) and fewer.at_bounds() == [] and physics.learned == ("a", "b")
    assert fewer.with_learned(["b", "a"]) == physics
    assert fewer.field([3.0]) == physics.field([3.0])


def test_physics_takes_two_hundred_names_and_no_more() -> None:
    names = tuple(f"x{k}" for k in range(200))
    check_names_differ(names[:150], names[150:190], names[190:])
    with pytest.raises(TinyUDEError, match="201 states, inputs and parameters, more than 200"):
        check_names_differ(names, ("u",), ())


def test_parameter_rejects_values_outside_its_bounds() -> None:
    with pytest.raises(TinyUDEError, match=r"3 is outside \[0, 2\]"):
        Parameter(3.0, min=0.0, max=2.0)
    with pytest.raises(TinyUDEError, match="outside"):
        rig().with_parameters({"L": 5.0})
    with pytest.raises(TinyUDEError, match=r"Unknown parameters M; these are g, L, J"):
        rig().with_parameters({"M": 5.0})


def test_field_rejects_wrong_columns_and_missing_inputs() -> None:
    with pytest.raises(TinyUDEError, match="pass their values as u"):
        rig().field(np.zeros((3, 2)))
    with pytest.raises(TinyUDEError, match=r"x has shape \(3, 3\).*theta, omega"):
        rig().field(np.zeros((3, 3)), np.zeros((3, 1)))
    with pytest.raises(TinyUDEError, match="u has shape"):
        rig().field(np.zeros((3, 2)), np.zeros(3))


@pytest.mark.parametrize(
    ("rate", "free"), [("u - w", ("q",)), ("u - w - 4*q", ()), ("u - w - 4*sin(q)", ()), ("u - w - 0.1*q*w", ())]
)
def test_free_states_are_integrals_that_no_equation_uses(rate: str, free: tuple[str, ...]) -> None:
    """The angle of a motor leaves every range; that of a spring or a pendulum does not."""
    assert free_states(Physics(["q", "w"], ["w", rate], ["u"])) == free
