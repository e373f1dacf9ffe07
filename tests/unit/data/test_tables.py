from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy.io import savemat

from tinyude.data.tables import first_numbers, iter_table, read_table
from tinyude.errors import TinyUDEError


def written(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    "text",
    [
        "t,x\n0,1.5\n1,2.5\n",
        "t;x\n0;1,5\n1;2,5\n",
        "t\tx\r\n0\t1.5\r\n1\t2.5\r\n",
        "# made by a rig\n# t x\n0 1.5\n1 2.5\n",
        '\ufefft , "x"\n\n 0 , 1.5\n# a remark\n1, 2.5\n',
        "t,x,note\n0,1.5,cold start\n1,2.5,\n",
        "t,x\ns,rad\n0,1.5\n1,2.5\n",
    ],
)
def test_read_table_understands_the_common_dialects_of_csv(tmp_path: Path, text: str) -> None:
    table = read_table(written(tmp_path, text), ["t", "x"])
    np.testing.assert_array_equal(table["t"], [0.0, 1.0])
    np.testing.assert_array_equal(table["x"], [1.5, 2.5])


def test_read_table_gives_nan_for_missing_values(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "t,x\n0,\n1,NA\n2,nan\n3\n4,7\n"))
    np.testing.assert_array_equal(table["x"], [np.nan, np.nan, np.nan, np.nan, 7.0])


@pytest.mark.parametrize(
    ("text", "columns", "message"),
    [
        ("", None, "is empty"),
        ("t,x\n", None, "holds no rows"),
        ("0,1\n1,2\n", None, "begins with numbers"),
        ("t,t\n0,1\n", None, "two columns 't'"),
        ("t,x\n0,1\n1,hot\n", None, "'x' holds 'hot' near line 3"),
        ("t,x\n0,1\n0,1,2\n", None, "the row '0,1,2' has more values than the 2 columns"),
        ("t\x00,x\n0,1\n", None, "not UTF-8 text"),
        ("time,position\n0,1\n", ["positon"], "did you mean 'position'"),
    ],
)
def test_read_table_says_what_is_wrong(tmp_path: Path, text: str, columns: list[str] | None, message: str) -> None:
    with pytest.raises(TinyUDEError, match=message):
        read_table(written(tmp_path, text), columns)


@pytest.mark.parametrize("name", ["no.csv", "no.parquet", "no.npz", "no.mat"])
def test_read_table_names_a_missing_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(TinyUDEError, match=rf"There is no file .*{name}; check its name"):
        read_table(tmp_path / name)


@pytest.mark.parametrize("name", ["bad.parquet", "bad.npz", "bad.mat", "log.xlsx"])
def test_read_table_rejects_what_it_cannot_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(TinyUDEError, match=name):
        read_table(written(tmp_path, "not a table", name))


def test_read_table_never_unpickles(tmp_path: Path) -> None:
    np.savez(tmp_path / "log.npz", t=np.array([{"any": "object"}], dtype=object))
    with pytest.raises(TinyUDEError, match="plain numbers"):
        read_table(tmp_path / "log.npz")


def test_read_table_gives_dates_in_seconds(tmp_path: Path) -> None:
    text = "t,x\n2024-05-01T10:00:00.250Z,1\n2024-05-01 10:00:01.5Z,2\n,3\n"
    from_text = read_table(written(tmp_path, text))["t"]
    assert from_text[0] == 1714557600.25 and from_text[1] - from_text[0] == 1.25 and np.isnan(from_text[2])
    path = tmp_path / "log.parquet"
    dates = pl.Series([1.25, 3.0]).cast(pl.Int64).cast(pl.Datetime("ms"))
    pl.DataFrame({"t": dates, "span": pl.Series([1500, 2500]).cast(pl.Duration("ms"))}).write_parquet(path)
    table = read_table(path)
    np.testing.assert_array_equal(table["t"], [0.001, 0.003])
    np.testing.assert_array_equal(table["span"], [1.5, 2.5])


def test_read_table_names_the_date_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(TinyUDEError, match=r"'t' holds '2024-13-01T10:00:01' near line 3"):
        read_table(written(tmp_path, "t,x\n2024-05-01T10:00:00,1\n2024-13-01T10:00:01,2\n"))


def test_read_table_fills_short_rows_wherever_they_stand(tmp_path: Path) -> None:
    for text in ("t,x\n0\n1,2\n", "t,x\n1,2\n0\n"):
        assert np.isnan(read_table(written(tmp_path, text))["x"]).sum() == 1


def test_read_table_rejects_times_of_day(tmp_path: Path) -> None:
    path = tmp_path / "log.parquet"
    pl.DataFrame({"t": pl.Series([1]).cast(pl.Time)}).write_parquet(path)
    with pytest.raises(TinyUDEError, match="is of type Time; give numbers, time in seconds"):
        read_table(path)


def test_read_table_finds_vectors_matrices_cells_and_structs(tmp_path: Path) -> None:
    path = tmp_path / "log.mat"
    cells = np.empty((2, 1), dtype=object)
    cells[0, 0], cells[1, 0] = np.arange(4.0), np.arange(6.0)
    savemat(path, {"t": np.arange(4.0), "Y": np.arange(8.0).reshape(2, 4), "runs": cells, "rig": {"u": np.ones(4)}})
    table = read_table(path, ["t", "Y_2", "runs{1}", "rig.u"])
    np.testing.assert_array_equal(table["Y_2"], [4.0, 5.0, 6.0, 7.0])
    np.testing.assert_array_equal(table["runs{1}"], table["t"])
    with pytest.raises(TinyUDEError, match="differ in length"):
        read_table(path, ["t", "runs{2}"])


@pytest.mark.parametrize("kind", ["csv", "parquet", "npz"])
def test_iter_table_gives_the_whole_table_in_pieces(tmp_path: Path, kind: str) -> None:
    path = tmp_path / f"log.{kind}"
    columns = {"t": np.arange(25.0), "x": np.sin(np.arange(25.0))}
    if kind == "csv":
        pl.DataFrame(columns).write_csv(path)
    elif kind == "parquet":
        pl.DataFrame(columns).write_parquet(path)
    else:
        np.savez(path, **columns)
    pieces = list(iter_table(path, ["x"], rows=10))
    assert [len(piece["x"]) for piece in pieces] == [10, 10, 5]
    np.testing.assert_array_equal(np.concatenate([piece["x"] for piece in pieces]), columns["x"])


def test_first_numbers_leaves_comments_out(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_text("t;x;note;y\n0;1,5;start;2\n1;2,5;;3\n")
    assert {name: values.tolist() for name, values in first_numbers(path).items()} == {
        "t": [0.0, 1.0],
        "x": [1.5, 2.5],
        "y": [2.0, 3.0],
    }
    path.write_text("note;who\nstart;me\nend;me\n")
    with pytest.raises(TinyUDEError, match="the column 'note' holds 'end'"):
        first_numbers(path)
