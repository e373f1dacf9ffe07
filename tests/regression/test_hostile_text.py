"""Texts of physics files, models and logs must not reach generated code, a page or a terminal as they are."""

import copy
import html
import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

import tinyude as tu
from tinyude.cli.app import UsageError, main
from tinyude.cli.init import init
from tinyude.cli.usage import usage_line
from tinyude.errors import LONGEST_MESSAGE, TinyUDEError, one_line
from tinyude.export import TARGETS, chip_of_model, export_files
from tinyude.export.codegen.templates import checked_value, source_environment
from tinyude.model.file import checksum
from tinyude.physics.file import load_physics_file
from tinyude.physics.parsing import parse_expression
from tinyude.physics.syntax import canonical_text
from tinyude.physics.template import physics_template
from tinyude.physics.typeset import shape
from tinyude.report.collect import collect
from tinyude.report.page import render

ATTACKS = [
    "-(g/L)*sin(theta) # */ int owned(void) { return 1; } /*",
    "-(g/L)*sin(theta) #",
    "-(g/L)*sin(theta)\n# */ int owned;",
    "-(g/L)\n*sin(theta)",
    "-(g/L)\r*sin(theta)",
    "-(g/L)\t*sin(theta)",
    "-(g/L)\x0c*sin(theta)",
    "-(g/L)\x1b[2J*sin(theta)",
    "-(g/L)\u2028*sin(theta)",
    "-(g/L)\u202e*sin(theta)",
    "-(g/L)\u200b*sin(theta)",
    "-(g/L)*sin(theta) */",
    "-(g/L)*sin(theta) // x",
    "-(g/L)*sin(theta); x",
    "-(g/L)*sin(theta) \\",
    "-(g/L)*sin(theta) '*/ int owned; /*'",
    '(-(g/L)*sin(theta), "*/")[0]',
]
NAMES = [
    "a*/int",
    "a b",
    "a\n",
    "*/",
    "x#",
    "\u202ex",
    "x\x1b",
    "",
    "1x",
    "\ufb01",
    "\u00b5",
    "x" * 61,
    "lambda",
    "sin",
]


def physics(rate: str) -> tu.Physics:
    return tu.Physics(["theta", "omega"], ["omega", rate], parameters={"g": 9.81, "L": 1.0})


@pytest.mark.parametrize("text", ATTACKS)
def test_physics_rejects_text_that_is_more_than_an_expression(text: str, tmp_path: Path) -> None:
    with pytest.raises(TinyUDEError) as caught:
        physics(text)
    assert str(caught.value).isprintable()
    path = tmp_path / "rig.toml"
    path.write_text(f'[states]\ntheta = "omega"\nomega = {json.dumps(text)}\n[parameters]\ng = 9.81\nL = 1.0\n')
    with pytest.raises(TinyUDEError):
        load_physics_file(path)


@pytest.mark.parametrize("name", NAMES)
def test_physics_rejects_names_that_are_not_read_as_written(name: str) -> None:
    with pytest.raises(TinyUDEError) as caught:
        tu.Physics([name], ["1"])
    assert str(caught.value).isprintable()
    for given_as in ({"inputs": [name]}, {"parameters": {name: 1.0}}):
        with pytest.raises(TinyUDEError):
            tu.Physics(["theta"], ["1"], **given_as)


def test_physics_keeps_the_canonical_form_of_its_texts() -> None:
    made = physics("  -( g / L )*sin( theta ) -  0x10*1_000*theta**-2")
    assert made.texts == ("omega", "-(g/L)*sin(theta) - 16*1000*theta**-2")


CONDITIONS = st.recursive(
    st.sampled_from(["a < b", "a>=0", "0 < a <= b", "True", "not(a)", "a == b", "(b)"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from([" and ", " or ", "&", "|"]), inner).map(lambda t: f"({t[0]}){t[1]}{t[2]}"),
        inner.map("~({})".format),
        inner.map("not {}".format),
    ),
    max_leaves=4,
)


