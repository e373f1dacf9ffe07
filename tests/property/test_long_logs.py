"""A log read in pieces is fitted as one read whole, and takes no more memory when it is longer."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

import tinyude as tu
from tinyude.data import streams
from tinyude.data.grid import FIRST_STAMPS
from tinyude.data.logs import Columns, log_stream
from tinyude.data.streams import Stream, as_stream
from tinyude.systems.signals import jittered_times

PERIOD = 0.005
COLUMNS = Columns("time", {"theta": "position", "omega": "speed"}, {"tau": "torque"})
PHYSICS = tu.Physics(["theta", "omega"], ["omega", "-9*sin(theta) + tau"], inputs=["tau"])


def signals(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """A damped pendulum near rest under a torque that makes it follow a given motion."""
    angle = 0.8 * np.sin(3.0 * times) + 0.3 * np.sin(1.1 * times)
    rate = 2.4 * np.cos(3.0 * times) + 0.33 * np.cos(1.1 * times)
    torque = -7.2 * np.sin(3.0 * times) - 0.363 * np.sin(1.1 * times) + 9.0 * np.sin(angle) + 0.4 * rate
    noise = np.random.default_rng(0).standard_normal((len(times), 2))
    return np.stack([angle, rate], axis=1) + 0.002 * noise, torque


def written(path: Path, times: np.ndarray, samples: np.ndarray, torque: np.ndarray) -> Path:
    frame = pl.DataFrame({"time": times, "position": samples[:, 0], "speed": samples[:, 1], "torque": torque})
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_csv(path)
    return path


def rows_of(stream: Stream) -> list[np.ndarray]:
    """The rows of each run, runs that follow on another joined to it."""
    joined: list[np.ndarray] = []
    for run in stream.runs:
        if run.follows:
            joined[-1] = np.concatenate([joined[-1], run.rows])
        else:
            joined.append(run.rows)
    return joined


@pytest.fixture
def never_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "IN_MEMORY", 0)


@pytest.mark.parametrize("rows", [FIRST_STAMPS, 97, 1000, 5000])
@pytest.mark.parametrize("jitter", [0.0, 0.3])
@pytest.mark.usefixtures("never_in_memory")
def test_log_stream_in_pieces_is_the_record_as_a_whole(tmp_path: Path, rows: int, jitter: float) -> None:
    rng = np.random.default_rng(1)
    times = jittered_times(3000, PERIOD, jitter, rng)
    keep = rng.random(3000) > 0.01  # lost rows
    keep[1400:1500] = False  # a hole
    keep[1508:1600] = False  # and a stretch of at most 8 rows between two
    times = np.repeat(times[keep], np.where(np.arange(keep.sum()) % 500 == 499, 2, 1))  # repeated stamps
    samples, torque = signals(times)
    path = written(tmp_path / "log.parquet", times, samples, torque)
    pieces, whole = log_stream([path], COLUMNS, rows), as_stream(samples, times, torque, ["theta", "omega"], ["tau"])
    assert pieces.period == pytest.approx(whole.period, rel=1e-9 if not jitter else 1e-5)
    for name in ("count", "repeated", "missing", "bad"):
        assert getattr(pieces, name) == getattr(whole, name), name
    assert len(rows_of(pieces)) == len(rows_of(whole)) == 2
    for ours, theirs in zip(rows_of(pieces), rows_of(whole), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-9 if not jitter else 0.01)


@pytest.mark.usefixtures("never_in_memory")
def test_fit_of_a_log_in_pieces_is_the_fit_of_the_record(tmp_path: Path) -> None:
    times = np.arange(6000) * PERIOD
    samples, torque = signals(times)
    path = written(tmp_path / "log.parquet", times, samples, torque)
    columns = Columns(PERIOD, COLUMNS.measured, COLUMNS.inputs)
    ude = tu.UDE(PHYSICS, hidden=(), library=["omega", "theta", "1"], reservoir=64)  # the streaming learner
    whole = ude.fit(samples, PERIOD, torque).model_.coefficients.copy()
    pieces = ude.fit(log_stream([path], columns, rows=700)).model_.coefficients
    np.testing.assert_array_equal(pieces, whole)
    assert whole[0, 0] == pytest.approx(-0.4, rel=0.05)


@pytest.mark.usefixtures("never_in_memory")
def test_log_stream_unwraps_across_pieces(tmp_path: Path) -> None:
    times = np.arange(2000) * PERIOD
    samples, torque = signals(times)
    samples[:, 0] += 4.0 * times
    degrees = np.rad2deg(samples) * [1.0, 0.0] + samples * [0.0, 1.0]
    degrees[:, 0] = (degrees[:, 0] + 180.0) % 360.0 - 180.0
    path = written(tmp_path / "log.csv", times, degrees, torque)
    columns = Columns("time", COLUMNS.measured, COLUMNS.inputs, {"theta": 2.0 * np.pi}, {"position": np.pi / 180.0})
    [rows] = rows_of(log_stream([path], columns, rows=300))
    np.testing.assert_allclose(rows[:, :2], samples, atol=1e-6)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.usefixtures("never_in_memory")
def test_fit_of_a_log_four_times_as_long_needs_no_more_memory(
    tmp_path: Path, kind: str, record_property: Callable[[str, object], None]
) -> None:
    ude = tu.UDE(PHYSICS, hidden=(), library=["omega"], reservoir=64, settings={"stride": 20, "max_half": 64})
    peaks = []
    for count in (20_000, 80_000):
        times = np.arange(count) * PERIOD
        path = written(tmp_path / f"log.{kind}", times, *signals(times))
        tracemalloc.start()
        ude.fit(log_stream([path], COLUMNS, rows=2_000))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    record_property(
        "figure",
        f"peak memory of a {kind} fit: {peaks[0] / 1e6:.2f} MB, of four times the rows {peaks[1] / 1e6:.2f} MB",
    )
    assert peaks[1] < 1.5 * peaks[0]
    assert peaks[1] < 16e6  # learner, evidence and verdict
