"""Cells of a MATLAB file as the runs of one rig."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.io import savemat

from tinyude.data.logs import Columns, iter_log, log_stream
from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError
from tinyude.model.validation import longest_stretch

TIMES = [0.1 * np.arange(70.0), 5.0 + 0.1 * np.arange(80.0)]


def cells(values: list[Any]) -> Any:
    found = np.empty((1, len(values)), dtype=object)
    found[0, :] = values
    return found


def columns(time: str | float) -> Columns:
    return Columns(time, {"x": "angle"}, {"u": "torque"}, scales={"angle": 2.0})


def test_log_stream_reads_cells_as_runs(tmp_path: Path) -> None:
    angles = [np.sin(t) for t in TIMES]
    savemat(tmp_path / "log.mat", {"t": cells(TIMES), "angle": cells(angles), "torque": cells([t**2 for t in TIMES])})
    stream = log_stream([tmp_path / "log.mat"], columns("t"))
    assert [len(run.samples) for run in stream.runs] == [70, 80]
    np.testing.assert_allclose(stream.runs[1].samples[:, 0], 2.0 * angles[1])
    np.testing.assert_allclose(stream.runs[1].inputs[:, 0], TIMES[1] ** 2)
    assert stream.period == pytest.approx(0.1)


def test_iter_log_keeps_runs_of_one_period_apart(tmp_path: Path) -> None:
    runs = {"angle": cells([np.sin(t) for t in TIMES]), "torque": cells(TIMES)}
    savemat(tmp_path / "log.mat", runs)
    stretch = longest_stretch(iter_log(tmp_path / "log.mat", columns(0.1)))
    np.testing.assert_allclose(stretch.Y[:, 0], 2.0 * np.sin(TIMES[1]))


def test_log_stream_reads_an_array_of_structs_as_runs(tmp_path: Path) -> None:
    runs = np.zeros((1, 2), dtype=[("t", object), ("angle", object)])
    for k, t in enumerate(TIMES):
        runs[0, k] = (t, np.cos(t))
    savemat(tmp_path / "log.mat", {"run": runs})
    stream = log_stream([tmp_path / "log.mat"], Columns("run.t", {"x": "run.angle"}))
    assert [len(run.samples) for run in stream.runs] == [70, 80]
    for run, t in zip(stream.runs, TIMES, strict=True):
        np.testing.assert_allclose(run.samples[:, 0], np.cos(t))


def write_73(path: Path, fill: Callable[[Any, Callable[[list[Any]], Any]], None]) -> None:
    """A file as MATLAB 7.3 writes it: cells are references to what is in #refs#, and columns become rows."""
    h5py = pytest.importorskip("h5py", reason="needs h5py: pip install tinyude[hdf5]")
    with h5py.File(path, "w", userblock_size=512) as file:

        def references(values: list[Any]) -> Any:
            kept = file.require_group("#refs#")
            made = [kept.create_dataset(f"r{len(kept)}", data=np.atleast_2d(value)) for value in values]
            return np.array([[each.ref] for each in made], h5py.ref_dtype)

        fill(file, references)
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    path.write_bytes(header + path.read_bytes()[len(header) :])


def test_log_stream_reads_cells_of_matlab_73_as_runs(tmp_path: Path) -> None:
    def fill(file: Any, references: Callable[[list[Any]], Any]) -> None:
        for name, values in (("t", TIMES), ("angle", [np.sin(t) for t in TIMES]), ("torque", TIMES)):
            file[name] = references(values)
            file[name].attrs["MATLAB_class"] = np.bytes_("cell")

    write_73(tmp_path / "log.mat", fill)
    stream = log_stream([tmp_path / "log.mat"], columns("t"))
    assert [len(run.samples) for run in stream.runs] == [70, 80]
    np.testing.assert_allclose(stream.runs[1].samples[:, 0], 2.0 * np.sin(TIMES[1]))
    np.testing.assert_allclose(stream.runs[1].inputs[:, 0], TIMES[1])


def test_log_stream_reads_structs_of_matlab_73_as_runs(tmp_path: Path) -> None:
    def fill(file: Any, references: Callable[[list[Any]], Any]) -> None:
        file["run/t"], file["run/angle"] = references(TIMES), references([np.cos(t) for t in TIMES])

    write_73(tmp_path / "log.mat", fill)
    stream = log_stream([tmp_path / "log.mat"], Columns("run.t", {"x": "run.angle"}))
    assert [len(run.samples) for run in stream.runs] == [70, 80]
    for run, t in zip(stream.runs, TIMES, strict=True):
        np.testing.assert_allclose(run.samples[:, 0], np.cos(t))


def test_links_in_circles_and_to_other_files_are_not_followed(tmp_path: Path) -> None:
    def fill(file: Any, _: Callable[[list[Any]], Any]) -> None:
        h5py = pytest.importorskip("h5py")
        file["x"] = TIMES[0][None, :]
        file["group/back"] = file["/"]
        file["group/again"] = file["group"]
        file["other"] = h5py.ExternalLink("elsewhere.h5", "/x")

    write_73(tmp_path / "log.mat", fill)
    assert list(read_table(tmp_path / "log.mat")) == ["x"]


def test_log_stream_rejects_signals_in_unequal_cells(tmp_path: Path) -> None:
    savemat(tmp_path / "log.mat", {"t": cells(TIMES), "angle": cells([TIMES[0]]), "torque": cells(TIMES)})
    with pytest.raises(TinyUDEError, match="t in 2, angle in 1, torque in 2 cells"):
        log_stream([tmp_path / "log.mat"], columns("t"))


def test_log_stream_takes_runs_of_several_rates_if_they_fit_in_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [tmp_path / "fast.csv", tmp_path / "slow.csv"]
    for path, every in zip(paths, (1, 2), strict=True):
        t = 0.01 * np.arange(0, 200, every)
        np.savetxt(path, np.column_stack([t, np.sin(5.0 * t)]), delimiter=",", header="t,x", comments="")
    columns = Columns("t", {"x": "x"}, {})
    stream = log_stream(paths, columns, several_rates=True)
    assert (stream.period, stream.count, len(stream.sources)) == (pytest.approx(0.01), 200, 2)
    with pytest.raises(TinyUDEError, match=r"sample periods 0\.01 s and 0\.02 s"):
        log_stream(paths, columns)
    monkeypatch.setattr("tinyude.data.streams.IN_MEMORY", 100)
    with pytest.raises(TinyUDEError, match=r"sample periods 0\.01 s and 0\.02 s"):
        log_stream(paths, columns, several_rates=True)