@settings(max_examples=200, deadline=None, database=None)
@given(st.lists(CONDITIONS, min_size=1, max_size=3))
def test_canonical_text_of_pieces_means_the_same(conditions: list[str]) -> None:
    symbols = {name: sp.Symbol(name) for name in "ab"}
    text = f"-Piecewise({''.join(f'({k}*a - b, {c}), ' for k, c in enumerate(conditions))}(b, True))"
    try:
        expr = parse_expression(text, symbols, smooth=False)
    except TinyUDEError:
        return
    canonical = canonical_text(text)
    assert re.fullmatch(r"[\w.,+\-*/() <>=]+", canonical)
    assert parse_expression(canonical, symbols, smooth=False) == expr and canonical_text(canonical) == canonical


PIECES = st.sampled_from(["a", "b", "2", "0.5", "1e-3", "+", "-", "*", "/", "**2", "(", ")", "sin(", "-a", " ", "+b"])


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(PIECES, max_size=12).map("".join))
def test_canonical_text_means_the_same_and_holds_nothing_else(text: str) -> None:
    symbols = {name: sp.Symbol(name) for name in "ab"}
    try:
        expr = parse_expression(text, symbols)
    except TinyUDEError:
        return
    canonical = canonical_text(text)
    assert re.fullmatch(r"[\w.+\-*/() ]+", canonical) and "/*" not in canonical and "*/" not in canonical
    assert parse_expression(canonical, symbols) == expr and canonical_text(canonical) == canonical


def forged(fitted: tu.UDE, path: Path, change: object) -> Path:
    """The model file of a fit with another header and a checksum that fits."""
    small = copy.copy(fitted)
    small.save(path)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        header = json.loads(file.metadata()["tinyude"])
    change(header)
    text = json.dumps(header)
    path.write_bytes(to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)}))
    return path


@pytest.mark.parametrize("text", ATTACKS)
def test_load_rejects_hostile_equations_with_a_valid_checksum(fitted: tu.UDE, tmp_path: Path, text: str) -> None:
    def change(header: dict) -> None:
        header["physics"]["rhs"][1] = text

    with pytest.raises(TinyUDEError, match="damaged"):
        tu.load(forged(fitted, tmp_path / "a.tinyude", change))


@pytest.mark.parametrize("place", ["warnings", "files", "preset", "key"])
def test_load_rejects_escape_sequences_anywhere_in_the_header(fitted: tu.UDE, tmp_path: Path, place: str) -> None:
    def change(header: dict) -> None:
        found = header["diagnostics"]
        if place == "warnings":
            found["warnings"] = ["\x1b]0;owned\x07"]
        elif place == "files":
            header["provenance"]["files"] = ["a\nb"]
        elif place == "preset":
            header["estimator"]["preset"] = "\x9b2J"
        else:
            found["a\u202eb"] = 1

    with pytest.raises(TinyUDEError, match="not printable") as caught:
        tu.load(forged(fitted, tmp_path / "a.tinyude", change))
    assert str(caught.value).isprintable()


@pytest.mark.parametrize("target", TARGETS)
def test_export_writes_the_canonical_equations(fitted: tu.UDE, tmp_path: Path, target: str) -> None:
    def change(header: dict) -> None:
        header["physics"]["rhs"][1] = "-( g/L )*sin( theta )"

    files = export_files(chip_of_model(tu.load(forged(fitted, tmp_path / "a.tinyude", change))), target, "rig")
    assert "d(omega)/dt = -(g/L)*sin(theta) + what is learned" in files["README.md"]
    assert not any("( g/L )" in text for text in files.values())


@pytest.mark.parametrize("value", ["*/", "/*", "//", "a\\", '"', "`id`", "$(id)", "#if", "a\nb", "\x1b", "??/", "@x"])
def test_source_environment_rejects_what_a_compiler_would_act_on(value: str) -> None:
    template = source_environment().from_string("/* {{ value }} */")
    with pytest.raises(TinyUDEError):
        template.render(value=value)
    assert template.render(value="-(g/L)*sin(theta)") == "/* -(g/L)*sin(theta) */"
    assert checked_value(np.float64(1.0)) == 1.0


