"""Data as users have them: frames by name, masked arrays, dates; estimators copied, stored and gone on with."""

import copy
import datetime
import io
import pickle
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from scipy.integrate import solve_ivp
from sklearn.base import clone
from sklearn.pipeline import Pipeline

import tinyude as tu
from tinyude.data.frames import numbers, seconds
from tinyude.data.streams import as_stream
from tinyude.errors import TinyUDEError
from tinyude.training.seed import seed_of

Stream = tuple[float, np.ndarray]
NAMES = ("theta", "omega")
TABLE = np.arange(6.0).reshape(3, 2)


def frames(names: tuple[str, ...], table: np.ndarray) -> dict[str, object]:
    columns = dict(zip(names, table.T, strict=True))
    found: dict[str, object] = {
        "polars": pl.DataFrame(columns),
        "mapping": columns,
        "structured": np.array(list(map(tuple, table)), dtype=[(name, float) for name in names]),
    }
    found["arrow"] = pa.table(columns)
    found["pandas"] = pd.DataFrame(columns)
    found["pandas nullable"] = pd.DataFrame(columns).astype("Float64")
    found["polars, lazy"] = pl.LazyFrame(columns)
    found["xarray Dataset"] = xr.Dataset({name: ("row", column) for name, column in columns.items()})
    found["xarray DataArray"] = xr.DataArray(table, dims=("row", "signal"), coords={"signal": list(names)})
    return found


def test_numbers_finds_columns_by_name_in_any_order_among_others() -> None:
    wide = np.column_stack([TABLE[:, 1], 9.0 * np.ones(3), TABLE[:, 0]])
    for kind, frame in frames(("omega", "time", "theta"), wide).items():
        np.testing.assert_array_equal(numbers(frame, NAMES, "Y"), TABLE, err_msg=kind)


@pytest.mark.parametrize(
    "names", [("theta", "omgea"), ("theta", "x"), ("Theta", "Omega"), ("thta", "omeg"), ("omega", "angle")]
)
def test_numbers_rejects_a_misspelt_column(names: tuple[str, str]) -> None:
    for frame in frames(names, TABLE).values():
        with pytest.raises(TinyUDEError, match=r"Y has no column '(theta|omega)'.*its columns are"):
            numbers(frame, NAMES, "Y")


def test_numbers_takes_a_row_of_a_frame_by_its_names() -> None:
    row = pd.DataFrame({"omega": [1.0], "time": [9.0], "theta": [0.0]}).iloc[0]
    for named in (row, row.to_dict()):
        assert numbers(named, NAMES, "x0").tolist() == [0.0, 1.0]
    with pytest.raises(TinyUDEError, match=r"x0 has no column 'omega' \(did you mean 'omgea'"):
        numbers(row.rename({"omega": "omgea"}), NAMES, "x0")
    assert numbers(pd.Series([0.0, 1.0]), NAMES, "x0").tolist() == [0.0, 1.0]


def test_numbers_rejects_columns_of_different_lengths() -> None:
    for names in (NAMES, ("a", "b")):
        with pytest.raises(TinyUDEError, match=r"different shapes|cannot be read"):
            numbers({names[0]: [1.0, 2.0], names[1]: [1.0]}, NAMES, "Y")


def test_numbers_takes_a_table_of_other_names_by_position() -> None:
    for kind, frame in frames(("a", "b"), TABLE).items():
        np.testing.assert_array_equal(numbers(frame, NAMES, "Y"), TABLE, err_msg=kind)


def test_numbers_fills_what_is_masked_or_missing_with_nan() -> None:
    masked = np.ma.array(TABLE, mask=[[0, 1], [0, 0], [1, 0]])
    assert np.isnan(numbers(masked, NAMES, "Y")).tolist() == [[False, True], [False, False], [True, False]]
    assert np.isnan(numbers(np.ma.array([[1, 2]], mask=[[0, 1]]), NAMES, "Y")).tolist() == [[False, True]]
    frame = pl.DataFrame({"theta": [1, None, 3], "omega": [1.0, 2.0, None]})
    assert np.isnan(numbers(frame, NAMES, "Y")).sum() == 2


