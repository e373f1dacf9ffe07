"""What many tests share: a short pendulum stream, a fitted model, the engines, exact derivatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude import native
from tinyude.systems.system import System

PERIOD = 0.005  # 200 Hz: the reference engine takes such a record in seconds
SECONDS = 12.0  # kicks at 4 s and 8 s


@pytest.fixture
def rng() -> np.random.Generator:
    """Numbers of the test's own: they do not depend on which tests ran before."""
    return np.random.default_rng(0)


@pytest.fixture(scope="session")
def pendulum() -> System:
    return tu.systems.pendulum()


@pytest.fixture(scope="session")
def short_stream(pendulum: System) -> tuple[float, np.ndarray]:
    """Sample period and noisy samples (2400, 2) of the pendulum, 1 % noise."""
    _, samples = pendulum.stream(noise=0.01, seed=1, seconds=SECONDS)
    samples = samples[:: round(PERIOD * pendulum.rate)].copy()
    samples.setflags(write=False)
    return PERIOD, samples


@pytest.fixture(scope="session")
def quick_engine() -> str:
    """The compiled core where there is one; both engines answer alike."""
    return "native" if native.available() else "reference"


@pytest.fixture(params=["reference", "native"])
def engine(request: pytest.FixtureRequest) -> str:
    if request.param == "native" and not native.available():
        pytest.skip("the compiled core is not built")
    return str(request.param)


@pytest.fixture(scope="session")
def fitted(pendulum: System, short_stream: tuple[float, np.ndarray], quick_engine: str) -> tu.UDE:
    """The default estimator on the short stream; treat it as read-only."""
    period, samples = short_stream
    ude = tu.UDE(pendulum.physics, hidden=(4,), updates=100, engine=quick_engine)
    return ude.fit(samples, t=period)


@pytest.fixture(scope="session")
def complex_step() -> Callable[[Callable[[np.ndarray], Any], np.ndarray], np.ndarray]:
    """Exact derivatives of an analytic function of a vector: (*result, *vector)."""

    def derivative(function: Callable[[np.ndarray], Any], at: np.ndarray) -> np.ndarray:
        columns = []
        for index in np.ndindex(at.shape):
            moved = at.astype(np.complex128)
            moved[index] += 1e-30j
            columns.append(np.imag(function(moved)) / 1e-30)
        stacked = np.stack(columns, axis=-1)
        return stacked.reshape(*stacked.shape[:-1], *at.shape)

    return derivative


# Folders and files whose tests fit, build or draw for seconds: `make check` leaves them to `make test`.
SLOW = (
    "tests/fuzz", "tests/regression", "tests/parity", "tests/property", "tests/realdata", "tests/target",
    "tests/unit/baselines", "tests/unit/cli", "tests/unit/experiments", "tests/unit/export", "tests/unit/fleet",
    "tests/unit/link", "tests/unit/refinement", "tests/unit/report", "tests/unit/test_docs.py",
    "tests/unit/test_examples.py", "tests/unit/reference/test_learner.py", "tests/unit/reference/test_angle.py",
    "tests/unit/reference/test_calibrate.py", "tests/unit/reference/test_noise.py",
    "tests/unit/reference/test_library.py", "tests/unit/model/test_verdict.py", "tests/unit/training/test_restart.py",
    "tests/unit/training/batch", "tests/unit/model/test_changed_dynamics.py", "tests/unit/reference/test_last_good.py",
)  # fmt: skip


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.relative_to(config.rootpath).as_posix().startswith(SLOW):
            item.add_marker("slow")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests measured and recorded with record_property("figure", text), at the end of the output."""
    reports = terminalreporter.getreports("passed") + terminalreporter.getreports("failed")
    figures = [value for report in reports for name, value in report.user_properties if name == "figure"]
    if figures:
        terminalreporter.section("measured")
        for figure in sorted(figures):
            terminalreporter.line(figure)
