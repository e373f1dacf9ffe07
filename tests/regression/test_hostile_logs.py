"""Log and physics files that are odd, broken or hostile: read rightly, or rejected in one line in bounded memory."""

import gzip
import os
import struct
import tracemalloc
import zipfile
import zlib
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from tinyude.data.archives import MAX_BYTES
from tinyude.data.csv_file import MAX_COLUMNS, MAX_LINE
from tinyude.data.streams import as_stream
from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError, TinyUDEWarning
from tinyude.physics.file import MAX_FILE, load_physics_file


def table_of(tmp_path: Path, text: str) -> dict[str, list[float]]:
    path = tmp_path / "log.csv"
    path.write_text(text, encoding="utf-8")
    return {name: column.tolist() for name, column in read_table(path).items()}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"time, s","x"\n1,2\n3,4\n', {"time, s": [1, 3], "x": [2, 4]}),
        ('"time; s";"x"\n1;2\n3;4\n', {"time; s": [1, 3], "x": [2, 4]}),
        ('"a,b,c",x,"d, e"\n1,2,3\n', {"a,b,c": [1], "x": [2], "d, e": [3]}),
        ('"say ""t""",x\n1,2\n', {'say "t"': [1], "x": [2]}),
        ('time, "x, m"\n1,2\n', {"time": [1], "x, m": [2]}),
        ("time [s, rel];x\n1;2\n", {"time [s, rel]": [1], "x": [2]}),
        ("t;x\n0,0;1,5\n0,1;2,5\n", {"t": [0, 0.1], "x": [1.5, 2.5]}),
        ("t;x\n0;1,5\n0,1;2,5\n", {"t": [0, 0.1], "x": [1.5, 2.5]}),
        ("t;x\ns;m\n0,0;1,5\n", {"t": [0], "x": [1.5]}),
        ("t\tx\n0,0\t1,5\n", {"t": [0], "x": [1.5]}),
        ('"t";"x"\n"0,0";"1,5"\n"0,1";"2,5"\n', {"t": [0, 0.1], "x": [1.5, 2.5]}),
        ("# t;x\n0,0;1,5\n0,1;2,5\n", {"t": [0, 0.1], "x": [1.5, 2.5]}),
        ("t,x\n-.5,+.5\n", {"t": [-0.5], "x": [0.5]}),
        ("t,x\n1e-3,2E5\n", {"t": [0.001], "x": [2e5]}),
        ("sep=;\nt;x\n0,5;1\n1;2\n", {"t": [0.5, 1], "x": [1, 2]}),
        ('"sep=,"\nt,x\n0,1\n', {"t": [0], "x": [1]}),
        ('"t\tx"\t"y"\n1\t2\n', {"t\tx": [1], "y": [2]}),
        ("t,x\ntrue,false\n", None),
        ("t x\n1  2\n3 4\n", {"t": [1, 3], "x": [2, 4]}),
        ("t,x\r1,2\r3,4\r", {"t": [1, 3], "x": [2, 4]}),
        ("\ufefft,x\r\n1,2\r\n", {"t": [1], "x": [2]}),
    ],
)
def test_read_table_keeps_every_column_and_row(tmp_path: Path, text: str, expected: dict | None) -> None:
    if expected is None:
        with pytest.raises(TinyUDEError, match="must hold numbers"):
            table_of(tmp_path, text)
    else:
        assert table_of(tmp_path, text) == expected


@pytest.mark.parametrize("first", ["2026-01-01T00:00:00,2026-01-01T00:00:00", "nan,nan", "NA,1", "-inf,inf", "-,-"])
def test_read_table_does_not_take_a_first_row_for_units(tmp_path: Path, first: str) -> None:
    rows = table_of(tmp_path, f"t,x\n{first}\n{first}\n")
    assert len(rows["t"]) == 2


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ('"time,x\n1,2\n', "a quote in line 1 is not closed"),
        ("t,x\n1,2,3\n", "more values than the 2 columns"),
        ("t,t\n1,2\n", "two columns 't'"),
        (",".join(f"c{k}" for k in range(20_000)) + "\n", f"more than {MAX_COLUMNS:,}"),
        ("x" * (MAX_LINE + 5), f"more than {MAX_LINE:,} characters"),
        ("t,x\n1,\x002\n", "not UTF-8"),
        ("", "empty"),
        ("\n\n\n", "empty"),
        ("1,2\n3,4\n", "begins with numbers"),
    ],
)
def test_read_table_rejects_in_one_line(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(TinyUDEError, match=complaint) as caught:
        table_of(tmp_path, text)
    assert len(str(caught.value)) < 1000


def test_read_table_names_few_of_many_columns(tmp_path: Path) -> None:
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(9_000)) + "\n" + ",".join(["1"] * 9_000) + "\n")
    with pytest.raises(TinyUDEError, match="and 8,980 more") as caught:
        read_table(path, ["time"])
    assert len(str(caught.value)) < 500
    assert read_table(path, ["c8999"])["c8999"].tolist() == [1.0]