def test_predict_takes_frames_by_name_and_rejects_a_misspelt_one(fitted: tu.UDE) -> None:
    expected = fitted.predict(TABLE)
    for frame in frames(("omega", "theta"), TABLE[:, ::-1]).values():
        np.testing.assert_array_equal(fitted.predict(frame), expected)
        np.testing.assert_array_equal(fitted.residual(frame), fitted.residual(TABLE))
    with pytest.raises(TinyUDEError, match="has no column 'omega'"):
        fitted.predict(pl.DataFrame({"omgea": TABLE[:, 1], "theta": TABLE[:, 0]}))
    with pytest.raises(TinyUDEError, match="non-finite"):
        fitted.predict(np.ma.array(TABLE, mask=TABLE > 4.0))


DATES = np.datetime64("2026-01-01T00:00:00", "ns") + np.arange(4) * np.timedelta64(2_500_000, "ns")


@pytest.mark.parametrize(
    "times",
    [
        DATES,
        DATES.astype("datetime64[us]"),
        DATES - DATES[0],
        pl.Series(DATES),
        [
            datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC) + k * datetime.timedelta(milliseconds=2.5)
            for k in range(4)
        ],
        [k * datetime.timedelta(milliseconds=2.5) for k in range(4)],
        np.arange(4) * 0.0025,
    ],
)
def test_seconds_reads_dates_and_spans(times: object) -> None:
    np.testing.assert_allclose(seconds(times), np.arange(4) * 0.0025, atol=1e-12)


def test_seconds_reads_pandas_dates_of_any_zone() -> None:
    pd = pytest.importorskip("pandas")
    for series in (pd.Series(DATES), pd.Series(DATES).dt.tz_localize("Europe/Berlin"), pd.DatetimeIndex(DATES)):
        np.testing.assert_allclose(seconds(series), np.arange(4) * 0.0025, atol=1e-12)


def test_seconds_takes_months_as_their_first_days_and_rejects_spans_of_them() -> None:
    months = np.array(["2026-01", "2026-02", "2026-03"], "datetime64[M]")
    assert seconds(months).tolist() == [0.0, 31 * 86_400.0, 59 * 86_400.0]
    with pytest.raises(TinyUDEError, match="months or years, which differ in length; give seconds"):
        seconds(np.arange(3).astype("timedelta64[M]"))
    with pytest.raises(TinyUDEError, match="booleans; give times in seconds"):
        seconds(True)


def test_seconds_marks_unknown_dates() -> None:
    assert np.isnan(seconds(np.array(["NaT", "2026-01-01", "2026-01-02"], "datetime64[s]"))).tolist() == [1, 0, 0]
    masked = np.ma.array(DATES, mask=[0, 0, 1, 0])
    assert np.isnan(seconds(masked)).tolist() == [False, False, True, False]


def test_fit_takes_dates_and_a_span_as_the_period(
    pendulum: tu.systems.system.System, short_stream: Stream, quick_engine: str
) -> None:
    period, samples = short_stream
    dates = np.datetime64("2026-01-01", "ns") + (np.arange(len(samples)) * 5_000_000).astype("timedelta64[ns]")
    given = [period, np.timedelta64(5, "ms"), datetime.timedelta(milliseconds=5), dates]
    fits = [tu.UDE(pendulum.physics, hidden=(), engine=quick_engine).fit(samples, t=t) for t in given]
    for other in fits[1:]:
        np.testing.assert_allclose(other.predict(TABLE), fits[0].predict(TABLE), rtol=1e-6)


@pytest.mark.parametrize("kind", ["arrow", "pandas", "polars", "polars, lazy", "xarray Dataset", "mapping"])
def test_a_frame_holds_its_times_and_inputs(kind: str) -> None:
    table = np.column_stack([np.arange(100) * 0.01, np.sin(np.arange(100.0)), np.ones(100)])
    frame = frames(("time", "x", "force"), table)[kind]
    stream = as_stream(frame, "time", None, ["x"], ["force"])
    assert stream.period == pytest.approx(0.01) and stream.count == 100
    np.testing.assert_array_equal(stream.longest.inputs[:, 0], 1.0)
    with pytest.raises(TinyUDEError, match="no such column"):
        as_stream(frame, "clock", None, ["x"], ["force"])


