import importlib
import itertools
import shutil
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.export.codegen.c_source import API_VERSION
from tinyude.native import core as native
from tinyude.native.tape import in_runs
from tinyude.physics.programs import program as make_program
from tinyude.reference.config import BOUNDS, Config, config_error
from tinyude.systems import pendulum
from tinyude.training.known import known_programs

needs_core = pytest.mark.skipif(not native.available(), reason="the core is not compiled")

CONFIG = Config(
    channels=2,
    channel=(0, 1),
    order=(0, 0),
    sample_period=0.005,
    on=(1,),
    sees=(0, 1),
    hidden=(8,),
    max_half=64,
    calibration=600,
    reservoir=128,
    updates=100,
)
PROGRAMS = known_programs(pendulum().physics, [], CONFIG.on)


@pytest.fixture(scope="module")
def samples() -> np.ndarray:
    _, stream = pendulum().stream(noise=0.01, seed=0, seconds=10.0)
    return stream[::5]


def trained(samples: np.ndarray, precision: str = "float32", chunk: int = 10_000) -> dict[str, Any]:
    learner = native.NativeLearner(CONFIG, PROGRAMS, precision)
    for start in range(0, len(samples), chunk):
        learner.push(samples[start : start + chunk])
    learner.finish()
    return learner.state()


def assert_same_bits(a: dict[str, Any], b: dict[str, Any]) -> None:
    assert a.keys() == b.keys()
    for name, value in a.items():
        assert np.asarray(value).tobytes() == np.asarray(b[name]).tobytes(), name


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
def test_available_where_there_is_a_compiler() -> None:
    assert native.available()


def test_available_is_false_without_the_modules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native, "_MODULES", {"float32": "_missing", "float64": "_missing"})
    native._core.cache_clear()
    assert not native.available()
    assert "_missing" in native.build_info()["missing"]
    with pytest.raises(TinyUDEError, match="engine='reference'"):
        native.NativeLearner(CONFIG, PROGRAMS)
    native._core.cache_clear()


@needs_core
def test_build_info_has_the_version_that_code_is_generated_for() -> None:
    assert native.build_info()["api_version"] == API_VERSION


@needs_core
def test_config_of_the_core_has_the_fields_of_the_reference() -> None:
    fields = dict(importlib.import_module("tinyude.native._core64").ffi.typeof("tu_config").fields)
    names = {name.removesuffix("_count") for name in fields}
    assert names == set(Config.__dataclass_fields__)


@needs_core
def test_config_arrives_unchanged() -> None:
    arrived = native._native_config(native._core("float64"), CONFIG)
    assert (arrived.hidden_count, list(arrived.hidden)) == (1, [8, 0, 0])
    assert (arrived.states, arrived.sees_count, list(arrived.sees)[:2]) == (2, 2, [0, 1])
    assert arrived.sample_period == CONFIG.sample_period


@needs_core
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"hidden": (8, 8, 8, 8)}, "hidden has 4 entries and the compiled core takes 3"),
        ({"updates": 2**40}, "updates is 1099511627776"),
        ({"poly": -1}, "poly is -1; give a whole number from 1 to 6"),
        ({"forced": 9}, "does not accept this combination of settings"),
        ({"inputs": 1}, "0 inputs, the configuration 2 and 1"),
    ],
)
def test_learner_rejects_what_the_core_cannot_hold(changed: dict[str, Any], message: str) -> None:
    with pytest.raises(TinyUDEError, match=message):
        native.NativeLearner(replace(CONFIG, **changed), PROGRAMS)


@needs_core
@pytest.mark.parametrize("name", BOUNDS)
def test_bounds_are_those_of_the_core(name: str) -> None:
    """Both ends are taken, what is beyond them is not."""
    low, high = BOUNDS[name]
    whole = isinstance(low, int)
    spaced = {"dense": False, "taps": 1, "spacing": 1, "poly": 1} if name in ("taps", "spacing") else {}
    base = replace(CONFIG, hidden=(), on=(0, 1), sees=(0, 1), network_nodes=1, max_half=8192, block=1, **spaced)
    for value in (low, high):
        assert native.memory(replace(base, **{name: value}))["total"] > 0 and not config_error(name, value)
    for value in (low - 1, high + 1 if whole else 1.001 * high + 1.0, float("nan") if not whole else low + 0.5, "7"):
        assert f"{name} is {value!r}" in config_error(name, value)
        with pytest.raises(TinyUDEError):
            native.memory(replace(base, **{name: value}))


