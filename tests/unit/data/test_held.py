"""Sensors that are slower than their log."""

import numpy as np
import pytest

from tinyude.data.grid import Piece
from tinyude.data.held import rows_held
from tinyude.data.streams import Source, as_stream, make_stream

ROWS = np.arange(4000)
NOISY = np.column_stack([np.sin(0.01 * ROWS), np.cos(0.01 * ROWS)]) + 1e-3 * np.random.default_rng(0).standard_normal(
    (len(ROWS), 2)
)


def held(samples: np.ndarray) -> list[float]:
    return list(rows_held(lambda: iter([Piece(samples, np.empty((len(samples), 0)))]), samples.shape[1]))


@pytest.mark.parametrize("rows", [2, 3, 10])
def test_rows_held_finds_how_long_a_value_stays(rows: int) -> None:
    slow = NOISY.copy()
    slow[:, 1] = NOISY[rows * (ROWS // rows), 1]
    assert held(slow) == [1.0, rows]


def test_rows_held_takes_no_coarse_sensor_and_no_rest_for_a_slow_sensor() -> None:
    """A coarse sensor moves by single steps; a machine at rest repeats its values only there."""
    coarse = 0.02 * np.round(np.sin(0.002 * ROWS) / 0.02)
    resting = np.where(ROWS < 1500, np.sin(0.01 * ROWS), np.sin(15.0))
    assert np.mean(np.diff(coarse) == 0.0) > 0.9
    assert held(np.column_stack([coarse, resting])) == [1.0, 1.0]


def test_stream_keeps_the_rows_with_new_values() -> None:
    """Rows 3, 3 and 4 apart, as of a sensor whose rate is no fraction of the log's."""
    updates = np.floor(np.arange(0, len(ROWS), 10.0 / 3.0)).astype(int)
    latest = updates[np.searchsorted(updates, ROWS, side="right") - 1]
    stream = as_stream(NOISY[latest], 0.01, ROWS[:, None], ["x", "v"], ["u"])
    assert list(stream.held) == [3.0, 3.0]
    assert stream.period == pytest.approx(0.1 / 3.0, rel=1e-3)
    (piece,) = stream.sources[0].pieces()
    np.testing.assert_array_equal(piece.samples, NOISY[updates])
    np.testing.assert_array_equal(piece.inputs[:, 0], updates)
    np.testing.assert_allclose(piece.stamps, 0.01 * updates)


def test_stream_interpolates_a_held_channel_at_the_updates_of_a_slower_one() -> None:
    line = np.column_stack([2.0 * (ROWS // 2), NOISY[10 * (ROWS // 10), 1], 1.0 * ROWS])
    stream = as_stream(line, 0.01, None, ["x", "v", "w"], [])
    (piece,) = stream.sources[0].pieces()
    np.testing.assert_allclose(piece.samples[:, 0], 10.0 * np.arange(len(piece.samples)))
    np.testing.assert_allclose(piece.samples[:, 2], 10.0 * np.arange(len(piece.samples)))


def test_stream_of_a_log_merged_by_time_takes_each_channel_where_it_was_measured() -> None:
    """Two topics with their own stamps: every row has a value of one of them."""
    even = ROWS % 2 == 0
    merged = np.column_stack([np.where(even, ROWS, np.nan), np.where(even, np.nan, 3.0 * ROWS)])
    stream = as_stream(merged, 0.01, None, ["x", "v"], [])
    (piece,) = stream.sources[0].pieces()
    np.testing.assert_allclose(piece.samples[1:-1, 1], 3.0 * piece.samples[1:-1, 0])
    assert stream.period == pytest.approx(0.02)


def test_stream_of_a_long_log_continues_from_piece_to_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that is kept over the border between two pieces is no update."""
    slow = NOISY[7 * (ROWS // 7)]
    parts = [Piece(part, np.empty((len(part), 0))) for part in np.split(slow, [1000, 2500])]
    stream = make_stream([Source(lambda: iter(parts), period=0.01)], ["x", "v"])
    assert stream.count == -(-len(ROWS) // 7)
    assert stream.period == pytest.approx(0.07)


def test_stream_of_slow_sensors_leaves_rows_without_a_time_out_and_counts_them() -> None:
    times = 0.01 * ROWS
    times[50:60] = np.nan
    stream = as_stream(np.column_stack([NOISY[:, 0], NOISY[4 * (ROWS // 4), 1]]), times, None, ["x", "v"], [])
    (run,) = stream.runs
    assert stream.unstamped == 10
    assert list(stream.held) == [1.0, 4.0]
    lost = ~np.isfinite(run.samples).all(axis=1)
    assert 1 <= lost.sum() <= 3  # the updates at rows 52 and 56
    np.testing.assert_allclose(run.samples[~lost, 0], NOISY[4 * np.flatnonzero(~lost), 0])


def test_stream_takes_a_source_without_rows_beside_a_slow_one() -> None:
    slow = [Piece(NOISY[4 * (ROWS // 4)], np.empty((len(ROWS), 0)))]
    sources = [Source(lambda: iter([]), period=0.01), Source(lambda: iter(slow), period=0.01)]
    assert list(make_stream(sources[1:], ["x", "v"]).held) == [4.0, 4.0]
    alike = [Source(lambda: iter([]), period=0.04), sources[1]]
    assert list(make_stream(alike, ["x", "v"]).held) == [4.0, 4.0]
