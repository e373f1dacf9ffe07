"""Small files that declare terabytes, or numbers that lie in another file; times that are no numbers."""

from __future__ import annotations

import gzip
import struct
import tracemalloc
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tinyude.data import declared_size
from tinyude.data.tables import iter_table, read_table
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
def test_read_table_rejects_hdf5_that_declares_what_it_does_not_hold(tmp_path: Path, ending: str) -> None:
    def fill(file: Any) -> None:
        file.create_dataset("x", shape=(10**12,), chunks=(1000,), dtype="f8")

    path = hdf5_file(tmp_path / f"log{ending}", fill)
    with pytest.raises(
        TinyUDEError, match=r"declares 8e\+03 GB of numbers and holds 0.* MB, .*; save what was recorded"
    ):
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
    with pytest.raises(TinyUDEError, match=r"is damaged, or not a \.mat file \(.*\); record or export it again\."):
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
def test_read_table_rejects_a_variable_that_is_there_twice(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", T)
    with zipfile.ZipFile(tmp_path / "log.npz", "w") as archive:
        archive.write(tmp_path / "x.npy", "x.npy")
        archive.write(tmp_path / "x.npy", "x.npy")
    with pytest.raises(TinyUDEError, match="has two variables 'x'; rename one"):
        read_table(tmp_path / "log.npz")


def small_integers(path: Path) -> None:
    """One byte each, eight when read."""
    np.savez_compressed(path, x=np.zeros(500_000, dtype=np.int8))


def nested_cells(path: Path) -> None:
    """Cells within cells, each of which was copied on the way in."""

    def element(kind: int, content: bytes) -> bytes:
        return struct.pack("<II", kind, len(content)) + content + (b"" if kind == 14 else b"\0" * (-len(content) % 8))

    def matrix(kind: int, shape: tuple[int, int], name: bytes, content: bytes) -> bytes:
        head = element(6, struct.pack("<II", kind, 0)) + element(5, struct.pack("<2i", *shape)) + element(1, name)
        return element(14, head + content)

    inner = matrix(9, (500_000, 1), b"", element(2, bytes(500_000)))
    for _ in range(15):
        inner = matrix(1, (1, 1), b"", inner)
    packed = zlib.compress(matrix(1, (1, 1), b"x", inner))
    path.write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + struct.pack("<II", 15, len(packed)) + packed)


def many_equal_rows(path: Path) -> None:
    with gzip.open(path, "wt") as file:
        file.write("t,x\n" + "0,0\n" * 200_000)


def many_short_rows(path: Path) -> None:
    """A few bytes a row, and thousands of columns."""
    path.write_text(",".join(f"c{k}" for k in range(5_000)) + "\n" + "1\n" * 1_000)


def equal_rows_in_groups(path: Path) -> None:
    pl = pytest.importorskip("polars")
    frame = pl.DataFrame({"t": np.zeros(500_000), "x": np.zeros(500_000)})
    frame.write_parquet(path) if path.suffix == ".parquet" else frame.write_ipc(path, compression="zstd")


def one_large_chunk(path: Path) -> None:
    """Ten numbers, for which a chunk of half a million is unpacked."""
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=T[:10], maxshape=(None,), chunks=(500_000,), compression="gzip")


@pytest.mark.parametrize(
    ("name", "write"),
    [
        ("log.npz", small_integers),
        ("log.mat", nested_cells),
        ("log.csv.gz", many_equal_rows),
        ("log.csv", many_short_rows),
        ("log.parquet", equal_rows_in_groups),
        ("log.feather", equal_rows_in_groups),
        ("log.h5", one_large_chunk),
    ],
)
def test_read_table_rejects_small_files_that_become_huge(
    name: str, write: Callable[[Path], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A thousand times as large, each took all memory or hours: 15 GB from 2 MB."""
    path = tmp_path / name
    write(path)
    tracemalloc.start()
    monkeypatch.setattr(declared_size, "ROOM", 1_000_000)
    monkeypatch.setattr(declared_size, "MOST_PACKED", 20)
    with pytest.raises(TinyUDEError, match=r"declares 0\.0\d+ GB of numbers .*; save what was recorded") as caught:
        read_table(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 25e6 and str(caught.value).isprintable()


def test_read_table_has_hdf5_keep_the_chunk_it_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A chunk beyond HDF5's cache was unpacked anew for every piece: hours for one of 2 GB."""
    h5py = pytest.importorskip("h5py")
    values = np.random.default_rng(0).standard_normal(200_000)
    with h5py.File(tmp_path / "log.h5", "w") as file:
        file.create_dataset("x", data=values, chunks=(200_000,), compression="gzip")
    caches = []

    class Opened(h5py.File):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            caches.append(self.id.get_access_plist().get_cache()[2])

    monkeypatch.setattr(h5py, "File", Opened)
    pieces = [piece["x"] for piece in iter_table(tmp_path / "log.h5", rows=50_000)]
    np.testing.assert_array_equal(np.concatenate(pieces), values)
    assert caches[-1] >= values.nbytes


def test_read_table_rejects_a_mat_file_of_empty_elements(tmp_path: Path) -> None:
    """Gigabytes of zeros after the header were walked eight bytes at a time."""
    (tmp_path / "log.mat").write_bytes(b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + bytes(1_000_000))
    with pytest.raises(TinyUDEError, match="something else than a variable"):
        read_table(tmp_path / "log.mat")