@needs_core
def test_learner_rejects_an_unknown_precision() -> None:
    with pytest.raises(TinyUDEError, match="'float16'; use 'float32' or 'float64'"):
        native.NativeLearner(CONFIG, PROGRAMS, "float16")


@needs_core
@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 2, 1)])
def test_push_rejects_other_shapes(shape: tuple[int, ...]) -> None:
    with pytest.raises(TinyUDEError, match=r"it must be \(rows, 2\)"):
        native.NativeLearner(CONFIG, PROGRAMS).push(np.zeros(shape))


@needs_core
@pytest.mark.parametrize("chunk", [1, 7, 613])
def test_push_in_chunks_equals_at_once(samples: np.ndarray, chunk: int) -> None:
    assert_same_bits(trained(samples, chunk=chunk), trained(samples))


@needs_core
def test_learners_in_threads_equal_one_alone(samples: np.ndarray) -> None:
    with ThreadPoolExecutor(2) as pool:
        states = list(pool.map(lambda _: trained(samples), range(4)))
    for state in states:
        assert_same_bits(state, trained(samples))


@needs_core
@pytest.mark.parametrize("precision", ["float32", "float64"])
def test_builds_for_other_processors_give_the_same_bits(
    samples: np.ndarray, precision: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = importlib.import_module(f"tinyude.native.{native._MODULES[precision]}")
    if native._core(precision) is plain:
        pytest.skip("this processor has only one build")
    expected = trained(samples, precision)
    monkeypatch.setattr(native, "_core", lambda precision: plain)
    assert_same_bits(trained(samples, precision), expected)


@needs_core
def test_state_shows_a_trained_model(samples: np.ndarray) -> None:
    state = trained(samples, "float64")
    assert state["calibrated"] == 1
    assert (state["samples"], state["updates"], state["rolled_back"]) == (len(samples), CONFIG.updates, 0)
    assert state["windows"] == state["accepted"] + state["rejected"].sum()
    assert state["average"].shape == (2 * 8 + 8 + 8 + 1,)
    assert state["reservoir"].shape == (min(state["accepted"], CONFIG.reservoir), 9 * 2 + 1)
    np.testing.assert_allclose(state["sigma"] * state["sigma_scale"], samples.std(axis=0) * 0.01, rtol=0.5)


@needs_core
def test_state_is_a_copy(samples: np.ndarray) -> None:
    learner = native.NativeLearner(CONFIG, PROGRAMS)
    learner.push(samples)
    before = learner.state()
    kept = before["params"].copy()
    learner.step(10)
    assert np.array_equal(before["params"], kept)
    assert not np.array_equal(learner.state()["params"], kept)


@needs_core
def test_residual_is_zero_until_calibrated_then_a_row_for_each_state(samples: np.ndarray) -> None:
    learner = native.NativeLearner(CONFIG, PROGRAMS)
    learner.push(samples[:100])
    assert not learner.residual(samples[:7]).any()
    learner.push(samples[100:])
    learner.finish()
    residual = learner.residual(samples[:7])
    assert (residual.shape, residual.dtype) == ((7, 1), np.float64)
    assert residual.any()
    for row in range(7):
        assert learner.residual(samples[row : row + 1]) == residual[row]


@needs_core
def test_memory_adds_up_to_the_arena() -> None:
    learner = native.NativeLearner(CONFIG, PROGRAMS, "float32")
    parts = learner.memory()
    total, host = parts.pop("total"), parts.pop("host")
    assert total + host == learner.bytes
    assert 0 <= total - sum(parts.values()) < 8 * len(parts)
    assert parts["reservoir"] >= CONFIG.reservoir * (9 * 2 + 1) * 4


def test_in_runs_keeps_every_instruction_after_its_operands() -> None:
    x, y = sp.symbols("x y", real=True)
    terms = [sp.Float(0.1 * k) * sp.exp(-((x - 0.1 * k) ** 2) - y**2) + sp.sin(k * y) for k in range(1, 9)]
    program = make_program([sp.Add(*terms), sp.Mul(*terms[:3])], [x, y])
    order, first = in_runs(program), program.n_inputs + len(program.constants)
    assert sorted(order) == list(range(len(program.code)))
    when = {first + number: place for place, number in enumerate(order)}
    for number, (_, a, b) in enumerate(program.code):
        assert all(when[operand] < when[first + number] for operand in (a, b) if operand in when)
    operations = [program.code[number][0] for number in order]
    runs = sum(a != b for a, b in itertools.pairwise(operations))
    assert runs < 0.5 * sum(a[0] != b[0] for a, b in itertools.pairwise(program.code))