def test_a_coordinate_of_xarray_gives_the_times() -> None:
    x = xr.Dataset({"x": ("time", np.sin(np.arange(100.0)))}, coords={"time": np.arange(100) * 0.01})
    assert as_stream(x, "time", None, ["x"], []).period == pytest.approx(0.01)


def test_a_list_of_rows_is_one_run_and_a_list_of_tables_several() -> None:
    table = np.random.default_rng(0).normal(size=(128, 2))
    assert as_stream(table.tolist(), 0.01, None, NAMES, []).count == 128
    assert len(list(as_stream([table[:64], table[64:].tolist()], 0.01, None, NAMES, []).runs)) == 2
    assert len(list(as_stream([table[:64, 0], table[64:, 0]], 0.01, None, NAMES[:1], []).runs)) == 2


def test_pipeline_fits_scores_and_takes_the_period(
    pendulum: tu.systems.system.System, short_stream: Stream, quick_engine: str
) -> None:
    period, samples = short_stream
    pipeline = Pipeline([("ude", tu.UDE(pendulum.physics, hidden=(), engine=quick_engine))])
    pipeline.fit(samples, ude__t=period)
    assert pipeline.score(samples) > 0.9 and pipeline.predict(TABLE).shape == TABLE.shape
    alone = tu.UDE(pendulum.physics, hidden=(), engine=quick_engine).fit(samples, period)
    np.testing.assert_array_equal(pipeline.predict(TABLE), alone.predict(TABLE))
    np.testing.assert_array_equal(clone(pipeline).fit(samples, period).predict(TABLE), alone.predict(TABLE))
    with pytest.raises(TinyUDEError, match="given twice"):
        alone.fit(samples, period, t=period)
    named = Pipeline([("ude", clone(alone))]).fit(samples, ude__t=1e-3)
    assert named.named_steps["ude"].config_.sample_period == 1e-3
    with pytest.raises(tu.TinyUDEError, match="t is missing; give the sample period"):
        clone(alone).fit(samples)


def test_seed_of_takes_what_scikit_learn_takes() -> None:
    assert seed_of(7) == 7 and seed_of(np.int64(7)) == 7
    assert seed_of(np.random.RandomState(0)) == seed_of(np.random.RandomState(0))
    assert seed_of(np.random.default_rng(0)) == seed_of(np.random.default_rng(0))
    assert seed_of(None) != seed_of(None)
    for wrong in (-1, 0.5, True, "0", 2**64):
        with pytest.raises(TinyUDEError, match="random_state is"):
            seed_of(wrong)


def test_save_keeps_the_seed_that_was_drawn(
    pendulum: tu.systems.system.System, short_stream: Stream, quick_engine: str, tmp_path: Path
) -> None:
    period, samples = short_stream
    state = np.random.RandomState(0)
    ude = tu.UDE(pendulum.physics, hidden=(), engine=quick_engine, random_state=state).fit(samples, t=period)
    ude.save(tmp_path / "a.tinyude")
    assert tu.load(tmp_path / "a.tinyude").random_state == ude.config_.seed


def stored(ude: tu.UDE) -> dict[str, tu.UDE]:
    file = io.BytesIO()
    joblib.dump(ude, file)
    file.seek(0)
    return {
        "pickle": pickle.loads(pickle.dumps(ude)),
        "deepcopy": copy.deepcopy(ude),
        "copy": copy.copy(ude),
        "joblib": joblib.load(file),
    }


