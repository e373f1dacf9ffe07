import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.export.boards.memory_presets import board_config
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run
from tinyude.physics.library import harmonic
from tinyude.reference.network.mlp import mlp_forward, mlp_layers
from tinyude.reference.numeric.rng import rng_seed
from tinyude.training.engines import ReferenceLearner
from tinyude.training.known import known_functions
from tinyude.training.restart import restart, restart_weights

OMEGA = sp.Symbol("omega")
WITHOUT_HARMONICS = [1, OMEGA, OMEGA * sp.Abs(OMEGA), sp.tanh(5 * OMEGA)]


@pytest.mark.parametrize("columns", [[1], [0, 2]])
def test_restart_weights_sets_steps_evenly_over_the_angle(columns: list[int]) -> None:
    sizes, scales = (3, 16, 16, 1), np.array([1.7, 0.9])[: len(columns)]
    weight, bias = next(mlp_layers(restart_weights(sizes, columns, scales, rng_seed(0)), sizes))
    for angle, column in enumerate(columns):
        slope = weight[angle :: len(columns), column] / scales[angle]  # per radian
        places = -bias[angle :: len(columns)] / slope
        steps = 16 // len(columns)
        np.testing.assert_allclose(places, np.pi * ((2 * np.arange(steps) + 1) / steps - 1.0), atol=1e-12)
        np.testing.assert_allclose(np.abs(slope), 1.0 / np.diff(places).mean())


def test_restart_weights_starts_as_small_as_ever() -> None:
    sizes = (2, 16, 16, 1)
    x = np.stack(np.meshgrid(np.linspace(-1.8, 1.8, 20), np.linspace(-2.0, 2.0, 20)), axis=-1).reshape(-1, 2)
    assert np.abs(mlp_forward(restart_weights(sizes, [0], np.ones(1), rng_seed(0)), sizes, x)[-1]).max() < 0.5


@pytest.mark.parametrize(("terms", "expected"), [(WITHOUT_HARMONICS, False), ([sp.sin(6 * OMEGA)], True), ([], False)])
def test_harmonic_knows_waves(terms: list[sp.Expr], expected: bool) -> None:
    assert harmonic([sp.sympify(term) for term in terms]) is expected


@pytest.mark.parametrize(
    "settings", [{"library": None, "skip": False}, {"library": None}, {"library": WITHOUT_HARMONICS}], ids=str
)
def test_ude_learns_cogging_without_harmonics(settings: dict) -> None:
    """From the first start alone the error is 0.033, that of a model without the cogging."""
    plant = tu.systems.pendulum("A", residual="cogging")
    t, Y = plant.stream(noise=0.01, seed=4)
    assert plant.field_error(tu.UDE(plant.physics, random_state=4, **settings).fit(Y, t=t).predict) < 0.01


COGGING, SMOOTH = tu.systems.pendulum("A", residual="cogging"), tu.systems.pendulum("A")


@pytest.mark.parametrize(
    ("plant", "settings", "starts"),
    [
        (COGGING, {"library": None}, 2),
        (COGGING, {}, 1),  # harmonics are in the library
        (COGGING, {"preset": "paper-v2"}, 1),
        (SMOOTH, {"library": None}, 1),  # less than one revolution in ten seconds
    ],
    ids=["no harmonics", "harmonics", "paper", "no revolution"],
)
def test_ude_starts_twice_only_where_there_is_reason_to(plant: tu.systems.System, settings: dict, starts: int) -> None:
    t, Y = plant.stream(noise=0.01, seed=0, seconds=10.0 if plant is SMOOTH else 30.0)
    ude = tu.UDE(plant.physics, random_state=0, updates=100, **settings).fit(Y, t=t)
    assert ude.diagnostics_["updates"] == 100 * starts


@pytest.mark.parametrize(("blocks", "starts"), [(1, 1), (2, 2)])
def test_restart_chooses_only_by_several_held_out_blocks(blocks: int, starts: int) -> None:
    _, samples = COGGING.stream(noise=0.01, seed=0, seconds=8.0)
    block = 700 // (8 * blocks)
    config = board_config(
        COGGING.physics, samples=len(samples), terms=[], hidden=(4,), network_nodes=1, stride=10, max_half=30,
        calibration=800, block=block, train_every=0, holdout=400, updates=20, batch=16,
    )  # fmt: skip
    learner = ReferenceLearner(config, known_functions(COGGING.physics, [], config.on))
    learner.push(samples)
    learner.finish()
    held_out = np.unique(learner.state()["holdout"][:, -1])  # parts, four in a block
    assert 4 * (blocks - 1) < len(held_out) <= 4 * blocks
    restart(learner, config, lambda: learner.step(config.updates))
    assert learner.state()["updates"] == starts * config.updates


@pytest.mark.parametrize(
    ("missing", "sees"), [("-0.8*v - 2*tanh(6*v)*exp(-v**2)", (1, 2)), ("-0.4*v - 6*x - 4*x**3", (0, 1, 2))]
)
def test_perceptron_sees_a_free_state_only_where_held_out_windows_ask_for_it(
    missing: str, sees: tuple[int, ...]
) -> None:
    """Known physics reads no position: a motor is the same at every angle, a spring that was left out is not."""
    rng = np.random.default_rng(1)
    t = 0.005 * np.arange(8000)
    u = rng.uniform(-3.0, 3.0, 60)[(t / 0.7).astype(int)][:, None]
    truth = tu.Physics(["x", "v"], ["v", f"4*u + {missing}"], ["u"])
    x = free_run(known_dynamics(truth), np.zeros(2), t, 1e3 * np.ones(2), u)
    y = x + [0.01, 0.02] * rng.standard_normal(x.shape)
    physics = tu.Physics(["x", "v"], ["v", "4*u"], ["u"])
    ude = tu.UDE(physics, library=["v"], network="mlp", updates=2000, random_state=1).fit(y, t=t, u=u)
    assert ude.model_.sees == ude.config_.sees == sees
