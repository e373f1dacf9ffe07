import numpy as np
import pytest

import tinyude as tu
from tinyude.reference.network.last_layer import last_layer_solve
from tinyude.reference.network.loss import loss_first
from tinyude.reference.network.mlp import Array, mlp_count, mlp_forward, mlp_layers

SIZES = (2, 6, 5, 2)
WINDOWS, NODES = 60, 3


def problem() -> tuple[Array, Array, Array, Array]:
    """Parameters, nodes, node weights, targets."""
    rng = np.random.default_rng(3)
    nodes, weights = rng.standard_normal((WINDOWS, NODES, 2)), rng.random((NODES, 2))
    return rng.standard_normal(mlp_count(SIZES)), nodes, weights, rng.standard_normal((WINDOWS, 2))


def last_layer(params: Array) -> Array:
    """(outputs, units + 1): weights, and the bias behind them."""
    weight, bias = list(mlp_layers(params, SIZES))[-1]
    return np.column_stack([weight, bias])


@pytest.mark.parametrize("overlap", [1.0, 7.0])
def test_last_layer_solve_finds_the_least_of_squares_and_ridge(overlap: float) -> None:
    params, nodes, weights, target = problem()
    solved = params.copy()
    last_layer_solve(solved, SIZES, nodes, weights, target, overlap)
    answer = mlp_forward(params, SIZES, nodes.reshape(-1, 2))[-1].reshape(WINDOWS, NODES, 2)
    noise = np.mean((target - np.einsum("bqi,qi->bi", answer, weights)) ** 2, axis=0)
    slope = WINDOWS / overlap * last_layer(loss_first(solved, SIZES, nodes, weights, target)[1])
    pull = 2.0 * noise[:, None] * (last_layer(solved) - last_layer(params))
    assert np.abs(slope + pull).max() < 1e-10 * np.abs(pull).max()


def test_last_layer_solve_leaves_hidden_layers_alone() -> None:
    params, nodes, weights, target = problem()
    solved = params.copy()
    last_layer_solve(solved, SIZES, nodes, weights, target, 1.0)
    moved = solved != params
    assert moved[-last_layer(params).size :].all() and not moved[: -last_layer(params).size].any()


def test_last_layer_solve_leaves_an_output_alone_whose_targets_are_not_finite() -> None:
    params, nodes, weights, target = problem()
    solved = params.copy()
    target[7, 0] = np.inf
    last_layer_solve(solved, SIZES, nodes, weights, target, 1.0)
    moved = last_layer(solved) != last_layer(params)
    assert not moved[0].any() and moved[1].all()


def test_last_layer_solve_does_nothing_where_nothing_is_left() -> None:
    params, nodes, _, _ = problem()
    solved = params.copy()
    answer = mlp_forward(params, SIZES, nodes[:, 0])[-1]
    last_layer_solve(solved, SIZES, nodes[:, :1], np.ones((1, 2)), answer, 1.0)
    assert np.array_equal(solved, params)


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_last_layer_solve_makes_a_short_training_better(precision: str) -> None:
    plant = tu.systems.pendulum("A")
    times, samples = plant.stream(noise=0.01, seed=0, seconds=8.0)

    def error(solved: bool) -> float:
        ude = tu.UDE(
            plant.physics, library=None, skip=False, updates=150, precision=precision, settings={"last_layer": solved}
        )
        return plant.field_error(ude.fit(samples, t=times).predict)

    assert error(solved=True) < 0.5 * error(solved=False)
