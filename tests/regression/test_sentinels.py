"""Numbers that loggers write where they have none: left out, wherever they are; motions stay."""

from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude.data.logs import Columns, log_stream
from tinyude.data.sentinels import without_sentinels
from tinyude.data.streams import as_stream

T = np.arange(1000) * 0.01
MOTION = np.column_stack([np.sin(3.0 * T), 3.0 * np.cos(3.0 * T)])
PLACES = {"inside": slice(100, 104), "first": slice(0, 5), "last": slice(990, 1000), "lone": slice(500, 501)}


@pytest.mark.parametrize("value", [-9999.0, 999999.0, 2147483647.0, -1e14])
@pytest.mark.parametrize("place", PLACES)
def test_without_sentinels_leaves_out_what_no_sensor_gave(value: float, place: str) -> None:
    samples = MOTION.copy()
    samples[PLACES[place], 0] = value
    found = without_sentinels(samples)
    assert np.isnan(found[PLACES[place], 0]).all() and np.isnan(found).sum() == len(samples[PLACES[place]])
    assert samples[PLACES[place], 0][0] == value  # the user's own array stays


@pytest.mark.parametrize(("factor", "kept"), [(80.0, True), (125.0, False)])
def test_without_sentinels_begins_at_a_hundred_spreads(factor: float, kept: bool) -> None:
    """Nine values in ten are within 1 of the median, which is 0."""
    column = np.tile(np.linspace(-1.0, 1.0, 41), 25)
    column[500] = factor * np.quantile(np.abs(column), 0.9)
    assert np.isfinite(without_sentinels(column[:, None]))[500, 0] == kept


@pytest.mark.parametrize(
    "motion",
    [
        np.exp(-60.0 * T),  # decays by 260 decades
        np.exp(3.0 * T),
        np.where(T < 9.5, 0.0, np.sin(T - 9.5)),  # stands still, then moves until the end
        np.where(T < 9.5, 1e-9 * np.sin(T), np.exp(-(T - 9.5)) - 1.0 + (T > 9.5)),  # kicked at last
        np.where(T < 9.8, 1e-9, 1.0) * (1.0 + 0.01 * np.sin(T)),  # a step
        np.where(np.arange(1000) % 200 == 7, 1.0, 0.0),  # one step of a coarse sensor, seldom
        np.full(1000, 5.0),
        np.full(1000, np.nan),
    ],
)
def test_without_sentinels_keeps_motions(motion: np.ndarray) -> None:
    samples = motion[:, None]
    np.testing.assert_array_equal(without_sentinels(samples), samples)


def test_a_fit_is_the_same_with_sentinels_as_with_gaps() -> None:
    t, Y = tu.systems.pendulum("A").stream(noise=0.01, seconds=12.0)
    gaps = Y.copy()
    gaps[[50, 51, 300, 301, 302, 900]] = np.nan
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    fits = [tu.UDE(physics, refine=False).fit(np.where(np.isnan(gaps), v, gaps), t=t) for v in (np.nan, 1e9, -9999.0)]
    for fit in fits:
        assert fit.terms_ == fits[0].terms_ and fit.verdict_.status == "good"


def test_a_log_is_read_without_sentinels_and_a_live_stream_as_it_comes(tmp_path: Path) -> None:
    samples = MOTION.copy()
    samples[200:203, 0] = -9999.0
    rows = "".join(f"{time},{x},{v}\n" for time, (x, v) in zip(T, samples, strict=True))
    (tmp_path / "log.csv").write_text("time,x,v\n" + rows)
    columns = Columns("time", {"x": "x", "v": "v"})
    stream = log_stream([tmp_path / "log.csv"], columns)
    assert stream.bad == 3 and stream.span[0] < 3.0
    assert as_stream(samples, 0.01, None, ["x", "v"], [], shortest=1).bad == 0
