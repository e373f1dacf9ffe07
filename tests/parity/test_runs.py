"""Whole runs: after 500 updates of every preset both engines hold the same learner."""

from typing import Any

import numpy as np
import pytest
from engines import both_engines, needs_core, states_after

from tinyude.export.boards.memory_presets import board_config
from tinyude.physics.library import default_terms, linear_terms
from tinyude.systems import pendulum
from tinyude.training.restart import restart

CLOSE = 1e-9
UPDATES = 500
WEIGHTS = 32  # of the first layer: two states, sixteen units
PLANT = pendulum()
RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "paper-v1": ("paper-v1", {}),
    "paper-v2": ("paper-v2", {"second_order": 0.0}),
    "paper-v2, second order": ("paper-v2", {"snr_gate": 0.0}),
    "default": ("default", {"network_nodes": 3, "block": 20}),
}


@needs_core
@pytest.mark.parametrize("name", RUNS)
def test_engines_agree_after_a_run(name: str) -> None:
    preset, settings = RUNS[name]
    _, samples = PLANT.stream(noise=0.01, seed=0, seconds=4.0)
    terms = default_terms(PLANT.physics, {}) if preset == "default" else []
    settings = {"calibration": 1500, "updates": UPDATES, "train_every": 0, **settings}
    config = board_config(PLANT.physics, preset, samples=len(samples), terms=terms, **settings)
    core, reference = both_engines(config, PLANT.physics, terms)
    for learner in (core, reference):
        learner.push(samples)
        learner.finish()
    found, expected = core.state(), reference.state()
    assert found["updates"] == expected["updates"] == UPDATES
    assert found["accepted"] == expected["accepted"]
    for part in ("sigma", "x_scale", "dx_scale", "average", "coefficients"):
        size = np.abs(expected[part]).max(initial=1e-30)
        assert np.abs(found[part] - expected[part]).max(initial=0.0) <= CLOSE * size, part


@needs_core
@pytest.mark.parametrize(("residual", "taken"), [("cogging", True), ("linear", False)])
def test_engines_agree_on_a_second_start(residual: str, taken: bool) -> None:
    """Cogging is learned from the second start alone; where the library holds all there is, neither is of use."""
    plant = pendulum(residual=residual)
    samples = plant.stream(noise=0.001, seed=3, seconds=24.0)[1][::4]
    library = [] if taken else linear_terms(plant.physics)
    config = board_config(
        plant.physics, samples=len(samples), period=0.004, terms=library, network_nodes=3, stride=4, max_half=60,
        calibration=2000, block=20, train_every=0, holdout=200, updates=800,
    )  # fmt: skip
    core, reference = both_engines(config, plant.physics, library)
    first = []
    for learner in (core, reference):
        learner.push(samples)
        learner.finish()
        first.append(learner.state()["average"][:WEIGHTS].copy())
        restart(learner, config, lambda learner=learner: learner.step(config.updates))
    found, expected = core.state(), reference.state()
    np.testing.assert_allclose(found["average"], expected["average"], atol=1e-7)
    np.testing.assert_array_equal(found["network_on"], expected["network_on"])
    for before, after in zip(first, (found, expected), strict=True):
        assert np.array_equal(before, after["average"][:WEIGHTS]) is not taken


@needs_core
@pytest.mark.parametrize("recalibrate", [True, False])
def test_engines_agree_on_a_recalibration(recalibrate: bool) -> None:
    """The sensor gets eight times as noisy: both engines calibrate once more at the same moment, unless told not to."""
    _, samples = PLANT.stream(noise=0.01, seed=0, seconds=10.0)
    worse = np.random.default_rng(0).standard_normal(samples.shape) * 0.08 * np.sqrt(np.mean(samples**2, axis=0))
    samples[2000:] += worse[2000:]
    terms = default_terms(PLANT.physics, {})
    config = board_config(
        PLANT.physics, samples=len(samples), terms=terms, calibration=1500, stride=5, hidden=(), recalibrate=recalibrate
    )
    found, expected = states_after(samples, config, PLANT.physics, terms)
    assert found["recalibrations"] == expected["recalibrations"] == int(recalibrate)
    assert found["window_half"] == expected["window_half"] and found["accepted"] == expected["accepted"]
    np.testing.assert_allclose(found["sigma"], expected["sigma"], rtol=CLOSE)


@needs_core
@pytest.mark.parametrize("hidden", [(), (4,)])
def test_engines_agree_when_the_dynamics_change(hidden: tuple[int, ...]) -> None:
    changing = pendulum(damping_change=(12.0, 1.6))
    samples = changing.stream(noise=0.01, seed=1, seconds=22.0)[1][::5]
    terms = linear_terms(changing.physics)
    config = board_config(
        changing.physics, samples=len(samples), period=0.005, terms=terms, hidden=hidden, network_nodes=3,
        stride=2, max_half=40, calibration=400, block=40, train_every=200,
    )  # fmt: skip
    found, expected = states_after(samples, config, changing.physics, terms)
    assert list(found["changed_at"]) == list(expected["changed_at"]) and found["changes"] == 1
    np.testing.assert_allclose(found["coefficients"], expected["coefficients"], rtol=CLOSE, atol=CLOSE)


@needs_core
@pytest.mark.parametrize("needed", [True, False])
def test_engines_agree_on_a_network_that_is_judged_in_the_stream(needed: bool) -> None:
    samples = PLANT.stream(noise=0.01, seed=2, seconds=24.0)[1][::5]
    terms = linear_terms(PLANT.physics)[: 1 if needed else None]
    config = board_config(
        PLANT.physics, samples=len(samples), period=0.005, terms=terms, hidden=(6,), network_nodes=1, stride=2,
        max_half=40, calibration=400, block=10, train_every=4, holdout=64, updates=300, judged=True,
    )  # fmt: skip
    found, expected = states_after(samples, config, PLANT.physics, terms)
    assert bool(found["network_on"][0]) == bool(expected["network_on"][0]) == needed
    assert found["rolled_back"] == expected["rolled_back"]
    np.testing.assert_allclose(found["average"], expected["average"], atol=1e-7)
    np.testing.assert_allclose(found["coefficients"], expected["coefficients"], rtol=CLOSE, atol=CLOSE)


@needs_core
@pytest.mark.parametrize(("seed", "settings"), [(0, {"block": 20, "train_every": 8, "updates": 2000}),
                                                (1, {"block": 10, "train_every": 4, "updates": 600})])  # fmt: skip
def test_engines_agree_on_a_last_layer_that_is_solved_anew_after_a_change(seed: int, settings: dict[str, int]) -> None:
    """With the terms beside it, first on the few held-out parts that are there soon after the change."""
    changing = pendulum(damping_change=(30.0, 1.6))
    samples = changing.stream(noise=0.01, seed=seed, seconds=42.0)[1][::5]
    terms = linear_terms(changing.physics)[:2]
    config = board_config(
        changing.physics, samples=len(samples), period=0.005, terms=terms, hidden=(6,), network_nodes=1, stride=2,
        max_half=40, calibration=400, holdout=64, judged=True, **settings,
    )  # fmt: skip
    core, reference = both_engines(config, changing.physics, terms)
    for rows in np.array_split(samples, 21):
        for learner in (core, reference):
            learner.push(rows)
        found, expected = core.state(), reference.state()
        for part in ("average", "coefficients"):
            size = np.abs(expected[part]).max(initial=1e-30)
            np.testing.assert_allclose(found[part], expected[part], atol=1e-6 * size)
    assert found["changes"] == expected["changes"] == 1 and found["network_on"].all()
    assert found["rolled_back"] == expected["rolled_back"] == 2 * seed
