"""A kernel network as a sum of curves of one input each."""

import numpy as np
import pytest
from numpy.typing import NDArray

from tinyude.model.kernel import KernelNetwork, kernel_values
from tinyude.model.kernel_parts import kernel_parts, with_gains_moved

RNG = np.random.default_rng(0)
PLACES = RNG.uniform(-2.0, 2.0, (50, 2))
ANGLES = (0,)


def friction(v: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(-np.tanh(2.0 * v) - 0.3 * v)


def ripple(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(0.8 * np.sin(2.0 * x))


def network(angles: tuple[int, ...] = ()) -> KernelNetwork:
    """Friction of column 1 and a ripple of column 0, interpolated at 50 places; column 2 has no effect."""
    inputs = np.hstack([PLACES, np.zeros((50, 1))])
    features = 4 if angles else 3
    blank = KernelNetwork(
        (1,), (0, 1, 2), angles, np.zeros(features), np.zeros((1, 50, features)), np.zeros((1, features)),
        np.zeros((1, 50)), np.zeros((1, features + 1)),
    )  # fmt: skip
    z = blank.inputs(inputs)
    inverse = np.array([1.0 / 0.7] * (features - 1) + [0.0])
    values = ripple(PLACES[:, 0]) + friction(PLACES[:, 1])
    weights = np.linalg.solve(kernel_values(z, z, inverse) + 1e-8 * np.eye(50), values)
    return KernelNetwork(
        (1,), (0, 1, 2), angles, np.zeros(features), z[None], inverse[None], weights[None], np.zeros((1, features + 1))
    )


@pytest.mark.parametrize("angles", [(), ANGLES], ids=["position", "angle"])
def test_kernel_parts_are_the_curves_of_each_input(angles: tuple[int, ...]) -> None:
    parts = kernel_parts(network(angles))
    assert [part.depends_on(0) for part in parts] == [(0,), (1,)]
    x = np.hstack([PLACES, np.zeros((50, 1))])
    for part, truth in zip(parts, (ripple(PLACES[:, 0]), friction(PLACES[:, 1])), strict=True):
        found = part.evaluate(x)[:, 0]
        assert abs(found.mean()) < 1e-5
        assert np.std(found - truth) < 0.05 * np.std(truth)


def test_kernel_parts_of_a_curve_of_one_input_are_none() -> None:
    kernel = network()
    alone = KernelNetwork(
        (1,), kernel.sees, (), kernel.offset, kernel.centres, kernel.inverse_lengths * [1.0, 0.0, 0.0],
        kernel.weights, kernel.linear,
    )  # fmt: skip
    assert kernel_parts(alone) == []


def test_kernel_parts_take_a_column_that_only_a_slope_depends_on() -> None:
    kernel = network()
    inverse = kernel.inverse_lengths * [1.0, 0.0, 0.0]
    among = kernel_values(kernel.centres[0], kernel.centres[0], inverse[0])
    weights = np.linalg.solve(among + 1e-6 * np.eye(50), ripple(PLACES[:, 0]))
    linear = np.array([[0.0, 0.0, -0.4, 0.0]])
    sloped = KernelNetwork(
        (1,), kernel.sees, (), kernel.offset, kernel.centres, inverse, weights[None], linear,
    )  # fmt: skip
    x = np.hstack([PLACES, np.zeros((50, 1))])
    slope = kernel_parts(sloped)[1].evaluate(x)[:, 0]
    np.testing.assert_allclose(slope, -0.4 * (PLACES[:, 1] - PLACES[:, 1].mean()), atol=2e-3)


def test_with_gains_moved_scales_a_part_and_leaves_the_others() -> None:
    kernel = network()
    x = np.hstack([PLACES, np.zeros((50, 1))])
    before, friction_part = kernel.evaluate(x), kernel_parts(kernel)[1].evaluate(x)
    np.testing.assert_allclose(with_gains_moved(kernel, np.zeros(3)).evaluate(x), before, atol=1e-12)
    np.testing.assert_allclose(with_gains_moved(kernel, np.array([0.5, 0.0, 0.0])).evaluate(x), 1.5 * before)
    moved = with_gains_moved(kernel, np.array([0.0, 0.0, 0.5])).evaluate(x)
    np.testing.assert_allclose(moved, before + 0.5 * friction_part, atol=1e-3)


def test_kernel_parts_are_the_same_whatever_the_linear_algebra_rounds() -> None:
    kernel = network()
    other = KernelNetwork(
        kernel.on, kernel.sees, (), kernel.offset, kernel.centres, kernel.inverse_lengths,
        kernel.weights * (1.0 + 1e-15), kernel.linear,
    )  # fmt: skip
    for one, two in zip(kernel_parts(kernel), kernel_parts(other), strict=True):
        np.testing.assert_array_equal(one.unknowns, two.unknowns)
