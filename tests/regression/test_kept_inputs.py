"""Outputs that would replace what a command reads, loops of links, and terminals that take few characters or none."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tinyude as tu
from tinyude.cli.app import main
from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError
from tinyude.export.folder import write_folder

FIT = ("fit", "log.csv", "--physics", "rig.toml")


@pytest.fixture
def rig(fitted: tu.UDE, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a log, a physics file, a model and a link to the log."""
    (tmp_path / "log.csv").write_text("time,x\n" + "".join(f"{0.01 * k},{np.sin(k)}\n" for k in range(50)))
    (tmp_path / "rig.toml").write_text('[states]\nx = "-x"\n')
    (tmp_path / "link.csv").symlink_to("log.csv")
    fitted.save(tmp_path / "a.tinyude")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def told(arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    monkeypatch.setattr(sys, "argv", ["tinyude", *arguments])
    with pytest.raises(SystemExit) as ended:
        main()
    said = capsys.readouterr().err
    assert ended.value.code == 1 and said.startswith("error: ") and said.count("\n") == 1
    return said


@pytest.mark.parametrize(
    "arguments",
    [
        (*FIT, "--out", "log.csv"),
        (*FIT, "--report", "rig.toml"),
        (*FIT, "--json", "link.csv"),
        (*FIT, "--validate", "a.tinyude", "--out", "a.tinyude"),
        ("simulate", "a.tinyude", "--from", "log.csv", "--at", "0.1", "--out", "./log.csv"),
        ("simulate", "a.tinyude", "--from", "log.csv", "--at", "0.1", "--json", "a.tinyude"),
        ("report", "a.tinyude", "--out", "a.tinyude"),
        ("export", "a.tinyude", "--target", "fmu", "--out", "a.tinyude"),
        ("export", "a.tinyude", "--target", "c", "--out", "rig", "--json", "a.tinyude"),
        ("size", "a.tinyude", "--json", "a.tinyude"),
        ("size", "--physics", "rig.toml", "--json", "rig.toml"),
        ("init", "log.csv", "--out", "log.csv", "--force"),
    ],
)
def test_a_command_does_not_replace_what_it_reads(
    arguments: tuple[str, ...], rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A log was replaced by the model that was fitted to it."""
    before = {path.name: path.read_bytes() for path in rig.iterdir()}
    assert "the command reads it; choose another file" in told(arguments, monkeypatch, capsys)
    assert {path.name: path.read_bytes() for path in rig.iterdir()} == before


@pytest.mark.parametrize("option", ["--out", "--report", "--json"])
def test_a_folder_without_permission_is_named_before_the_work(
    option: str, rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A fit of an hour ended without a result."""
    (rig / "locked").mkdir()
    locked = os.path.realpath(rig / "locked")
    monkeypatch.setattr(os, "access", lambda path, mode: os.path.realpath(path) != locked)
    (rig / "log.csv").unlink()  # it would be read first
    assert f"you may not write in {locked}; choose another folder" in told(
        (*FIT, option, "locked/a"), monkeypatch, capsys
    )
    assert not list((rig / "locked").iterdir())


@pytest.mark.parametrize("options", [("--out", "--report"), ("--report", "--json"), ("--json", "--out")])
def test_two_results_do_not_go_to_one_file(
    options: tuple[str, str], rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = (*FIT, options[0], "same", options[1], "./same")
    assert "another result is written to it; choose another file" in told(arguments, monkeypatch, capsys)
    assert not (rig / "same").exists()


@pytest.mark.parametrize(
    "arguments", [("fit", "loop", "--physics", "rig.toml"), ("fit", "log.csv", "--physics", "loop")]
)
def test_a_loop_of_links_is_refused_in_one_line(
    arguments: tuple[str, ...], rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """pathlib's resolve() ends in a RuntimeError there."""
    (rig / "loop").symlink_to("loop")
    told(arguments, monkeypatch, capsys)
    with pytest.raises(TinyUDEError, match="loop"):
        write_folder(rig / "loop", {"a.c": ""}, {})


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        ("init log.csv --out größe.toml > out.txt", 0),
        ("init log.csv >&-", 0),
        ("init log.csv > /dev/full", 1),
        ("export a.tinyude --target c --inference-only --out rig --json - >&-", 1),
    ],
)
def test_a_command_needs_no_particular_terminal(arguments: str, status: int, rig: Path) -> None:
    """Characters that a terminal does not have, and a closed standard output, ended in a traceback."""
    command, ascii_only = f'"{sys.executable}" -m tinyude {arguments}', {"PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command, shell=True, cwd=rig, capture_output=True, text=True, check=False, env={**os.environ, **ascii_only}
    )
    assert (done.returncode, done.stderr.count("\n")) == (status, status), done.stderr
    assert not status or (done.stderr.startswith("error: ") and "; " in done.stderr)


@pytest.mark.parametrize(("output", "status"), [("> /dev/full", 1), ("| head -c 3", 0), (">&-", 0)])
def test_results_are_written_whatever_becomes_of_the_output(output: str, status: int, rig: Path) -> None:
    """A fit was lost when its output went to a pager that was left, or to a full disk: it printed before it saved."""
    arguments = "simulate a.tinyude --from states.csv --at 0.1 --seconds 0.2 --out run.csv --json run.json"
    (rig / "states.csv").write_text(
        "time,theta,omega\n" + "".join(f"{0.005 * k},{np.sin(k * 0.01)},{np.cos(k * 0.01)}\n" for k in range(200))
    )
    command = f'set -o pipefail; "{sys.executable}" -m tinyude {arguments} {output}'
    done = subprocess.run(["bash", "-c", command], cwd=rig, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (status, status), done.stderr
    assert not status or done.stderr.startswith("error: Cannot print: No space left on device; ")
    assert len((rig / "run.csv").read_text().splitlines()) == 42 and (rig / "run.json").stat().st_size > 100


@pytest.mark.parametrize(
    "text", ["t;x\n0.01;999\n0.02;1,000\n", "t\tx\n0,5\t1\n1.5\t2\n", "t;x\n1,234;0.5\n2,345;0.6\n"]
)
def test_read_table_does_not_guess_which_of_two_decimal_signs_is_meant(text: str, tmp_path: Path) -> None:
    """1,000 beside 0.01 was read as one: it is a thousand."""
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(TinyUDEError, match=r"has a decimal point and .* a comma; write all numbers with a point"):
        read_table(tmp_path / "log.csv")


@pytest.mark.parametrize("units", ["s,nanometre", "s,info", "s,inflow"])
def test_read_table_takes_units_that_begin_like_nan_for_units(units: str, tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text(f"t,x\n{units}\n1,2\n")
    assert read_table(tmp_path / "log.csv")["x"].tolist() == [2.0]


@pytest.mark.parametrize("Y", [[[10**400, 1.0]] * 50, [[1.0, -(10**400)]] * 50])
def test_fit_refuses_whole_numbers_beyond_floating_point(Y: list[list[float]]) -> None:
    with pytest.raises(TinyUDEError, match="cannot be read as numbers"):
        tu.UDE(tu.Physics(["x", "v"], ["v", "-x"])).fit(Y, t=0.01)


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_partial_fit_takes_a_piece_without_a_single_number(
    fitted: tu.UDE, short_stream: tuple[float, np.ndarray], tmp_path: Path
) -> None:
    """As a live stream whose sensor is unplugged when a saved model is continued."""
    fitted.save(tmp_path / "a.tinyude")
    ude = tu.load(tmp_path / "a.tinyude")
    before = ude.residual([[0.3, 0.7]])
    ude.partial_fit(np.full((50, 2), np.nan), t=short_stream[0])
    np.testing.assert_array_equal(ude.residual([[0.3, 0.7]]), before)
