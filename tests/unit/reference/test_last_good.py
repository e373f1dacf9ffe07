"""Two coupled thermal masses with a failing sensor: only their physics can tell, and the last good model returns."""

from dataclasses import replace

import numpy as np
import pytest
import sympy as sp
from engines import needs_core, states_after

from tinyude import native
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.reference.regression.last_good import COMPARED, MOST_CREDIT, last_good_end_block
from tinyude.reference.start import StartModel, learner_start
from tinyude.reference.state import Learner, learner_init
from tinyude.training.known import known_functions, known_programs

PERIOD, NOISE = 0.05, 0.1
PHYSICS = Physics(["a", "b"], ["0.5*u - 0.25*(a - b)", "0.2*(a - b)"], ["u"])  # losses to the air are left out:
TRUTH = np.array([-0.05, 0.0, 0.0, -0.08])  # of a in its own rate, and of b
TERMS = [sp.Symbol(name, real=True) for name in ("a", "b")]
CONFIG = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, inputs=1, on=(0, 1), sees=(0, 1, 2), hidden=(),
    library_terms=2, stride=5, max_half=20, calibration=2000, reservoir=64, block=25, groups=8, network_nodes=1,
    judged=True,
)  # fmt: skip
NETWORK = replace(CONFIG, hidden=(4,), reservoir=200, holdout=64, batch=16, updates=100, train_every=25)
GOOD, FAULTY, AFTER = 6000, 12000, 14000


