import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.physics import Physics
from tinyude.physics.kinematics import (
    free_states,
    measured_map,
    perceptron_columns,
    residual_states,
    seen_columns,
)
from tinyude.reference.config import Config
from tinyude.systems import double_pendulum, pendulum
from tinyude.training.presets import PRESETS, make_config

CHAIN = Physics(["p", "v", "a"], ["v", "a", "-p - a"])
SYSTEM = {"channels": 2, "channel": (0, 1), "order": (0, 0), "on": (1,), "sees": (0, 1)}


def config(preset: str, samples: int = 60_000, **overrides: object) -> Config:
    return make_config(preset, samples, 1e-3, overrides, **SYSTEM)


def test_measured_map_defaults_to_every_state() -> None:
    assert measured_map(pendulum().physics, None) == (("theta", "omega"), (0, 1), (0, 0))


def test_measured_map_follows_chains_of_derivatives() -> None:
    assert measured_map(CHAIN, ["p"]) == (("p",), (0, 0, 0), (0, 1, 2))
    assert measured_map(CHAIN, ["a", "p"]) == (("a", "p"), (1, 1, 0), (0, 1, 0))
    assert measured_map(double_pendulum().physics, ["theta1", "theta2"])[1:] == ((0, 1, 0, 1), (0, 0, 1, 1))


@pytest.mark.parametrize(
    ("measured", "remedy"),
    [(["q"], "the states are p, v, a"), ([], "once"), (["p", "p"], "once"), (["a"], r"add it to measured")],
)
def test_measured_map_rejects_with_a_remedy(measured: list[str], remedy: str) -> None:
    with pytest.raises(TinyUDEError, match=remedy):
        measured_map(CHAIN, measured)


def test_residual_states_are_those_that_are_no_pure_derivative() -> None:
    physics = pendulum().physics
    assert residual_states(physics, None, "default") == (1,)
    assert residual_states(physics, None, "paper-v2") == (0, 1)
    assert residual_states(physics, ["theta"], "default") == (0,)
    with pytest.raises(TinyUDEError, match="the states are theta, omega"):
        residual_states(physics, ["speed"], "default")


def test_seen_columns_are_states_then_inputs() -> None:
    driven = Physics(["v"], ["tau - v"], inputs=["tau"])
    assert seen_columns(driven, None) == (0, 1)
    assert seen_columns(driven, ["tau"]) == (1,)
    with pytest.raises(TinyUDEError, match="these are v, tau"):
        seen_columns(driven, ["force"])


def test_perceptron_columns_leave_free_states_out() -> None:
    motor = Physics(["angle", "speed"], ["speed", "4*u"], inputs=["u"])
    assert free_states(motor) == ("angle",)
    assert perceptron_columns(motor, None, "default") == (1, 2)
    assert perceptron_columns(motor, ["angle"], "default") == (0,)  # as told
    assert perceptron_columns(motor, None, "paper-v2") == (0, 1, 2)
    assert free_states(Physics(["angle", "speed"], ["speed", "4*u"], ["u"], angles=["angle"])) == ()  # is wrapped
    assert free_states(Physics(["x", "v"], ["v", "-2*x"])) == free_states(pendulum().physics) == ()


def test_make_config_paper_v2_has_the_papers_constants() -> None:
    made = config("paper-v2")
    assert (made.taps, made.poly, made.stride, made.reservoir, made.batch, made.updates) == (5, 4, 5, 4096, 64, 8000)
    assert (made.second_order, made.snr_gate, made.rate, made.decay) == (0.1, 12.0, 0.02, 0.999)
    assert (made.dense, made.physics_nodes, made.network_nodes, made.library_terms) == (False, 1, 1, 0)
    assert (made.calibration, made.train_every) == (10_000, 40)  # ten seconds; 25 updates a second


@pytest.mark.parametrize("preset", list(PRESETS))
def test_make_config_solves_the_last_layer_by_default_alone(preset: str) -> None:
    assert config(preset).last_layer is (preset == "default")


def test_make_config_holds_back_only_where_the_network_is_judged() -> None:
    alone = config("default")
    assert (alone.holdout, alone.rate) == (0, 0.04)
    for columns in ({"library_terms": 2}, {"parameters": 1}):
        made = make_config("default", 60_000, 1e-3, {}, **columns, **SYSTEM)
        assert (made.holdout, made.rate) == (1500, Config.rate)


@pytest.mark.parametrize(
    ("samples", "sizes"),
    [(60_000, (5, 512, 30_000, 12_001, 200)), (2_000, (1, 125, 1_992, 2_001, 41)), (40, (1, 16, 32, 41, 20))],
)
def test_make_config_sizes_the_default_by_the_record(samples: int, sizes: tuple[int, ...]) -> None:
    made = config("default", samples)
    assert (made.stride, made.max_half, made.calibration, made.reservoir, made.block) == sizes


def test_make_config_paper_v1_is_the_ablations_first_row() -> None:
    made = config("paper-v1")
    assert (made.reservoir, made.rolling, made.batch, made.adam, made.decay) == (32, True, 32, False, 0.0)
    assert (made.adaptive, made.spacing, made.stride) == (False, 40, 40)


def test_make_config_paper_v2_of_four_states_is_the_double_pendulum() -> None:
    made = make_config(
        "paper-v2", 20_000, 1e-3, {}, channels=4, channel=(0, 1, 2, 3), order=(0,) * 4, on=(0, 1, 2, 3), sees=()
    )
    assert (made.calibration, made.spacing, made.reservoir) == (5_000, 10, 2048)


@pytest.mark.parametrize("samples", [64, 500, 6_000, 60_000, 10_000_000])
@pytest.mark.parametrize("preset", list(PRESETS))
def test_make_config_suits_every_length(preset: str, samples: int) -> None:
    made = config(preset, samples)
    assert 1 <= made.calibration <= samples
    assert made.stride >= 1 and made.train_every >= 1 and made.block >= 1 and made.reservoir >= 1
    assert samples / made.train_every <= made.updates + 1  # the stream alone never exceeds the updates
    if preset == "default":
        assert made.span <= max(samples, 64)


def test_make_config_prefers_what_it_is_told() -> None:
    made = config("default", updates=50, reservoir=7, batch=3, stride=9, poly=None)
    assert (made.updates, made.reservoir, made.batch, made.stride, made.poly) == (50, 7, 3, 9, 4)


def test_make_config_rejects_windows_longer_than_the_ring() -> None:
    with pytest.raises(TinyUDEError, match="raise max_half or lower spacing"):
        config("paper-v2", spacing=51)
    assert config("paper-v2", spacing=50).spacing == 50


def test_config_counts_columns_and_layers() -> None:
    made = Config(2, (0, 1), (0, 0), 1e-3, on=(0, 1), sees=(0, 1), hidden=(5, 4), parameters=2, library_terms=3)
    assert made.sizes == (2, 5, 4, 2)
    assert made.columns == 2 + 3 * 2
    assert made.span == 2 * made.max_half + 1


@pytest.mark.parametrize("engine", ["native", "reference"])
def test_settings_out_of_their_bounds_are_named_with_their_limits(engine: str) -> None:
    physics = Physics(["x"], ["-x"])
    ude = UDE(physics, network="mlp", engine=engine, settings={"poly": 99})
    with pytest.raises(TinyUDEError, match=r"^poly is 99; give a whole number from 1 to 6\.$"):
        ude.fit(np.sin(np.arange(400.0))[:, None], t=0.1)