def test_render_escapes_html_and_shows_control_characters(fitted: tu.UDE) -> None:
    data = collect(fitted, title="<script>alert(1)</script>\x1b[2J", headline=["</p><img src=x onerror=y>\u202e"])
    page = render(data)
    assert "<script>alert" not in page and "<img src=x" not in page
    assert "\x1b" not in page and "\u202e" not in page and "&lt;script&gt;" in page


@pytest.mark.parametrize(
    ("term", "letters"), [("θ_1", ["θ", "1"]), ("ω*cos(θ_1)", ["ω", "cos", "θ", "1"]), ("x_2**2", ["x", "2", "2"])]
)
def test_typeset_shape_reads_names_in_any_letters(term: str, letters: list[str]) -> None:
    """The report of a model with a Greek state was rejected."""
    assert re.findall(r"<m[in]>([^<]*)</m[in]>", html.unescape(shape(term))) == letters


@pytest.mark.parametrize("column", ["\x1b[2Jtime", "a\x07", "\u202etime"])
def test_main_prints_no_escape_sequence_of_a_file(
    column: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rig.toml").write_text('[states]\nx = "-x"\n')
    log = tmp_path / "\x1b[31mlog.csv"
    log.write_text(f"{column},y\n" + "1,2\n" * 100, encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tinyude", "fit", str(log), "--physics", str(tmp_path / "rig.toml")])
    with pytest.raises(SystemExit):
        main()
    said = capsys.readouterr()
    assert said.err.count("\n") == 1 and "has no column 'time'" in said.err
    assert not set(said.err + said.out) & set("\x1b\x07\u202e")


@pytest.mark.parametrize("name", ["a$(touch owned).csv", "a';touch owned;'.csv", "`touch owned`.csv", "-a b.csv"])
def test_init_quotes_names_in_the_command_that_it_suggests(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A name with $(...) was printed as it is, to be pasted into a shell."""
    monkeypatch.chdir(tmp_path)
    Path(name).write_text("time,x\n" + "".join(f"{k / 100},{k % 7}\n" for k in range(50)))
    init(Path(name), Path("rig.toml"))
    command = capsys.readouterr().out.partition(" and run: ")[2]
    given = name if name[0] != "-" else f"./{name}"
    assert shlex.split(command) == ["tinyude", "fit", given, "--physics", "rig.toml"]
    told = usage_line(UsageError("?"), [given], ("fit",))
    assert shlex.split(told.partition(": ")[2].rstrip("."))[2] == given


def test_one_line_keeps_the_remedy_of_a_long_message() -> None:
    message = one_line("value " + "x\n" * 5_000 + "; the remedy.")
    assert len(message) <= LONGEST_MESSAGE and message.endswith("; the remedy.") and "\n" not in message


COLUMNS = [
    "time, s", "lambda", "in", "x\n[fit]\nlibrary = 'none'\n#", "a\\", 'q"q', "[m\\]", 'x [m"]', f"x [{'m' * 60}]",
    "y" * 70, "\u00b5", "\ufb01", "\u00c9", "x\x1b[2J", "x\u2028y", "x\ty", "x\u202e", "", " ", "sin", "1x", "_", "#x",
    "a" * 2_000,
]  # fmt: skip


@pytest.mark.parametrize("column", COLUMNS)
def test_physics_template_is_a_physics_file_whatever_the_columns_are_called(column: str, tmp_path: Path) -> None:
    """Columns called in or with a letter beyond ASCII gave a file that nothing could read; a file name became keys."""
    t = np.arange(50) * 0.01
    table = {"time": t, column: np.sin(t), "v": np.cos(t)}
    for order in (table, dict(reversed(table.items())), {column: t, "v": np.cos(t)}):
        path = tmp_path / "rig.toml"
        path.write_text(physics_template(order, "a\n[fit]\nlibrary = 'none'\n#.csv"), encoding="utf-8")
        made = load_physics_file(path)
        named = column.strip() and column.isprintable() and len(column) < 2_000
        assert not made.fit and "v" in made.columns and (column in made.columns) == bool(named)


def test_physics_template_refuses_a_log_without_signals() -> None:
    with pytest.raises(TinyUDEError, match="no column of a signal"):
        physics_template({"time": np.arange(5.0), "": np.ones(5)}, "log.csv")
