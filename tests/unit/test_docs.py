"""Documents that cannot rot: their Python runs, their commands parse, their links lead somewhere.

Python blocks run in order, in one namespace a document, in a folder of its own; a text block right after one is what it
prints. A block that cannot run in seconds without data says so: ```python no-run. Physics files are read.
"""

import re
import shlex
from contextlib import redirect_stdout
from io import StringIO
from itertools import zip_longest
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
import pytest
from scipy.integrate import solve_ivp
from typer.testing import CliRunner

from tinyude import native
from tinyude.cli import app as app_module
from tinyude.cli.app import app, load_command
from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.physics.file import load_physics_file

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = (ROOT, ROOT / "docs", ROOT / "docs" / "guides", ROOT / "examples", ROOT / "firmware")
DOCUMENTS = [path for folder in FOLDERS for path in sorted(folder.glob("*.md"))]
FENCE = re.compile(r"^```(\w*)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = {name: load_command(name) for name in app_module.COMMANDS}

needs_core = pytest.mark.skipif(not native.available(), reason="needs the compiled core")


class Block(NamedTuple):
    language: str
    runs: bool
    text: str
    printed: str | None  # the text block right after it


def blocks(path: Path, language: str) -> list[Block]:
    """The fenced blocks of a document in one language."""
    document = path.read_text()
    fences = list(FENCE.finditer(document))
    found = []
    for fence, following in zip_longest(fences, fences[1:]):
        adjacent = following and following[1] == "text" and not document[fence.end() : following.start()].strip()
        found.append(Block(fence[1], "no-run" not in fence[2], fence[3], following[3] if adjacent else None))
    return [block for block in found if block.language == language]


def shell_lines(path: Path, program: str) -> list[list[str]]:
    """The words of every line of the document's shell blocks that calls the program, without its name."""
    text = "".join(block.text for block in blocks(path, "sh")).replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    return [words[1:] for words in lines if words and words[0] == program]


def of_each(documents: list[Path]) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("path", documents, ids=lambda path: str(path.relative_to(ROOT)))


def with_blocks(language: str) -> list[Path]:
    return [path for path in DOCUMENTS if blocks(path, language)]


def write_small_plant() -> None:
    """Logs of three machines and their physics file, where docs/fleet.md has them."""
    for module in ("distributed", "duckdb"):
        pytest.importorskip(module)
    SimulatedFleet(machines=3, weeks=2, seconds=8.0).write(Path())
    Path("logs/arm-0002").rename("logs/arm-087")


PREPARED = {"fleet.md": write_small_plant}


@needs_core
@pytest.mark.filterwarnings("ignore::ResourceWarning")  # sockets of a cluster that has stopped
@of_each([path for path in with_blocks("python") if path.parent.name != "firmware"])  # tests/target runs that one
def test_python_blocks_run_and_print_what_is_shown(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    PREPARED.get(path.name, lambda: None)()
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(path, "python"):
        printed = StringIO()
        if block.runs:
            with redirect_stdout(printed):
                exec(compile(block.text, path.name, "exec"), namespace)
        if block.runs and block.printed is not None:
            assert printed.getvalue() == block.printed


def test_readme_shows_what_its_first_lines_print() -> None:
    assert "residual of omega" in (blocks(ROOT / "README.md", "python")[0].printed or "")


@of_each(with_blocks("toml"))
def test_physics_files_are_read(path: Path, tmp_path: Path) -> None:
    for block in blocks(path, "toml"):
        (tmp_path / "rig.toml").write_text(block.text)
        assert load_physics_file(tmp_path / "rig.toml").measured


def test_reference_names_every_command() -> None:
    listed = re.findall(r"^\| `tinyude (\w+)` \|", (ROOT / "docs" / "reference.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(COMMANDS)


@of_each(with_blocks("sh"))
def test_shell_lines_parse(path: Path) -> None:
    for name, *arguments in shell_lines(path, "tinyude"):
        COMMANDS[name].make_context(name, arguments)  # raises on an unknown option, a bad value or one too few
    makefile = (ROOT / "Makefile").read_text()
    for targets in shell_lines(path, "make"):
        for target in targets:
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), f"make {target}"
    for script, *_ in shell_lines(path, "python"):
        assert (ROOT / script).exists(), script


@of_each(DOCUMENTS)
def test_commands_begin_a_line_of_a_shell_block(path: Path) -> None:
    """An indented block was filled like a paragraph: two commands in one line, options on the next."""
    sentences = re.sub(r"`[^`]*`", "", FENCE.sub("", path.read_text()))
    assert not re.findall(r"python \S+\.py", sentences)
    lines = "".join(block.text for block in blocks(path, "sh")).splitlines()
    assert not [line for line in lines if len(re.findall(r"python \S+\.py", line)) > 1]


@of_each(DOCUMENTS)
def test_commands_named_in_sentences_exist(path: Path) -> None:
    sentences = FENCE.sub("", path.read_text())
    for name, rest in re.findall(r"`tinyude ([a-z]+)([^`]*)`", sentences):
        options = {option for parameter in COMMANDS[name].params for option in parameter.opts} | {"--help"}
        assert set(re.findall(r"--[a-z-]+", rest)) <= options, f"tinyude {name}{rest}"


@of_each(DOCUMENTS)
def test_links_lead_to_files(path: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)", FENCE.sub("", path.read_text()))
    missing = [target for target in targets if "://" not in target and not (path.parent / target).exists()]
    assert not missing


def test_moving_picture_is_small() -> None:
    assert (ROOT / "docs" / "images" / "demo.gif").stat().st_size < 1_000_000


def test_images_are_shown_somewhere() -> None:
    shown = {
        (path.parent / target).resolve()
        for path in DOCUMENTS
        for target in re.findall(r"!\[[^\]]*\]\(([^)\s]+)\)", path.read_text())
    }
    assert {image.resolve() for image in (ROOT / "docs" / "images").iterdir()} <= shown


@needs_core
def test_readme_commands_fit_and_predict_a_rig(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The README's physics file and its three commands, in order, on logs of a rig with L = 0.6 and friction."""
    readme = ROOT / "README.md"
    monkeypatch.chdir(tmp_path)
    (toml,) = blocks(readme, "toml")
    Path("rig.toml").write_text(toml.text)
    assert load_physics_file("rig.toml").physics.learned == ("L",)
    write_log("log.csv", seconds=15.0, tone=1.7)
    write_log("heldout.csv", seconds=12.0, tone=2.3)
    for words in shell_lines(readme, "tinyude"):
        if words[0] == "fleet":
            continue  # asks for a folder of machines; tests/unit/fleet has one
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    assert "<html" in Path("rig.html").read_text()
    run, held_out = pl.read_csv("run.csv"), pl.read_csv("heldout.csv")
    truth = np.interp(run["time"], held_out["time"], held_out["position"])
    assert np.std(run["theta"].to_numpy() - truth) < 0.05 * np.std(truth)


def write_log(path: str, seconds: float, tone: float) -> None:
    """A pendulum with the README's constants, a length of 0.6 m and friction that its physics file lacks."""
    t = np.arange(0.0, seconds, 0.01)

    def torque(time: np.ndarray) -> np.ndarray:
        return 0.25 * np.sin(tone * time) + 0.2 * np.sin(2.9 * tone * time)

    def field(time: float, x: np.ndarray) -> list[float]:
        return [x[1], -9.81 / 0.6 * np.sin(x[0]) + torque(time) / 0.063 - 0.3 * x[1]]

    states = solve_ivp(field, (0.0, seconds), [0.8, 0.0], t_eval=t, rtol=1e-8, atol=1e-8).y
    position = states[0] + 0.001 * np.random.default_rng(0).standard_normal(len(t))
    pl.DataFrame({"time": t, "position": position, "torque": torque(t)}).write_csv(path)
