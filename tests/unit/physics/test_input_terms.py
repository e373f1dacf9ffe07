import pickle
from types import SimpleNamespace

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.model.diagnostics import _input_shares
from tinyude.physics import Physics
from tinyude.physics.input_terms import InputTerm, acting_inputs, input_effects

ARM = Physics(
    ["q", "w"], ["w", "(tau - m*w**2)*cos(q)"], inputs=["tau"], parameters={"m": tu.Parameter(2.0, learn=True)}
)
DRY = InputTerm("tau", sp.tanh(sp.Symbol("tau_shape_1") * sp.Symbol("w")), "tau_1", ("tau_shape_1",))


def with_friction() -> Physics:
    return ARM.with_input_terms([DRY], {"tau_1": -0.3, "tau_shape_1": 5.0})


def test_with_input_terms_adds_to_the_input() -> None:
    x, tau = np.array([0.1, 0.8]), 0.5
    friction = -0.3 * np.tanh(5.0 * 0.8)
    assert np.allclose(with_friction().field(x, [tau]), ARM.field(x, [tau + friction]), rtol=1e-14)


def test_stated_is_the_physics_without_its_learned_terms() -> None:
    assert with_friction().stated == ARM
    assert ARM.stated is ARM
    assert with_friction().texts == ARM.texts


def test_spelled_out_has_the_terms_in_its_equations() -> None:
    plain = with_friction().spelled_out
    assert not plain.input_terms and "tanh" in plain.texts[1]
    x = np.array([[0.1, 0.8], [1.0, -2.0]])
    assert np.allclose(plain.field(x, [[0.5]]), with_friction().field(x, [[0.5]]), rtol=1e-12)


def test_physics_with_input_terms_survives_pickle_and_other_values() -> None:
    moved = with_friction().with_parameters({"tau_1": -0.7, "m": 1.0})
    again = pickle.loads(pickle.dumps(moved))
    assert again == moved
    assert again.stated.parameters["m"].value == 1.0
    assert again.learned == ("m", "tau_1", "tau_shape_1")


@pytest.mark.parametrize("change", [{"input": "w"}, {"form": "__import__('os')"}, {"coefficient": "q"}])
def test_from_dict_refuses_forged_input_terms(change: dict[str, str]) -> None:
    data = with_friction().to_dict()
    data["input_terms"][0] |= change
    with pytest.raises(tu.TinyUDEError):
        Physics.from_dict(data)


def test_acting_inputs_are_those_whose_effect_no_simple_term_has() -> None:
    rates = ["w", "(a + b*c)/J", "cos(q)*a", "d**2*q"]
    physics = Physics(["q", "w", "v", "z"], rates, inputs=["a", "b", "c", "d"], parameters={"J": 2.0})
    assert acting_inputs(physics, [1, 2, 3]) == (0, 1, 2)  # a: two rates; b, c: through each other; d: not linear
    assert acting_inputs(physics, [1]) == (1, 2)  # a: a constant factor


def test_input_effects_are_derivatives_by_the_inputs() -> None:
    x, u = np.array([[0.1, 0.8], [1.0, -2.0]]), np.array([[0.5], [-1.0]])
    assert np.allclose(input_effects(ARM, [0], x, u)[:, :, 0], [[0.0, np.cos(0.1)], [0.0, np.cos(1.0)]])


def test_share_of_a_term_of_an_input_is_that_of_the_rate_it_changes_most() -> None:
    """Of a's rate it is a third, of b's two fifths; windows of less noise have more weight."""
    b = sp.Symbol("b", real=True)
    stated = Physics(["a", "b"], ["2*u", "u"], inputs=["u"])
    physics = stated.with_input_terms([InputTerm("u", b, "c")], {"c": -0.5})
    x = np.array([[0.0, 1.0], [0.0, -1.0], [0.0, 7.0]])
    weight = np.array([[1.0], [1.0], [0.0]]) * np.ones(2) * 1.5
    seen = SimpleNamespace(
        x=x, u=np.zeros((3, 1)), dx=np.tile([3.0, 1.25], (3, 1)), weight=weight, rms=lambda v: np.abs(v).mean(axis=0)
    )
    shares = _input_shares(SimpleNamespace(physics=physics), seen)
    assert shares == {"u: b": pytest.approx(0.5 / 1.25)}


def test_effects_of_inputs_need_no_symbolic_derivative(monkeypatch: pytest.MonkeyPatch) -> None:
    """SymPy takes longer to differentiate the equations of an arm than the fit takes."""
    two = tu.Physics(["a", "b"], ["(u - a)/(2 + cos(b))", "3*w + tanh(a/v)"], inputs=["u", "v", "w"])
    monkeypatch.setattr(sp, "diff", lambda *_: pytest.fail("differentiated symbolically"))
    assert acting_inputs(two, (0, 1)) == (0,)  # w is a term of one rate, v enters nonlinearly
    effects = input_effects(two, (0, 2), np.array([[0.3, 0.0]]), np.array([[1.0, 2.0, 5.0]]))
    np.testing.assert_allclose(effects, [[[1.0 / 3.0, 0.0], [0.0, 3.0]]])