@pytest.mark.parametrize("ending", ["csv", "npz", "mat", "parquet"])
def test_read_table_rejects_devices_and_pipes(tmp_path: Path, ending: str) -> None:
    link = tmp_path / f"log.{ending}"
    link.symlink_to("/dev/zero")
    with pytest.raises(TinyUDEError, match="not a regular file"):
        read_table(link)
    pipe = tmp_path / f"pipe.{ending}"
    os.mkfifo(pipe)
    with pytest.raises(TinyUDEError, match="not a regular file"):
        read_table(pipe)


def npy(shape: tuple[int, ...], data: bytes, descr: str = "'<f8'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + data


def npz(path: Path, members: dict[str, bytes]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def corrupted(path: Path) -> Path:
    """The same archive with a byte of its deflated data changed."""
    content = bytearray(path.read_bytes())
    content[45] ^= 0xFF
    path.write_bytes(content)
    return path


def test_read_table_rejects_a_folder_that_is_no_bag(tmp_path: Path) -> None:
    folder = tmp_path / "log.csv"
    folder.mkdir()
    with pytest.raises(TinyUDEError, match=r"is a folder without metadata\.yaml; give a log file"):
        read_table(folder, ["x"])


def test_read_table_rejects_npz_that_promise_more_than_they_hold(tmp_path: Path) -> None:
    hostile = {
        "terabytes": npy((10**12,), b"\0" * 64),
        "negative": npy((-1,), b"\0" * 64),
        "overflow": npy((2**62, 2**62), b"\0" * 64),
        "fewer": npy((100,), b"\0" * 64),
        "objects": npy((8,), b"\0" * 64, "'|O'"),
        "no dtype": npy((8,), b"\0" * 64, "'<q99'"),
        "code": npy((8,), b"\0" * 64, "__import__('os').system('true')"),
        "magic": b"\x93NUMPX\x01\x00",
        "version": b"\x93NUMPY\x09\x00" + b"\0" * 64,
        "empty": b"",
    }
    tracemalloc.start()
    for kind, content in hostile.items():
        with pytest.raises(TinyUDEError, match=r"not an \.npz file of plain numbers") as caught:
            read_table(npz(tmp_path / "a.npz", {"x.npy": content}))
        assert "\n" not in str(caught.value), kind
    with pytest.raises(TinyUDEError):
        read_table(corrupted(npz(tmp_path / "b.npz", {"x.npy": npy((1000,), os.urandom(8000))})))
    (tmp_path / "c.npz").write_bytes(b"PK\x03\x04" + os.urandom(100))
    with pytest.raises(TinyUDEError):
        read_table(tmp_path / "c.npz")
    assert tracemalloc.get_traced_memory()[1] < 20e6
    tracemalloc.stop()


def test_read_table_rejects_a_bomb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = npz(tmp_path / "bomb.npz", {"x.npy": npy((10**6,), b"\0" * 8 * 10**6)})
    monkeypatch.setattr("tinyude.data.archives.MAX_BYTES", 10**6)
    with pytest.raises(TinyUDEError, match=r"0\.008 GB; at most 0\.001 GB .* CSV or Parquet"):
        read_table(path)
    assert MAX_BYTES >= 10**9


@pytest.mark.parametrize("line", ["\n", "# remark\n", "   \n", "sep=;\n"])
def test_read_table_does_not_look_for_names_without_end(tmp_path: Path, line: str) -> None:
    """Three billion empty lines, packed into 90 kB, were read for minutes."""
    path = tmp_path / "log.csv.gz"
    with gzip.open(path, "wt") as file:
        file.write(line * 99_998 + "t,x\n0,1\n1,2\n")
    assert read_table(path)["x"].tolist() == [1.0, 2.0]
    with gzip.open(path, "wt") as file:
        file.write(line * 100_001 + "t,x\n0,1\n")
    with pytest.raises(TinyUDEError, match="no line of column names within 100,000 lines; leave out"):
        read_table(path)


def test_read_table_reads_npz_of_every_layout(tmp_path: Path) -> None:
    table = np.arange(12.0).reshape(6, 2)
    np.savez(tmp_path / "a.npz", t=np.arange(6), Y=np.asfortranarray(table), one=3.0)
    np.savez_compressed(tmp_path / "b.npz", t=np.arange(6, dtype=">i2"), Y=table)
    for name in "ab":
        found = read_table(tmp_path / f"{name}.npz")
        assert list(found) == ["t", "Y_1", "Y_2"] and found["Y_2"].tolist() == table[:, 1].tolist()


def mat5(*elements: bytes) -> bytes:
    return b"MATLAB 5.0 MAT-file".ljust(124) + b"\x00\x01IM" + b"".join(elements)


def element(kind: int, content: bytes) -> bytes:
    return struct.pack("<2I", kind, len(content)) + content + b"\0" * (-len(content) % 8)


def cell(inner: bytes) -> bytes:
    return element(
        14, element(6, struct.pack("<2I", 1, 0)) + element(5, struct.pack("<2i", 1, 1)) + element(1, b"c") + inner
    )


def nested(depth: int) -> bytes:
    inner = b""
    for _ in range(depth):
        inner = cell(inner)
    return inner


def test_read_table_rejects_hostile_mat(tmp_path: Path) -> None:
    huge = element(14, element(6, struct.pack("<2I", 6, 0)) + element(5, struct.pack("<2i", 2**31 - 1, 2**31 - 1)))
    compressed = zlib.compress(struct.pack("<2I", 14, 2**32 - 1) + b"\0" * 64)
    hostile = {
        "longer than the file": mat5(struct.pack("<2I", 14, 2**31)),
        "inflates to 4 GB": mat5(struct.pack("<2I", 15, len(compressed)) + compressed),
        "broken zlib": mat5(element(15, b"\x78\x9c" + b"\xff" * 40)),
        "deep": mat5(nested(3_000)),
        "deep and packed": mat5(element(15, zlib.compress(nested(3_000)))),
        "dims": mat5(huge),
        "version 4": struct.pack("<5i", 0, 10**6, 10**6, 0, 2) + b"x\0",
        "negative": struct.pack("<5i", 0, -5, 7, 0, 2) + b"x\0" + b"\0" * 64,
        "cut": mat5()[:100],
        "empty": b"",
        "noise": os.urandom(600),
    }
    for kind, content in hostile.items():
        path = tmp_path / "a.mat"
        path.write_bytes(content)
        with pytest.raises(TinyUDEError) as caught:
            read_table(path)
        assert str(caught.value).isprintable() and len(str(caught.value)) < 600, kind


def test_read_table_reads_cells_and_structs(tmp_path: Path) -> None:
    cells = np.empty(2, dtype=object)
    cells[0], cells[1] = np.arange(3.0), np.arange(3.0) + 1.0
    savemat(tmp_path / "a.mat", {"t": np.arange(3.0), "log": {"x": np.arange(3.0)}, "runs": cells}, do_compression=True)
    assert set(read_table(tmp_path / "a.mat")) == {"t", "log.x", "runs{1}", "runs{2}"}


MANY = "[states]\n" + "".join(f's{k} = "s{k // 2}"\n' for k in range(5_000))


def test_load_physics_file_reads_no_more_than_a_physics_file(tmp_path: Path) -> None:
    link, pipe, large = tmp_path / "rig.toml", tmp_path / "pipe.toml", tmp_path / "large.toml"
    link.symlink_to("/dev/zero")
    os.mkfifo(pipe)  # without a writer: reading it would never end
    for path in (link, pipe, tmp_path):
        with pytest.raises(TinyUDEError, match="not a regular file"):
            load_physics_file(path)
    large.write_text("#" * (MAX_FILE + 1))
    with pytest.raises(TinyUDEError, match=f"more than {MAX_FILE:,} bytes"):
        load_physics_file(large)
    for text in ("x = " + "9" * 5_000, "a" + ".a" * 20_000 + " = 1", "[" * 5_000, "x = 2026-01-01", "\x00", MANY):
        (tmp_path / "odd.toml").write_text(text)
        with pytest.raises(TinyUDEError) as caught:
            load_physics_file(tmp_path / "odd.toml")
        assert str(caught.value).isprintable()


def test_load_physics_file_reads_files_with_a_byte_order_mark(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_bytes(b'\xef\xbb\xbf[states]\r\nx = "-x"\r\n')
    assert load_physics_file(tmp_path / "a.toml").physics.states == ("x",)


def test_as_stream_counts_no_repeated_stamps_where_there_are_none() -> None:
    rng = np.random.default_rng(0)
    times = np.sort(np.arange(3_000) * 0.01 + rng.uniform(-0.0045, 0.0045, 3_000))  # neighbours fall on one tick
    assert np.all(np.diff(times) > 0.0)
    stream = as_stream(np.sin(times)[:, None], times, None, ["x"], [])
    assert stream.repeated == 0 and stream.crowded > 50
    doubled = np.sort(np.concatenate([times, times[:7]]))
    assert as_stream(np.sin(doubled)[:, None], doubled, None, ["x"], []).repeated == 7


ROWS = "".join(f"{0.01 * k:.2f},{np.sin(k):.6f}\n" for k in range(50))


@pytest.mark.parametrize("end", ["0.50,-0.2623", "0.5", "0.50,", "0.50,-", "0.50,1.5e-", "0.50,-0.26\x00\x00\x00"])
def test_read_table_leaves_out_a_last_row_that_was_cut(tmp_path: Path, end: str) -> None:
    """A truncated log passed as a whole one whose last value was another."""
    with pytest.warns(TinyUDEWarning, match=r"ends in the middle of a row.*copy it again"):
        found = table_of(tmp_path, "t,x\n" + ROWS + end)
    assert len(found["t"]) == 50 and found["x"][-1] == round(float(np.sin(49)), 6)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("t,x\n" + ROWS.rstrip("\n"), 50),
        ("t,x\n" + ROWS + "\x00" * 3_000_000, 50),
        ("t,note\n" + "1.25,a\n" * 49 + "1.25,", 50),
        ("t,y\n" + "1.25,7\n" * 48 + "1.25,12\n1.25,7", 50),
        ("t,y\n1,2", 1),
    ],
)
@pytest.mark.filterwarnings("error")
def test_read_table_keeps_a_whole_last_row_without_a_line_end(tmp_path: Path, text: str, rows: int) -> None:
    (tmp_path / "log.csv").write_text(text)
    assert len(read_table(tmp_path / "log.csv", ["t"])["t"]) == rows


@pytest.mark.parametrize(
    "rows", ['1,2,5" pipe\n2,3,b\n3,4,6" pipe\n', '1,2,"a\n2,3,b\n3,4,c"\n', '1,2,a\n2,3,"b\n3,4,c\n']
)
def test_an_open_quote_swallows_no_rows(tmp_path: Path, rows: str) -> None:
    """In a column that was not requested: rows up to the next quote were lost without a warning."""
    (tmp_path / "log.csv").write_text("t,x,note\n" + rows)
    with pytest.raises(TinyUDEError, match=r"quote in the row .* is not closed; keep each row on one line"):
        read_table(tmp_path / "log.csv", ["t", "x"])


@pytest.mark.parametrize("units", ["s;m;-", "s;1/s;V", "s;;V", "[s];[m];[-]"])
def test_read_table_takes_units_of_any_kind_for_units(tmp_path: Path, units: str) -> None:
    assert table_of(tmp_path, f"t;x;y\n{units}\n0;1,5;2\n") == {"t": [0], "x": [1.5], "y": [2]}


HUGE = "9" * 400


@pytest.mark.parametrize(
    ("table", "complaint"),
    [
        (f"[parameters]\nk = {HUGE}", "value is inf; give a finite number"),
        (f"[parameters]\nk = {{ value = 1, learn = true, max = -{HUGE} }}", "is outside"),
        (f"[time]\nperiod = {HUGE}", "give the seconds between two samples"),
        (f'[measured]\nx = {{ column = "a", scale = {HUGE} }}', "give a number other than 0"),
        (f'[measured]\nx = {{ column = "a", wraps = {HUGE} }}', "give a number other than 0"),
        (f"[unmeasured]\nx = {{ guess = {HUGE}, spread = 1 }}", "give a number"),
        (f"[fit]\nwindow = {HUGE}", "longest window in seconds"),
        ('[measured]\nx = { column = "a", unit = "\\u001b]0;a\\u0007" }', "plain characters"),
        ('[measured]\nx = { column = "a", unit = "m\\n*/" }', "plain characters"),
        (f'[measured]\nx = {{ column = "a", unit = "{HUGE}" }}', "at most 40"),
        (f'[measured]\nx = "{"a" * 30_000}"', "at most 1,000 characters"),
    ],
)
def test_load_physics_file_rejects_numbers_and_texts_beyond_all_measure(
    tmp_path: Path, table: str, complaint: str
) -> None:
    """Whole numbers beyond float64 ended in a traceback; with such texts a model was saved that no load() took."""
    (tmp_path / "rig.toml").write_text(f'[states]\nx = "-x"\n{table}\n')
    with pytest.raises(TinyUDEError, match=complaint) as caught:
        load_physics_file(tmp_path / "rig.toml")
    assert str(caught.value).isprintable()


def test_a_broken_link_is_called_so(tmp_path: Path) -> None:
    """It was told: did you mean the file of that name?"""
    (tmp_path / "log.csv").symlink_to(tmp_path / "gone.csv")
    with pytest.raises(TinyUDEError, match=r"is a link to .*gone\.csv, which is not there; correct the link"):
        read_table(tmp_path / "log.csv")
