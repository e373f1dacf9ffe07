import numpy as np
import pytest

from tinyude.data.frames import column_named, seconds
from tinyude.data.grid import MOSTLY_BAD, SHORTEST, find_period
from tinyude.data.streams import as_stream
from tinyude.errors import TinyUDEError
from tinyude.systems.signals import jittered_times

NAMES = ["theta", "omega"]
PERIOD = 0.01
COUNT = 400


def motion(times: np.ndarray) -> np.ndarray:
    return np.stack([np.sin(3.0 * times), 3.0 * np.cos(3.0 * times)], axis=1)


TIMES = np.arange(COUNT) * PERIOD
SAMPLES = motion(TIMES)


def test_as_stream_with_a_period_takes_rows_as_they_are() -> None:
    stream = as_stream(SAMPLES, PERIOD, None, NAMES, [])
    assert stream.period == PERIOD and len(stream.runs) == 1 and stream.count == COUNT
    np.testing.assert_array_equal(stream.runs[0].rows, SAMPLES)
    assert (stream.repeated, stream.missing, stream.bad, stream.jitter) == (0, 0, 0, 0.0)


def test_as_stream_with_regular_times_equals_a_period() -> None:
    stream = as_stream(SAMPLES, TIMES + 5.0, None, NAMES, [])
    assert stream.period == pytest.approx(PERIOD, rel=1e-9) and stream.runs[0].start == 5.0
    np.testing.assert_array_equal(stream.runs[0].samples, SAMPLES)


def test_as_stream_does_not_touch_what_it_was_given() -> None:
    times = jittered_times(COUNT, PERIOD, 0.3, np.random.default_rng(0))
    samples = motion(times)
    before = samples.copy()
    as_stream(samples, times, None, NAMES, [])
    np.testing.assert_array_equal(samples, before)


@pytest.mark.parametrize("jitter", [0.0, 0.1, 0.4])
@pytest.mark.parametrize("lost", [0.0, 0.02])
def test_as_stream_finds_the_period_behind_jitter_and_losses(jitter: float, lost: float) -> None:
    rng = np.random.default_rng(1)
    times = jittered_times(5000, PERIOD, jitter, rng)
    keep = rng.random(5000) >= lost
    keep[[0, -1]] = True
    stream = as_stream(motion(times[keep]), times[keep], None, NAMES, [])
    assert stream.period == pytest.approx(PERIOD, rel=1e-4)
    assert (stream.count, stream.repeated) == (5000, 0)
    assert stream.missing == np.sum(~keep)


def test_as_stream_finds_the_grid_when_the_first_stamp_is_off() -> None:
    rng = np.random.default_rng(4)
    times = (np.arange(3000) + rng.uniform(-0.3, 0.3, 3000)) * PERIOD
    times[0] = 0.29 * PERIOD
    stream = as_stream(motion(times), times, None, NAMES, [])
    assert stream.period == pytest.approx(PERIOD, rel=1e-4)
    assert (stream.count, stream.repeated, stream.missing) == (3000, 0, 0)


def test_as_stream_moves_jittered_samples_to_the_grid() -> None:
    times = jittered_times(COUNT, PERIOD, 0.3, np.random.default_rng(0))
    stream = as_stream(motion(times), times, None, NAMES, [])
    assert stream.period == pytest.approx(PERIOD, rel=1e-3)
    grid = np.arange(stream.count) * stream.period
    inner = slice(8, -8)
    moved = np.abs(stream.runs[0].samples - motion(grid))[inner].max(axis=0)
    unmoved = np.abs(motion(times) - motion(TIMES)).max(axis=0)
    assert np.all(moved < 0.05 * unmoved)
    assert stream.jitter == pytest.approx(0.3 / np.sqrt(3.0), rel=0.1)


