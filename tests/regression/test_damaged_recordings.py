"""Files of other programs, damaged where their library fails in its own way: one line that says so, no traceback."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from tinyude.data.tables import iter_table, read_table, recording_columns
from tinyude.errors import TinyUDEError


def test_read_table_rejects_an_arrow_file_whose_batches_end_beyond_it(tmp_path: Path) -> None:
    """Polars ends in a panic of Rust there, which no handler of exceptions takes."""
    path = tmp_path / "log.feather"
    t = np.arange(400) * 0.01
    pl.DataFrame({"t": t, "x": np.sin(t)}).write_ipc(path)
    content = path.read_bytes()
    path.write_bytes(content[:2000] + content[2300:])
    with pytest.raises(TinyUDEError, match=r"log\.feather cannot be read as an Arrow .*; save it again") as told:
        read_table(path)
    assert str(told.value).isprintable() and len(str(told.value)) < 400


def test_recording_columns_rejects_a_recording_that_points_before_its_start(tmp_path: Path) -> None:
    """The seek of a damaged length was reported as a fault of the disk, and as a traceback."""
    pytest.importorskip("pyulog", reason="needs pyulog: pip install tinyude[px4]")
    path = tmp_path / "flight.ulg"
    flags = struct.pack("<HB", 40, ord("B")) + bytes(40)
    path.write_bytes(b"ULog\x01\x12\x35\x01" + bytes(8) + flags + bytes([0, 0, 1, 0, 0]))
    for read in (lambda: recording_columns(path), lambda: list(iter_table(path, ["a.b"]))):
        with pytest.raises(TinyUDEError, match=r"flight\.ulg is damaged, .*; record or export it again"):
            read()


@pytest.mark.filterwarnings("ignore")  # asammdf's own, of its dependencies
def test_iter_table_rejects_a_damaged_mdf_file_without_lines_of_its_library(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    asammdf = pytest.importorskip("asammdf", reason="needs asammdf: pip install tinyude[mdf]")
    path = tmp_path / "drive.mf4"
    t = np.arange(100) * 0.01
    with asammdf.MDF(version="4.10") as file:
        file.append([asammdf.Signal(np.sin(t), t, name="Angle")])
        file.save(path)
    content = path.read_bytes()
    assert content.count(b"##FH") == 1
    path.write_bytes(content.replace(b"##FH", bytes(4)))
    capfd.readouterr()
    with pytest.raises(TinyUDEError, match=r"drive\.mf4 is damaged, .*; record or export it again"):
        list(iter_table(path, ["Angle"]))
    assert capfd.readouterr().err == ""
