from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinyude.reference.network import loss as loss_module
from tinyude.reference.network.loss import loss_first
from tinyude.reference.network.mlp import Array, mlp_backward, mlp_count, mlp_forward, mlp_jvp
from tinyude.reference.paper import second_order as second_order_module
from tinyude.reference.paper.second_order import SecondOrder, second_order_loss

Derivative = Callable[[Callable[[np.ndarray], Any], np.ndarray], np.ndarray]
SIZES = [(2, 4, 2), (2, 5, 3, 2), (4, 6, 6, 4)]


def draw(sizes: tuple[int, ...], scale: float, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    rng = np.random.default_rng(len(shapes) + sum(sizes))
    return [scale * rng.standard_normal(mlp_count(sizes)), *(rng.standard_normal(shape) for shape in shapes)]


def second_order(states: int, batch: int) -> SecondOrder:
    rng = np.random.default_rng(batch)
    field, target = rng.standard_normal((2, batch, states))
    scales = rng.uniform(0.3, 3.0, (3, states))
    return SecondOrder(field, rng.standard_normal((batch, states, states)), target, *scales)


def disagreement(function: Callable[[np.ndarray], tuple[Any, Array]], params: np.ndarray, exact: Derivative) -> float:
    """Relative difference of the gradient returned and the gradient by complex step."""
    truth = exact(lambda p: function(p)[0], params)
    return float(np.linalg.norm(function(params)[1] - truth) / np.linalg.norm(truth))


@pytest.mark.parametrize("scale", [0.1, 1.0, 4.0])
@pytest.mark.parametrize("count", [1, 3, 9])
@pytest.mark.parametrize("sizes", SIZES)
def test_loss_first_gradient_is_exact(
    sizes: tuple[int, ...], count: int, scale: float, complex_step: Derivative
) -> None:
    batch = 5
    params, nodes, weights, target = draw(
        sizes, scale, (batch, count, sizes[0]), (count, sizes[-1]), (batch, sizes[-1])
    )
    assert disagreement(lambda p: loss_first(p, sizes, nodes, weights, target), params, complex_step) < 1e-12


@pytest.mark.parametrize("weight", [0.0, 0.1, 10.0])
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("sizes", SIZES)
def test_second_order_loss_gradient_is_exact(
    sizes: tuple[int, ...], batch: int, weight: float, complex_step: Derivative
) -> None:
    params, x, target = draw(sizes, 1.0, (batch, sizes[0]), (batch, sizes[-1]))
    second = second_order(sizes[0], batch)
    assert disagreement(lambda p: second_order_loss(p, sizes, x, target, second, weight), params, complex_step) < 1e-12


def test_loss_first_value_is_the_mean_square_of_the_filtered_misfit() -> None:
    sizes = (2, 4, 2)
    params, nodes, weights, target = draw(sizes, 1.0, (3, 2, 2), (2, 2), (3, 2))
    answer = [
        sum(weights[q] * mlp_forward(params, sizes, nodes[b, q : q + 1])[-1][0] for q in range(2)) for b in range(3)
    ]
    value, _ = loss_first(params, sizes, nodes, weights, target)
    assert value == pytest.approx(np.mean(np.sum((target - answer) ** 2, axis=1)), rel=1e-14)


def test_second_order_loss_target_is_the_derivative_along_the_flow(complex_step: Derivative) -> None:
    """With ddx_hat = d/dt F(x) by complex step, the second-order term vanishes."""
    sizes, batch = (2, 5, 2), 4
    params, x, target = draw(sizes, 1.0, (batch, 2), (batch, 2))
    x_scale, s1, s2 = np.array([0.5, 2.0]), np.array([1.5, 0.7]), np.array([2.0, 3.0])
    known = np.array([[0.0, 1.0], [-4.0, -0.3]])

    def flow(state: np.ndarray) -> np.ndarray:
        return known @ state + s1 * mlp_forward(params, sizes, (state / x_scale)[None])[-1][0]

    states = x * x_scale
    lie = np.array([complex_step(flow, state) @ flow(state) for state in states])
    second = SecondOrder(states @ known.T, np.broadcast_to(known, (batch, 2, 2)), lie, x_scale, s1, s2)
    value, _ = second_order_loss(params, sizes, x, target, second, weight=1.0)
    plain, _ = second_order_loss(params, sizes, x, target, second, weight=0.0)
    assert abs(value - plain) < 1e-24


def test_second_order_loss_without_weight_is_loss_first() -> None:
    sizes = (2, 4, 2)
    params, x, target = draw(sizes, 1.0, (5, 2), (5, 2))
    first = loss_first(params, sizes, x[:, None], np.ones((1, 2)), target)
    second = second_order_loss(params, sizes, x, target, second_order(2, 5), 0.0)
    assert second[0] == pytest.approx(first[0], rel=1e-14)
    np.testing.assert_allclose(second[1], first[1], rtol=1e-12, atol=1e-15)


def value_only(params: Array, sizes: Any, acts: Any, tans: Any, y_bar: Array, y_tan_bar: Array) -> Array:
    """A backward pass that lacks the share of the tangents."""
    return mlp_backward(params, sizes, acts, y_bar)[0]


def without_input_share(*args: Any) -> tuple[Array, Array]:
    """A backward pass that holds the flow fixed."""
    grad, x_bar = mlp_backward(*args)
    return grad, 0.0 * x_bar


@pytest.mark.parametrize(
    ("function", "wrong"), [("mlp_jvp_backward", value_only), ("mlp_backward", without_input_share)]
)
def test_second_order_loss_check_notices_a_missing_share(
    function: str, wrong: Any, monkeypatch: pytest.MonkeyPatch, complex_step: Derivative
) -> None:
    sizes = (2, 4, 2)
    params, x, target = draw(sizes, 1.0, (5, 2), (5, 2))
    second = second_order(2, 5)
    monkeypatch.setattr(second_order_module, function, wrong)
    assert disagreement(lambda p: second_order_loss(p, sizes, x, target, second, 0.1), params, complex_step) > 1e-6


def test_loss_first_check_notices_a_wrong_sign(monkeypatch: pytest.MonkeyPatch, complex_step: Derivative) -> None:
    sizes = (2, 4, 2)
    params, nodes, weights, target = draw(sizes, 1.0, (5, 3, 2), (3, 2), (5, 2))
    monkeypatch.setattr(loss_module, "mlp_backward", lambda *args: (-mlp_backward(*args)[0], mlp_backward(*args)[1]))
    assert disagreement(lambda p: loss_first(p, sizes, nodes, weights, target), params, complex_step) > 1.0


def test_second_order_loss_tangent_moves_with_the_network() -> None:
    """The tangent is along the whole flow, the network's own share included."""
    sizes = (2, 3, 2)
    params, x, target = draw(sizes, 1.0, (2, 2), (2, 2))
    second = second_order(2, 2)
    acts = mlp_forward(params, sizes, x)
    flow = second.field + second.s1 * acts[-1]
    lie = np.einsum("bij,bj->bi", second.jacobian, flow)
    lie += second.s1 * mlp_jvp(params, sizes, acts, flow / second.x_scale)[-1]
    expected = np.mean(np.sum((target - acts[-1]) ** 2 + 0.5 * ((second.target - lie) / second.s2) ** 2, axis=1))
    assert second_order_loss(params, sizes, x, target, second, 0.5)[0] == pytest.approx(expected, rel=1e-13)