def test_as_stream_fills_lost_rows_with_nan_and_counts_them() -> None:
    keep = np.ones(COUNT, dtype=bool)
    keep[[50, 51, 200]] = False
    stream = as_stream(SAMPLES[keep], TIMES[keep], None, NAMES, [])
    assert stream.missing == 3 and len(stream.runs) == 1 and stream.count == COUNT
    assert np.all(np.isnan(stream.runs[0].samples[[50, 51, 200]]))
    np.testing.assert_array_equal(stream.runs[0].samples[keep], SAMPLES[keep])


def test_as_stream_splits_at_a_gap() -> None:
    keep = np.ones(COUNT, dtype=bool)
    keep[150:200] = False
    stream = as_stream(SAMPLES[keep], TIMES[keep], None, NAMES, [])
    assert [len(run.samples) for run in stream.runs] == [150, 200]
    assert stream.runs[1].start == pytest.approx(TIMES[200]) and stream.missing == 0


@pytest.mark.parametrize(("lost", "runs"), [(3, 1), (4, 2)])
def test_as_stream_splits_from_a_step_of_four_and_a_half_periods_on(lost: int, runs: int) -> None:
    keep = np.ones(COUNT, dtype=bool)
    keep[150 : 150 + lost] = False
    stream = as_stream(SAMPLES[keep], TIMES[keep], None, NAMES, [])
    assert (len(stream.runs), stream.missing) == (runs, lost if runs == 1 else 0)


@pytest.mark.parametrize(("rows", "runs"), [(SHORTEST - 1, 1), (SHORTEST, 2)])
def test_as_stream_leaves_out_stretches_too_short_to_use(rows: int, runs: int) -> None:
    keep = np.ones(COUNT, dtype=bool)
    keep[rows : rows + 50] = False
    stream = as_stream(SAMPLES[keep], TIMES[keep], None, NAMES, [])
    assert len(stream.runs) == runs and (stream.runs[0].start > 0.0) == (runs == 1)


def test_as_stream_counts_repeated_times_and_keeps_the_first() -> None:
    order = np.sort(np.concatenate([np.arange(COUNT), [10, 10, 77]]))
    samples = SAMPLES[order].copy()
    samples[11] += 100.0  # the second of three rows at the same time
    stream = as_stream(samples, TIMES[order], None, NAMES, [])
    assert stream.repeated == 3
    np.testing.assert_array_equal(stream.runs[0].samples, SAMPLES)


def test_as_stream_leaves_out_rows_without_a_time_and_counts_them() -> None:
    times = TIMES.copy()
    times[[3, 100, 399]] = np.nan
    stream = as_stream(SAMPLES, times, None, NAMES, [])
    assert (stream.unstamped, stream.repeated, stream.missing) == (3, 0, 2)


def test_as_stream_holds_inputs_through_lost_rows() -> None:
    keep = np.ones(COUNT, dtype=bool)
    keep[[50, 51]] = False
    u = np.arange(COUNT, dtype=float)
    stream = as_stream(SAMPLES[keep], TIMES[keep], u[keep], NAMES, ["tau"])
    held = stream.runs[0].inputs[:, 0]
    np.testing.assert_array_equal(held[48:54], [48.0, 49.0, 49.0, 49.0, 52.0, 53.0])
    assert stream.runs[0].rows.shape == (COUNT, 3)


def test_as_stream_takes_lists_of_runs_of_different_lengths() -> None:
    stream = as_stream([SAMPLES, SAMPLES[:100]], PERIOD, None, NAMES, [])
    assert [len(run.samples) for run in stream.runs] == [COUNT, 100]
    stream = as_stream([SAMPLES, SAMPLES[:100]], [TIMES, TIMES[:100]], None, NAMES, [])
    assert [len(run.samples) for run in stream.runs] == [COUNT, 100]


def test_as_stream_takes_a_single_channel_as_a_vector() -> None:
    np.testing.assert_array_equal(as_stream(SAMPLES[:, 0], PERIOD, None, ["theta"], []).runs[0].samples, SAMPLES[:, :1])


