"""Every object that a user holds can be pickled and copied, as joblib and Dask do, and is the same afterwards."""

import copy
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.logs import Columns, log_stream
from tinyude.data.streams import as_stream
from tinyude.report.collect import collect
from tinyude.systems.pendulum import RESIDUALS

WAYS: dict[str, Callable[[Any], Any]] = {
    **{f"pickle {k}": lambda given, k=k: pickle.loads(pickle.dumps(given, k)) for k in (2, pickle.HIGHEST_PROTOCOL)},
    "deepcopy": copy.deepcopy,
    "copy": copy.copy,
}
STATES = np.array([[0.3, -0.5], [1.0, 2.0]])


@pytest.fixture(params=WAYS)
def copied(request: pytest.FixtureRequest) -> Callable[[Any], Any]:
    return WAYS[request.param]


@pytest.mark.parametrize("residual", ["linear", *RESIDUALS])
def test_a_pendulum_is_copied(residual: str, copied: Callable[[Any], Any]) -> None:
    plant = tu.systems.pendulum(residual=residual)
    np.testing.assert_array_equal(copied(plant).truth(STATES), plant.truth(STATES))


def test_a_double_pendulum_is_copied(copied: Callable[[Any], Any]) -> None:
    plant, states = tu.systems.double_pendulum(), np.hstack([STATES, STATES])
    np.testing.assert_array_equal(copied(plant).truth(states), plant.truth(states))


@pytest.mark.parametrize("stamps", [True, False])
def test_a_record_is_copied(stamps: bool, copied: Callable[[Any], Any], tmp_path: Path) -> None:
    t = 0.01 * np.arange(60)
    Y = np.column_stack([np.sin(t), np.cos(t)])
    in_memory = as_stream(Y, t if stamps else 0.01, None, ("x", "v"), ())
    path = tmp_path / "log.csv"
    np.savetxt(path, np.column_stack([t, Y]), delimiter=",", header="time,x,v", comments="")
    read = log_stream([path], Columns("time" if stamps else 0.01, {"x": "x", "v": "v"}, {}))
    for stream in (in_memory, read):
        again = copied(stream)
        for run, same in zip(stream.runs, again.runs, strict=True):
            np.testing.assert_array_equal(run.samples, same.samples)
        assert again.period == stream.period


def test_a_fit_and_all_that_it_holds_is_copied(fitted: tu.UDE, copied: Callable[[Any], Any]) -> None:
    again = copied(fitted)
    assert str(again) == str(fitted)
    for predict in ("predict", "residual"):
        np.testing.assert_array_equal(getattr(again, predict)(STATES), getattr(fitted, predict)(STATES))
    assert fitted.model_.parts
    for part in fitted.model_.parts:
        np.testing.assert_array_equal(copied(part).evaluate(STATES), part.evaluate(STATES))
    held = [getattr(fitted, name) for name in ("verdict_", "terms_", "diagnostics_", "record_", "config_", "result_")]
    for each in (*held, collect(fitted), *fitted.verdict_.reasons):
        assert type(copied(each)) is type(each)
