from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tinyude.reference.network.mlp import (
    mlp_backward,
    mlp_count,
    mlp_forward,
    mlp_init,
    mlp_jvp,
    mlp_jvp_backward,
    mlp_layers,
)
from tinyude.reference.numeric.rng import rng_seed

SIZES = [(2, 3), (2, 4, 2), (3, 5, 4, 2), (1, 4, 4, 4, 3)]
SCALES = [0.1, 1.0, 5.0]  # of the parameters: nearly linear, usual, saturated
Derivative = Callable[[Callable[[np.ndarray], Any], np.ndarray], np.ndarray]


def network(sizes: tuple[int, ...], scale: float = 1.0, batch: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(sum(sizes))
    return scale * rng.standard_normal(mlp_count(sizes)), rng.standard_normal((batch, sizes[0]))


def relative(found: np.ndarray, exact: np.ndarray) -> float:
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


def test_mlp_count_is_weights_and_biases() -> None:
    assert mlp_count((2, 16, 16, 2)) == 2 * 16 + 16 + 16 * 16 + 16 + 16 * 2 + 2


def test_mlp_init_scales_by_fan_in_and_starts_without_bias() -> None:
    sizes = (4, 60, 50, 40)
    layers = list(mlp_layers(mlp_init(sizes, rng_seed(0)), sizes))
    for index, (weight, bias) in enumerate(layers):
        expected = (0.1 if index == 2 else 1.0) / np.sqrt(sizes[index])
        assert weight.std() == pytest.approx(expected, rel=0.1)
        assert not bias.any()


def test_mlp_layers_are_views_that_cover_the_parameters() -> None:
    params = np.zeros(mlp_count((2, 3, 1)))
    for weight, bias in mlp_layers(params, (2, 3, 1)):
        weight += 1.0
        bias += 2.0
    assert list(params) == [1.0] * 6 + [2.0] * 3 + [1.0] * 3 + [2.0]


def test_mlp_forward_is_tanh_layers_with_a_linear_end() -> None:
    sizes = (2, 3, 2)
    params, x = network(sizes)
    (w1, b1), (w2, b2) = mlp_layers(params, sizes)
    expected = [w2 @ np.tanh(w1 @ row + b1) + b2 for row in x]
    np.testing.assert_allclose(mlp_forward(params, sizes, x)[-1], expected, rtol=1e-14)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sizes", SIZES)
def test_mlp_jvp_equals_complex_step(sizes: tuple[int, ...], scale: float) -> None:
    params, x = network(sizes, scale)
    tangent = np.random.default_rng(1).standard_normal(x.shape)
    exact = np.imag(mlp_forward(params, sizes, x + 1e-30j * tangent)[-1]) / 1e-30
    found = mlp_jvp(params, sizes, mlp_forward(params, sizes, x), tangent)[-1]
    assert relative(found, exact) < 1e-12


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sizes", SIZES)
def test_mlp_backward_equals_complex_step(sizes: tuple[int, ...], scale: float, complex_step: Derivative) -> None:
    params, x = network(sizes, scale)
    y_bar = np.random.default_rng(2).standard_normal((len(x), sizes[-1]))
    grad, x_bar = mlp_backward(params, sizes, mlp_forward(params, sizes, x), y_bar)
    assert relative(grad, complex_step(lambda p: (y_bar * mlp_forward(p, sizes, x)[-1]).sum(), params)) < 1e-12
    assert relative(x_bar, complex_step(lambda z: (y_bar * mlp_forward(params, sizes, z)[-1]).sum(), x)) < 1e-12


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("sizes", SIZES)
def test_mlp_jvp_backward_equals_complex_step(sizes: tuple[int, ...], scale: float, complex_step: Derivative) -> None:
    params, x = network(sizes, scale)
    rng = np.random.default_rng(3)
    tangent = rng.standard_normal(x.shape)
    y_bar, y_tan_bar = rng.standard_normal((2, len(x), sizes[-1]))

    def paired(p: np.ndarray) -> Any:
        acts = mlp_forward(p, sizes, x)
        return (y_bar * acts[-1] + y_tan_bar * mlp_jvp(p, sizes, acts, tangent)[-1]).sum()

    acts = mlp_forward(params, sizes, x)
    tans = mlp_jvp(params, sizes, acts, tangent)
    grad = mlp_jvp_backward(params, sizes, acts, tans, y_bar, y_tan_bar)
    assert relative(grad, complex_step(paired, params)) < 1e-12


@pytest.mark.parametrize("entry", [0, 9, -1])
def test_mlp_backward_check_notices_one_wrong_entry(entry: int, complex_step: Derivative) -> None:
    sizes = (2, 4, 2)
    params, x = network(sizes)
    y_bar = np.ones((len(x), 2))
    grad, _ = mlp_backward(params, sizes, mlp_forward(params, sizes, x), y_bar)
    grad[entry] *= 1.0 + 1e-9
    assert relative(grad, complex_step(lambda p: (y_bar * mlp_forward(p, sizes, x)[-1]).sum(), params)) > 1e-12