def test_a_fitted_estimator_is_copied_and_stored_whole(fitted: tu.UDE, short_stream: Stream) -> None:
    period, samples = short_stream
    fitted.predict(samples[:2])  # what is compiled on first use must not stand in the way
    for kind, other in stored(fitted).items():
        np.testing.assert_array_equal(other.predict(samples), fitted.predict(samples), err_msg=kind)
        assert str(other) == str(fitted) and other.score(samples, t=period) == fitted.score(samples, t=period)
        np.testing.assert_array_equal(other.simulate([1.0, 0.0], [0.0, 1.0]), fitted.simulate([1.0, 0.0], [0.0, 1.0]))
        np.testing.assert_array_equal(other.residual_interval(TABLE), fitted.residual_interval(TABLE))


def test_an_estimator_that_is_not_fitted_is_copied(pendulum: tu.systems.system.System) -> None:
    for other in stored(tu.UDE(pendulum.physics)).values():
        assert other.physics == pendulum.physics and not hasattr(other, "model_")


def test_partial_fit_goes_on_from_a_stored_model(
    pendulum: tu.systems.system.System, short_stream: Stream, engine: str, tmp_path: Path
) -> None:
    period, samples = short_stream
    fitted = tu.UDE(pendulum.physics, hidden=(4,), updates=50, engine=engine).fit(samples, t=period)
    fitted.save(tmp_path / "a.tinyude")
    before = fitted.residual(TABLE)
    for other in (tu.load(tmp_path / "a.tinyude"), pickle.loads(pickle.dumps(fitted))):
        other.partial_fit(samples[:100])  # at the period of the fit
        np.testing.assert_allclose(other.residual(TABLE), before, rtol=0.05, atol=0.02)
        for start in range(100, 1500, 200):
            other.partial_fit(samples[start : start + 200])
        np.testing.assert_allclose(other.residual(TABLE), before, rtol=0.05, atol=0.05)
        assert other.diagnostics_["samples"] == 1500
        with pytest.raises(TinyUDEError, match="sample period changed"):
            other.partial_fit(samples[:100], t=0.1)