def test_as_stream_finds_dataframe_columns_by_name() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"omega": SAMPLES[:, 1], "extra": TIMES, "theta": SAMPLES[:, 0]})
    np.testing.assert_array_equal(as_stream(frame, PERIOD, None, NAMES, []).runs[0].samples, SAMPLES)


def test_as_stream_lets_nan_through_and_counts_it() -> None:
    samples = SAMPLES.copy()
    samples[5, 0], samples[9, 1] = np.nan, np.inf
    assert as_stream(samples, PERIOD, None, NAMES, []).bad == 2


def test_as_stream_takes_short_stretches_of_a_live_stream() -> None:
    stream = as_stream(np.ones((1, 2)), PERIOD, None, NAMES, [], shortest=1)
    assert stream.count == 1


@pytest.mark.parametrize(("step", "revolution"), [(2.0 * np.pi - 0.2, 2.0 * np.pi), (0.7 * 2.0 * np.pi, 0.0)])
def test_as_stream_takes_steps_of_about_a_revolution_for_wrapping(step: float, revolution: float) -> None:
    """A saw-tooth over one revolution, and one that falls back by less: a fast return."""
    rising = np.linspace(-np.pi, np.pi, 101)
    path = np.concatenate([rising, rising[-1] - step + np.linspace(0.0, 0.1, 50)])
    assert as_stream(path, PERIOD, None, ["theta"], []).revolutions == [revolution]


def broken(**changes: object) -> dict[str, object]:
    return {"Y": SAMPLES, "t": PERIOD, "u": None, **changes}


def with_nan(share: float) -> np.ndarray:
    samples = SAMPLES.copy()
    samples[: int(share * COUNT), 1] = np.nan
    return samples


def constant() -> np.ndarray:
    samples = SAMPLES.copy()
    samples[:, 0] = 4.5
    return samples


def backwards() -> np.ndarray:
    times = TIMES.copy()
    times[100] = times[90]
    return times


BAD = {
    "no samples": (broken(Y=np.empty((0, 2))), f"0 samples; at least {SHORTEST}"),
    "an empty list": (broken(Y=[]), f"Y has 0 samples; at least {SHORTEST}"),
    "too few samples": (broken(Y=SAMPLES[:11]), f"11 samples; at least {SHORTEST}"),
    "three columns": (broken(Y=np.ones((COUNT, 3))), r"\(400, 3\).*one column for each measured state: theta, omega"),
    "one column": (broken(Y=SAMPLES[:, :1]), r"measured=\[...\]"),
    "three axes": (broken(Y=np.ones((2, 2, 2))), r"\(2, 2, 2\)"),
    "text": (broken(Y=[["a", "b"]] * COUNT), "numeric array"),
    "all NaN": (broken(Y=np.full((COUNT, 2), np.nan)), "100% of theta is not a number.*check the sensor"),
    "too much NaN": (broken(Y=with_nan(0.3)), f"30% of omega is not a number below .*; at most {MOSTLY_BAD:.0%}"),
    "a constant channel": (broken(Y=constant()), "theta is constant at 4.5"),
    "a zero period": (broken(t=0.0), "must be a positive number of seconds"),
    "a negative period": (broken(t=-1e-3), "sample period is -0.001"),
    "a NaN period": (broken(t=np.nan), "sample period is nan"),
    "no period": (broken(t=None), "give the sample period in seconds"),
    "a worded period": (broken(t="fast"), "give the sample period in seconds"),
    "too few times": (broken(t=TIMES[:-1]), "give one time for each row"),
    "times with NaN": (
        broken(t=np.where(TIMES > 2.0, np.nan, TIMES)),
        "50% of the time stamps are not numbers; at most 20%",
    ),
    "times that go back": (broken(t=backwards()), "t goes backwards at row 100 .*sort the rows"),
    "one and the same time": (broken(t=np.zeros(COUNT)), "1 distinct times"),
    "times as text": (broken(t=np.array(["noon"] * COUNT)), "give times in seconds"),
    "inputs that the physics lacks": (broken(u=np.ones(COUNT)), r"no inputs; name them in Physics\(inputs=...\)"),
    "runs of other periods": (
        broken(Y=[SAMPLES, SAMPLES], t=[0.01, 0.02]),
        "resample them to a common period",
    ),
    "fewer times than runs": (broken(Y=[SAMPLES, SAMPLES], t=[0.01]), "2 runs, 1 time vectors"),
}


