"""Small files that declare terabytes, or numbers that lie in another file; times that are no numbers."""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError

T = np.arange(50.0)
HEAD = b"MATLAB 7.3 MAT-file".ljust(124) + b"\0\x02IM"


def hdf5_file(path: Path, fill: Callable[[Any], object]) -> Path:
    """As MATLAB 7.3 writes it where the name ends so."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w", userblock_size=512) as file:
        file["t"] = T
        fill(file)
    content = path.read_bytes()
    path.write_bytes(HEAD + content[len(HEAD) :] if path.suffix == ".mat" else content)
    return path


@pytest.mark.parametrize("ending", [".mat", ".h5"])
def test_read_table_refuses_hdf5_that_declares_what_it_does_not_hold(tmp_path: Path, ending: str) -> None:
    def fill(file: Any) -> None:
        file.create_dataset("x", shape=(10**12,), chunks=(1000,), dtype="f8")

    path = hdf5_file(tmp_path / f"log{ending}", fill)
    with pytest.raises(TinyUDEError, match=r"declares 8e\+03 GB of numbers and holds 0.* MB; save what was recorded"):
        read_table(path)
    assert list(read_table(path, ["t"])) == ["t"]


def test_read_table_reads_nothing_of_other_files(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_bytes(b"x" * 100)

    def fill(file: Any) -> None:
        h5py = pytest.importorskip("h5py")
        file.create_dataset("a", shape=(50,), dtype="u1", external=[(str(secret), 0, 100)])
        layout = h5py.VirtualLayout(shape=(50,), dtype="f8")
        layout[:] = h5py.VirtualSource(str(tmp_path / "other.h5"), "t", shape=(50,))
        file.create_virtual_dataset("b", layout)
        file["c"] = h5py.ExternalLink(str(tmp_path / "other.h5"), "/t")

    hdf5_file(tmp_path / "other.h5", lambda file: None)
    assert list(read_table(hdf5_file(tmp_path / "log.h5", fill))) == ["t"]


def test_read_table_tells_a_damaged_hdf5_file_with_a_remedy(tmp_path: Path) -> None:
    pytest.importorskip("h5py")
    (tmp_path / "log.mat").write_bytes(HEAD + b"\0" * 384 + b"\x89HDF\r\n\x1a\n" + b"\7" * 3000)
    with pytest.raises(TinyUDEError, match=r"is damaged, or no \.mat file \(.*\); record or export it again\."):
        read_table(tmp_path / "log.mat")


def test_read_table_reads_dates_and_spans_of_npz_in_seconds(tmp_path: Path) -> None:
    spans = np.arange(50).astype("m8[ms]") * 20
    dates = np.datetime64("2026-01-01T00:00:00", "ms") + spans
    dates[3] = np.datetime64("NaT")
    np.savez(tmp_path / "log.npz", t=dates, s=spans, x=T)
    table = read_table(tmp_path / "log.npz")
    assert table["t"][0] == 1_767_225_600.0 and np.isnan(table["t"][3])
    np.testing.assert_allclose(np.delete(table["t"], 3) - table["t"][0], 0.02 * np.delete(T, 3), atol=1e-6)
    np.testing.assert_allclose(table["s"], 0.02 * T)


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_read_table_refuses_a_variable_that_is_there_twice(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", T)
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
        archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(TinyUDEError, match="has two variables 'x'; rename one"):
        read_table(tmp_path / "log.npz")