def rig(
    damping: float, seed: int, seconds: float = 30.0, bump: float = 1.5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Samples, torque and true residual of a driven pendulum at 100 Hz with a bump of friction and a damping."""
    rng, period = np.random.default_rng(seed), 0.01
    size, rate, phase = rng.standard_normal(5), rng.uniform(0.1, 0.8, 5), rng.uniform(0.0, 6.0, 5)

    def torque(t: float) -> float:
        return 2.0 * float(np.sum(size * np.sin(2.0 * np.pi * rate * t + phase)))

    def residual(x: np.ndarray) -> np.ndarray:
        return -bump * np.exp(-((x[..., 1] - 1.0) ** 2) / 0.3) - damping * x[..., 1]

    def field(t: float, x: np.ndarray) -> list[float]:
        return [x[1], -9.81 * np.sin(x[0]) + torque(t) + residual(x)]

    t = period * np.arange(int(seconds / period))
    x = solve_ivp(field, (0.0, t[-1]), [1.0, 0.0], t_eval=t, rtol=1e-8, atol=1e-9).y.T
    return x + 0.01 * rng.standard_normal(x.shape), np.array([[torque(s)] for s in t]), residual(x)


@pytest.mark.parametrize("library", [["w"], None])
def test_partial_fit_goes_on_from_a_kernel_network(library: list[str] | None, tmp_path: Path) -> None:
    physics = tu.Physics(["th", "w"], ["w", "-9.81*sin(th) + tau"], inputs=["tau"])
    samples, torque, _ = rig(0.3, seed=1, seconds=60.0)
    fitted = tu.UDE(physics, network="kernel", library=library, refine=False).fit(samples, u=torque, t=0.01)
    assert fitted.model_.kernel is not None
    fitted.save(tmp_path / "a.tinyude")
    other = tu.load(tmp_path / "a.tinyude")

    def error(ude: tu.UDE, told: tuple[np.ndarray, np.ndarray, np.ndarray]) -> float:
        found = ude.residual(told[0], told[1])[:, 1]
        return float(np.linalg.norm(found - told[2]) / np.linalg.norm(told[2]))

    def push(told: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        for k in range(0, len(told[0]), 500):
            other.partial_fit(told[0][k : k + 500], u=told[1][k : k + 500])

    same, changed = rig(0.3, seed=2), rig(0.8, seed=3, seconds=60.0)
    push(same)
    assert error(other, same) <= 1.02 * error(fitted, same) < 0.1
    push(changed)
    assert error(other, changed) < 0.1 < 0.4 < error(fitted, changed)
    assert len(other.diagnostics_["changes"]) == 1 and 30.0 < other.diagnostics_["changes"][0] < 45.0  # at 30 s
    other.save(tmp_path / "b.tinyude")
    np.testing.assert_array_equal(tu.load(tmp_path / "b.tinyude").residual(TABLE, 0.0), other.residual(TABLE, 0.0))


def test_partial_fit_learns_the_gain_of_a_kernel_network(tmp_path: Path) -> None:
    """Bump and damping grow by half: no term is offered that has the bump's form."""
    physics = tu.Physics(["th", "w"], ["w", "-9.81*sin(th) + tau"], inputs=["tau"])
    samples, torque, _ = rig(0.3, seed=1, seconds=60.0)
    ude = tu.UDE(physics, network="kernel", library=None, refine=False).fit(samples, u=torque, t=0.01)
    before = ude.model_.kernel
    assert before is not None
    for grown, seed in ((1.0, 2), (1.5, 3), (1.5, 4)):
        rows, held, left_out = rig(0.3 * grown, seed, bump=1.5 * grown)
        ude.partial_fit(rows, u=held)
    after = ude.model_.kernel
    assert after is not None
    np.testing.assert_allclose(after.weights, 1.5 * before.weights, rtol=0.05)
    found = ude.residual(rows, held)[:, 1]
    assert np.linalg.norm(found - left_out) < 0.05 * np.linalg.norm(left_out)
    ude.save(tmp_path / "grown.tinyude")
    again = tu.load(tmp_path / "grown.tinyude")
    np.testing.assert_array_equal(again.residual(rows, held)[:, 1], found)
    again.partial_fit(rows[:500], u=held[:500])  # its gains are 1 again
    np.testing.assert_allclose(again.residual(rows, held)[:, 1], found, rtol=0.05, atol=0.05)


def test_both_engines_go_on_alike_from_a_kernel_network() -> None:
    physics = tu.Physics(["th", "w"], ["w", "-9.81*sin(th) + tau"], inputs=["tau"])
    samples, torque, _ = rig(0.3, seed=1, seconds=10.0)
    fitted = tu.UDE(physics, network="kernel", library=None, refine=False).fit(samples, u=torque, t=0.01)
    assert fitted.model_.kernel is not None
    more, held, _ = rig(0.8, seed=3, seconds=20.0)
    found = []
    for engine in ("native", "reference"):
        ude = copy.deepcopy(fitted).set_params(engine=engine).partial_fit(more, u=held)
        found.append(ude.residual(samples, torque))
    assert np.abs(found[0] - fitted.residual(samples, torque)).max() > 0.1
    np.testing.assert_allclose(found[0], found[1], rtol=1e-6, atol=1e-6)


def test_numbers_lie_in_one_order_whatever_they_came_in() -> None:
    """A frame without the names asked for, or a Fortran array, gave the last bits otherwise than the plain array."""
    for table in (np.asfortranarray(TABLE), pd.DataFrame(TABLE), np.ma.masked_array(TABLE)):
        found = numbers(table, NAMES, "Y")
        assert found.flags.c_contiguous
        np.testing.assert_array_equal(found, [[0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])


@pytest.mark.parametrize("odd", [np.inf, -np.inf, np.nan])
def test_a_time_that_is_no_number_leaves_out_its_row_alone(odd: float) -> None:
    """An infinite one was told as a sample period of nan, or as a time that goes backwards."""
    t = 1.7e9 + 0.01 * np.arange(40)
    samples = np.sin(np.stack([t, 2 * t], axis=1))
    t[17] = odd
    stream = as_stream(samples, t, None, NAMES, ())
    assert stream.unstamped == 1 and stream.period == pytest.approx(0.01, rel=1e-4)