def stream() -> np.ndarray:
    """Clean rows: two temperatures, heated by a random power for 12 s each."""
    rng = np.random.default_rng(0)
    count = GOOD + FAULTY + AFTER
    u = np.repeat(rng.uniform(0.0, 20.0, count // 240 + 1), 240)[:count]
    slopes = np.array([[-0.25 - 0.05, 0.25], [0.2, -0.2 - 0.08]])
    half = np.linalg.inv(np.eye(2) - 0.5 * PERIOD * slopes)  # the trapezoidal rule: error 1e-5 of the step
    rows, x = np.empty((count, 3)), np.array([30.0, 22.0])
    for i in range(count):
        rows[i] = *x, u[i]
        x = half @ (x + PERIOD * (0.5 * slopes @ x + np.array([0.5 * u[i], 0.0])))
    return rows


CLEAN = stream()


def model(config: Config) -> StartModel:
    size = (len(config.sees) + 1) * sum(config.hidden) + (sum(config.hidden) + 1) * len(config.on)
    return StartModel(
        window_half=14, window_spacing=1, sigma_scale=1.0, x_scale=np.array([30.0, 22.0]), u_scale=np.array([11.0]),
        dx_scale=np.array([3.0, 1.0]), weights=np.zeros(size if config.hidden else 0), network_on=np.zeros(2),
        coefficients=TRUTH.copy(), errors=np.full(4, 1e-4),
    )  # fmt: skip


def failing(fault: str) -> np.ndarray:
    rows = CLEAN.copy()
    faulty, ramp = slice(GOOD, GOOD + FAULTY), np.linspace(0.0, 1.0, FAULTY)
    if fault == "frozen":
        rows[faulty, 0] = 31.0
    elif fault == "gain drifts":
        rows[faulty, 1] *= 1.0 + 0.6 * ramp
    elif fault == "offset drifts":
        rows[faulty, 1] += 10.0 * ramp
    elif fault == "swapped":
        rows[faulty, :2] = rows[faulty, 1::-1]
    rows[:, :2] += NOISE * np.random.default_rng(1).standard_normal((len(rows), 2))
    return rows


def relative_error(coefficients: np.ndarray) -> float:
    states = CLEAN[::100, :2]
    found, truth = (np.stack([states @ c[:2], states @ c[2:]], axis=1) for c in (coefficients, TRUTH))
    return float(np.linalg.norm(found - truth) / np.linalg.norm(truth))


@needs_core
@pytest.mark.parametrize("fault", ["frozen", "gain drifts", "offset drifts", "swapped"])
def test_last_good_model_comes_back_when_the_sensor_is_whole(fault: str) -> None:
    """The fault degrades the model; after it the residual is within 10 % of the truth, and that is counted."""
    learner = native.NativeLearner(CONFIG, known_programs(PHYSICS, TERMS, CONFIG.on), "float32")
    learner.start(model(CONFIG))
    rows = failing(fault)
    learner.push(rows[: GOOD + FAULTY])
    assert relative_error(learner.state()["coefficients"]) > 0.3
    learner.push(rows[GOOD + FAULTY :])
    assert relative_error(learner.state()["coefficients"]) < 0.1
    assert learner.state()["returned"] + learner.state()["changes"] >= 1


@needs_core
def test_last_good_model_stays_beside_one_that_is_as_good() -> None:
    learner = native.NativeLearner(CONFIG, known_programs(PHYSICS, TERMS, CONFIG.on), "float32")
    learner.start(model(CONFIG))
    learner.push(failing("none"))
    assert relative_error(learner.state()["coefficients"]) < 0.01
    assert learner.state()["returned"] == 0


@needs_core
@pytest.mark.parametrize(
    ("wrong", "error", "frozen", "held"),
    [(0.0, 1e-5, False, True), (0.05, 1e-5, False, False), (0.0, 1e-2, False, False), (0.05, 1e-2, True, True)],
    ids=["right and sure", "contradicted", "unsure", "beside a frozen network"],
)
def test_model_started_from_is_held_unless_contradicted_or_less_sure(
    wrong: float, error: float, frozen: bool, held: bool
) -> None:
    """In both engines alike. A solution of the stream's own windows replaces a model that is not held."""
    config = replace(CONFIG, frozen_network=frozen)
    start = replace(model(config), coefficients=TRUTH * (1.0 + wrong), errors=np.full(4, error))
    rows = failing("none")[:6000]
    found, expected = (state["coefficients"] for state in states_after(rows, config, PHYSICS, TERMS, start))
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-10)
    assert np.array_equal(found, start.coefficients) == held
    assert relative_error(found) < (0.06 if frozen else 0.01)


@needs_core
@pytest.mark.parametrize("config", [CONFIG, NETWORK], ids=["terms", "network"])
def test_engines_agree_on_the_return_to_the_last_good_model(config: Config) -> None:
    rows = failing("swapped")
    rows = np.concatenate([rows[:500], rows[GOOD : GOOD + 3500], rows[-3500:]])
    found, expected = states_after(rows, config, PHYSICS, TERMS, model(config))
    assert found["rolled_back"] == expected["rolled_back"]
    assert found["returned"] == expected["returned"] == 1
    np.testing.assert_allclose(found["coefficients"], expected["coefficients"], rtol=1e-8, atol=1e-10)


@needs_core
@pytest.mark.parametrize("wrong", [0.0, 0.25], ids=["stays", "follows"])
def test_library_learns_beside_a_network_that_is_on(wrong: float) -> None:
    """The network makes up for an offset that the physics has wrong; the terms are right, or off by a quarter."""
    physics = Physics(["a", "b"], ["0.5*u - 0.25*(a - b) - 1.0", "0.2*(a - b)"], ["u"])
    start = model(NETWORK)
    start.weights[-2] = 1.0 / start.dx_scale[0]  # the answer's offset for a
    start = replace(start, network_on=np.array([1, 0]), coefficients=TRUTH * (1.0 + wrong))
    rows = failing("none")[:6000]
    found, expected = states_after(rows, NETWORK, physics, TERMS, start)
    np.testing.assert_allclose(found["coefficients"], expected["coefficients"], rtol=1e-8, atol=1e-10)
    assert found["network_on"].tolist() == [1, 0] == np.asarray(expected["network_on"]).astype(int).tolist()
    assert relative_error(found["coefficients"]) < 0.03
    assert np.array_equal(found["coefficients"], TRUTH) == (wrong == 0.0)


def compared(learner: Learner, gains: list[float]) -> bool:
    """Whether the learner would go back after blocks with these gains."""
    back = False
    for gain in gains:
        assert learner.last_good
        learner.last_good.gain, learner.last_good.block_energy = gain, 1.0
        back = last_good_end_block(learner)
    return back


def test_last_good_end_block_gives_up_a_model_contradicted_for_long() -> None:
    learner = learner_init(CONFIG, known_functions(PHYSICS, TERMS, CONFIG.on))
    learner_start(learner, model(CONFIG))
    learner.library.coefficients[:] = 7.0
    for _ in range(MOST_CREDIT // COMPARED - 1):
        assert not compared(learner, [-1.0, -1.1] * (COMPARED // 2))
    assert learner.last_good and learner.last_good.coefficients[0] == TRUTH[0]
    compared(learner, [-1.0, -1.1] * (COMPARED // 2))
    assert learner.last_good.coefficients[0] == 7.0


def test_last_good_end_block_wants_a_clear_and_worthy_gain() -> None:
    learner = learner_init(CONFIG, known_functions(PHYSICS, TERMS, CONFIG.on))
    learner_start(learner, model(CONFIG))
    assert compared(learner, [1.0, 1.1] * (COMPARED // 2))
    assert not compared(learner, [1.0, -0.9] * (COMPARED // 2))  # within its scatter
    assert not compared(learner, [0.001, 0.0011] * (COMPARED // 2))  # of no worth