@pytest.mark.parametrize("case", BAD)
def test_as_stream_rejects_bad_data_with_a_remedy(case: str) -> None:
    arguments, remedy = BAD[case]
    with pytest.raises(TinyUDEError, match=remedy):
        as_stream(channels=NAMES, inputs=[], **arguments)


BAD_INPUTS = {
    "none": (None, "u is missing; this physics has the inputs tau"),
    "too few rows": (np.ones(COUNT - 5), "give one row of u for each row of Y"),
    "two columns": (np.ones((COUNT, 2)), "one column for each input: tau"),
    "NaN": (np.where(np.arange(COUNT) == 7, np.nan, 1.0), "tau is not a number .* in 1 of .*; fill in"),
}


@pytest.mark.parametrize("case", BAD_INPUTS)
def test_as_stream_rejects_bad_inputs_with_a_remedy(case: str) -> None:
    u, remedy = BAD_INPUTS[case]
    with pytest.raises(TinyUDEError, match=remedy):
        as_stream(SAMPLES, PERIOD, u, NAMES, ["tau"])


def test_as_stream_leaves_empty_rows_at_the_end_out() -> None:
    empty = np.full((3, len(NAMES)), np.nan)
    inputs = np.concatenate([np.ones(COUNT), np.full(3, np.nan)])
    stream = as_stream(np.concatenate([SAMPLES, empty]), PERIOD, inputs, NAMES, ["tau"])
    assert stream.count == COUNT and stream.bad == 0


def test_as_stream_rejects_a_record_of_gaps() -> None:
    times = TIMES + 10.0 * (np.arange(COUNT) // 11)
    with pytest.raises(TinyUDEError, match="No stretch of 12 samples without a gap; check the time stamps"):
        as_stream(SAMPLES, times, None, NAMES, [])


@pytest.mark.parametrize("zone", ["", "Z", "+02:00"])
def test_seconds_reads_iso_texts(zone: str) -> None:
    texts = [f"2026-01-31T23:59:59.{k}00{zone}" for k in (0, 2, 5)]
    for given in (texts, np.array(texts), np.array(texts, dtype=object)):
        np.testing.assert_allclose(seconds(given), [0.0, 0.2, 0.5])
    assert np.isnan(seconds([*texts, ""])[-1])
    np.testing.assert_allclose(seconds(["0.0", "0.1"]), [0.0, 0.1])
    with pytest.raises(TinyUDEError, match="give times in seconds, or dates as 2026"):
        seconds(["noon", "one"])


def test_column_named_finds_the_index_of_a_frame() -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"x": [1.0, 2.0]}, index=pandas.Index([0.0, 0.5], name="time"))
    np.testing.assert_array_equal(seconds(column_named(frame, "time")), [0.0, 0.5])
    assert column_named(frame, "when") is None and column_named([1.0], "time") is None


def test_find_period_joins_stretches_that_follow_each_other() -> None:
    """Pieces of one log give the period of the whole, more exactly than the longest piece does."""
    stamps = 0.01 * np.arange(400) + 1e-3 * np.random.default_rng(0).standard_normal(400)
    whole = find_period([stamps])
    assert find_period([stamps[:150], stamps[150:]]) == pytest.approx(whole, rel=1e-9)
    assert find_period([stamps[:150]]) != pytest.approx(whole, rel=1e-6)
