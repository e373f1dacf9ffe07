import io
import json
import re
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from tinyude.cli import app as cli
from tinyude.cli.app import app, main
from tinyude.cli.console import wrote
from tinyude.estimator.ude import UDE
from tinyude.experiments import demo
from tinyude.systems import pendulum

RIG = """
[states]
theta = "omega"
omega = "-(g/L)*sin(theta)"
[measured]
theta = "position"
[parameters]
g = 9.81
L = 1.0
"""
pytestmark = pytest.mark.filterwarnings("ignore:The compiled core is not there")


@pytest.fixture(scope="module")
def rig(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a physics file and two logs of a swinging pendulum."""
    folder = tmp_path_factory.mktemp("rig")
    (folder / "rig.toml").write_text(RIG)
    plant = replace(pendulum("A"), impulses=None, rate=100.0)
    for name, start, seed in (("log.csv", (1.2, 0.0), 0), ("held.csv", (-0.8, 1.5), 1)):
        t, Y = replace(plant, start=start).stream(noise=0.003, seed=seed, seconds=8.0)
        pl.DataFrame({"time": t + 3.0, "position": Y[:, 0], "spare": Y[:, 1]}).write_csv(folder / name)
    return folder


@pytest.fixture(scope="module")
def model(rig: Path) -> Path:
    """The same folder after a fit, with its model, report and figures."""
    files = ["--out", "rig.tinyude", "--report", "rig.html", "--json", "rig.json"]
    arguments = [str(rig / a) if "." in a else a for a in files]
    logs = [str(rig / "log.csv"), "--physics", str(rig / "rig.toml"), "--validate", str(rig / "held.csv")]
    result = CliRunner().invoke(app, ["fit", *logs, *arguments, "--updates", "20"])
    assert result.exit_code == 0, result.output
    return rig / "rig.tinyude"


def run_main(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr(sys, "argv", ["tinyude", *map(str, arguments)])
    with pytest.raises(SystemExit) as stopped:
        main()
    return int(stopped.value.code or 0)


def test_fit_writes_a_model_a_report_and_figures(model: Path) -> None:
    figures = json.loads((model.parent / "rig.json").read_text())
    term = figures["diagnostics"]["terms"][0]
    assert term["term"] == "omega"
    assert term["coefficient"] == pytest.approx(-0.4, abs=0.02)
    assert figures["validation"]["total_error"] < 0.05
    assert "<img" in (model.parent / "rig.html").read_text()


def test_simulate_starts_from_a_moment_of_a_log(model: Path, tmp_path: Path) -> None:
    where = ["--from", str(model.parent / "held.csv"), "--at", "4.0", "--seconds", "3"]
    out, figures = tmp_path / "run.csv", tmp_path / "run.json"
    result = CliRunner().invoke(app, ["simulate", str(model), *where, "--out", str(out), "--json", str(figures)])
    assert result.exit_code == 0, result.output
    table = pl.read_csv(out)
    assert table.columns == ["time", "theta", "omega"]
    assert (table["time"][0], table["time"][-1]) == pytest.approx((4.0, 7.0))
    assert json.loads(figures.read_text())["error"]["theta"] < 0.1


def test_simulate_goes_on_after_the_end_of_a_log_without_inputs(model: Path, tmp_path: Path) -> None:
    where = [
        "--from",
        str(model.parent / "held.csv"),
        "--at",
        "9",
        "--seconds",
        "5",
        "--out",
        str(tmp_path / "run.csv"),
    ]
    assert CliRunner().invoke(app, ["simulate", str(model), *where]).exit_code == 0
    assert pl.read_csv(tmp_path / "run.csv")["time"][-1] == pytest.approx(14.0)


def test_simulate_rejects_a_moment_outside_the_log(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch, "simulate", model, "--from", model.parent / "held.csv", "--at", "99") == 1
    assert "choose a time within the log, from 3 s to 10.99 s" in capsys.readouterr().err


def test_simulate_rejects_more_steps_than_can_be_run(
    model: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    where = ("--from", model.parent / "held.csv", "--at", "4")
    assert run_main(monkeypatch, "simulate", model, *where, "--seconds", "1e9") == 1
    told = capsys.readouterr().err
    assert "--seconds 1e+09 is 1e+11 steps" in told and "give --seconds 50000 or less" in told


def test_fit_tells_free_runs_from_many_starts_of_the_held_out_log(rig: Path) -> None:
    logs = [str(rig / "log.csv"), "--physics", str(rig / "rig.toml"), "--validate", str(rig / "held.csv")]
    result = CliRunner().invoke(
        app, ["fit", *logs, "--library", "omega; omega**3", "--network", "none", "--hold", "held"]
    )
    assert result.exit_code == 0, result.output
    assert "starts of held.csv, median error" in result.output and "(known physics alone:" in result.output


def test_fit_judges_on_every_held_out_log(rig: Path) -> None:
    (rig / "more.csv").write_bytes((rig / "held.csv").read_bytes())
    unseen = [text for name in ("held.csv", "more.csv") for text in ("--validate", str(rig / name))]
    arguments = [
        "fit",
        str(rig / "log.csv"),
        "--physics",
        str(rig / "rig.toml"),
        *unseen,
        "--json",
        str(rig / "v.json"),
    ]
    result = CliRunner().invoke(
        app, [*arguments, "--library", "omega; omega**3", "--network", "none", "--hold", "held"]
    )
    assert result.exit_code == 0, result.output
    assert "starts of held.csv and more.csv, median error" in result.output
    assert result.output.count("Free-run error over the held-out") == 2
    figures = json.loads((rig / "v.json").read_text())
    assert [one["log"] for one in figures["validations"]] == ["held.csv", "more.csv"]


@pytest.mark.parametrize(("step", "message"), [(-0.01, "goes back from 3 to 2.99 s"), (0.0, "from 3 s to 3 s")])
def test_simulate_rejects_a_log_whose_time_does_not_rise(
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    step: float,
    message: str,
) -> None:
    table = pl.read_csv(model.parent / "held.csv")
    times = pl.Series(table.columns[0], 3.0 + step * np.arange(len(table)))
    table.with_columns(times).write_csv(tmp_path / "odd.csv")
    assert run_main(monkeypatch, "simulate", model, "--from", tmp_path / "odd.csv", "--at", "3") == 1
    assert message in capsys.readouterr().err


def test_report_writes_the_page_of_a_saved_model(model: Path, tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["report", str(model), "--out", str(tmp_path / "page.html")])
    assert result.exit_code == 0, result.output
    assert "The model rig.tinyude" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["fit", "no.csv", "--physics", "rig.toml"], "There is no file no.csv; check its name in"),
        (["fit", "lo.csv", "--physics", "rig.toml"], "There is no file lo.csv; did you mean log.csv?"),
        (["fit", "no/log.csv", "--physics", "rig.toml"], "its folder does not exist"),
        (["fit", "log.csv", "--physics", "rigg.toml"], "There is no file rigg.toml; did you mean rig.toml?"),
        (["fit", "log.csv", "log.csv", "--physics", "rig.toml"], "log.csv is given twice"),
        (["fit", "log.csv", "--physics", "rig.toml", "--network", "deep"], "use one of auto, kernel, mlp, none."),
        (["fit", "log.csv", "--physics", "rig.toml", "--hold", "zoh"], "use one of auto, held, linear, cubic."),
        (["fit", "log.csv", "--physics", "rig.toml", "--window", "0"], "--window is 0.0; give the longest window"),
        (["fit", "log.csv", "--physics", "rig.toml", "--library", ";"], "--library is []; use auto, rich, none"),
        (["fit", "log.csv", "--physics", "rig.toml", "--out", "."], "Cannot write .: it is a folder"),
        (["fit", "log.csv", "--physics", "rig.toml", "--validate", "no.csv"], "--validate no.csv: There is no file"),
        (["reproduce", "verdicts", "--jobs", "0"], "--jobs is 0; give 1 or more"),
        (["fit", "log.csv", "--physics", "rig.toml", "--preset", "best"], "preset is 'best'"),
        (["fit", "log.csv", "--physics", "rig.toml", "--out", "no/rig.tinyude"], "its folder does not exist"),
        (["fit", "log.csv", "--physics", "rig.toml", "--validate", "log.csv"], "also used for the fit"),
        (["simulate", "no.tinyude", "--from", "log.csv", "--at", "1"], "no.tinyude"),
        (["simulate", "no.tinyude", "--from", "log.csv", "--at", "1", "--seconds", "-1"], "--seconds is -1"),
        (["report", "log.csv"], "not a whole TinyUDE model"),
        (["demo", "--out", "no/page.html"], "its folder does not exist"),
    ],
)
def test_main_tells_errors_in_one_line(
    rig: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(rig)
    assert run_main(monkeypatch, *arguments) == 1
    told = capsys.readouterr().err.strip()
    assert "\n" not in told
    assert told.startswith("error: ")
    assert message in told


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["frobnicate"], "No such command 'frobnicate'; try `tinyude --help`."),
        (["bench", "--nope"], "No such option: --nope; try `tinyude bench --help`."),
        (["fitt", "a"], "No such command 'fitt'. Did you mean 'fit'? Try `tinyude --help`."),
        (
            ["report"],
            "MODEL is missing: A model written by `tinyude fit --out` or `UDE.save`; try `tinyude report --help`.",
        ),
        (
            ["simulate", "a"],
            "--from is missing: The log that gives the start and the inputs; try `tinyude simulate --help`.",
        ),
        (
            ["simulate", "a", "--from", "b", "--at=one"],
            "--at is 'one'; give a number; try `tinyude simulate --help`.",
        ),
        (["demo", "--seed", "-1"], "--seed is '-1'; give 0 or more; try `tinyude demo --help`."),
        (["fit", "--json"], "Option '--json' requires an argument; try `tinyude fit --help`."),
        ([__file__], f"{__file__} is a file, not a command; to fit a log: tinyude fit {__file__} --physics FILE."),
    ],
)
def test_main_tells_wrong_usage_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run_main(monkeypatch, *arguments) == 2
    assert capsys.readouterr().err == f"error: {message}\n"


def test_main_without_arguments_explains_itself(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_main(monkeypatch) == 0
    assert "Commands:" in capsys.readouterr().out


def test_main_says_what_an_interrupt_left_undone(
    rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tinyude.cli.fit.log_stream", interrupted)
    monkeypatch.setattr("tinyude.cli.console.written", [])
    out = rig / "never.tinyude"
    assert run_main(monkeypatch, "fit", rig / "log.csv", "--physics", rig / "rig.toml", "--out", out) == 130
    assert capsys.readouterr().err == "error: interrupted; nothing written.\n" and not out.exists()


def test_main_names_what_was_written_before_an_interrupt(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object, **__: object) -> None:
        wrote(Path("rig.tinyude"))
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "app", failing)
    monkeypatch.setattr("tinyude.cli.console.written", [])
    assert run_main(monkeypatch) == 130
    assert capsys.readouterr().err == "error: interrupted; already written: rig.tinyude.\n"


def test_main_says_what_an_interrupted_fleet_keeps(
    rig: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(*_: object, started: Callable[[object], None], **__: object) -> None:
        started(SimpleNamespace(nthreads=dict, dashboard_link="nowhere"))
        raise KeyboardInterrupt

    monkeypatch.setattr("tinyude.fleet.fit", interrupted)
    kept: list[str] = []
    for module in ("console", "fleet"):
        monkeypatch.setattr(f"tinyude.cli.{module}.written", kept)
    assert run_main(monkeypatch, "fleet", "{machine}.csv", "--physics", rig / "rig.toml", "--out", "plant") == 130
    assert "already written: finished logs in plant, from which the same command continues" in capsys.readouterr().err


def test_main_tells_an_os_error_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def failing(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "page.html")

    monkeypatch.setattr(cli, "app", failing)
    assert run_main(monkeypatch) == 1
    told = "error: page.html: Permission denied; check the file, its permissions and the room on its disk.\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("command", cli.COMMANDS)
def test_every_command_explains_itself(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"])
    assert result.exit_code == 0
    assert "Usage" in result.output and max(map(len, result.output.splitlines())) <= 80
    assert not re.search(r"<(list|path|str|int|float)\b", result.output)  # values by words, not by Python's types


def test_demo_prints_its_table_and_writes_its_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a short record at a tenth of the rate: the real demonstration is `make demo`."""
    short = replace(pendulum("A"), seconds=8.0, rate=100.0)
    monkeypatch.setattr(demo, "pendulum", lambda case: short)
    monkeypatch.setattr(
        demo, "UDE", lambda physics, **settings: UDE(physics, hidden=(), engine="reference", **settings)
    )
    page, figures, picture = tmp_path / "page.html", tmp_path / "figures.json", tmp_path / "demo.png"
    files = ["--out", str(page), "--json", str(figures), "--picture", str(picture)]
    result = CliRunner().invoke(app, ["demo", *files, "--seed", "1", "--noise", "0.002"])
    assert result.exit_code == 0, result.output
    for label in (
        "field error",
        "recovered damping",
        "noise found",
        "window chosen",
        "windows rejected",
        "memory",
        "time",
    ):
        assert label in result.output
    found = json.loads(figures.read_text())
    assert found["damping"] == pytest.approx(0.4, abs=0.02)
    assert 0.0 < found["field_error"] < 0.01
    assert "forgotten damping" in page.read_text()
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_complain_breaks_at_words_in_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    from rich.console import Console

    from tinyude.cli import console

    text = "error: physics.toml already exists; choose another name with --out, or give --force."
    for terminal in (True, False):
        shown = io.StringIO()
        monkeypatch.setattr(console, "errors", Console(file=shown, force_terminal=terminal, width=80))
        console.complain(text)
        lines = shown.getvalue().splitlines()
        assert len(lines) == 1 + terminal
        assert " ".join(line.strip() for line in lines) == text
