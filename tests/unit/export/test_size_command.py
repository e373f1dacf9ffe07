"""`tinyude size`: RAM by array, flash and stack, and what to change where it does not fit."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tinyude as tu
from tinyude import native
from tinyude.cli.app import app
from tinyude.errors import TinyUDEError
from tinyude.export import Chip, chip_of_physics
from tinyude.export.advice import arena_bytes, fitting
from tinyude.export.boards.chipsets import CHIPSETS, chipset, parse_bytes
from tinyude.export.boards.toolchains import BOARDS
from tinyude.export.footprint import Footprint
from tinyude.export.stack import deepest_stack, read_call_graph

Run = Callable[..., str]
pytestmark = pytest.mark.skipif(not native.available(), reason="an arena's size needs the compiled core")


@pytest.mark.parametrize(("text", "count"), [("32k", 32768), ("16 kB", 16384), ("1M", 1 << 20), ("4096", 4096)])
def test_parse_bytes_reads_units(text: str, count: int) -> None:
    assert parse_bytes(text, "--ram") == count


@pytest.mark.parametrize("text", ["", "k", "-1", "0", "1.5k", "32 bananas"])
def test_parse_bytes_rejects_what_is_no_amount(text: str) -> None:
    with pytest.raises(TinyUDEError, match=r"--flash is .*; write a whole number"):
        parse_bytes(text, "--flash")


def test_chipset_lists_the_boards_it_knows() -> None:
    with pytest.raises(TinyUDEError, match=r"'z80'; use one of .*cortex-m4.*esp32"):
        chipset("z80")
    assert {found.core for found in CHIPSETS.values()} <= set(BOARDS)


def test_fitting_proposes_the_largest_reservoir_that_fits(fitted: tu.UDE) -> None:
    chip = chip_of_physics(fitted.physics)
    limit = 40_000
    (line, *_) = fitting(chip, limit, 40 * 1024)
    entries = int(re.fullmatch(r"reservoir 2048 -> (\d+) fits 40 kB", line)[1])
    assert entries % 32 == 0
    assert arena_bytes(chip.resized(entries)) <= limit < arena_bytes(chip.resized(entries + 32))


def test_fitting_says_when_nothing_fits(chip: Chip) -> None:
    (line,) = fitting(chip, 1000, 1024)
    assert line.startswith("Nothing fits 1 kB: the smallest arena is")


def test_deepest_stack_follows_pointers_and_survives_cycles(tmp_path: Path) -> None:
    def node(name: str, count: int) -> str:
        return f'node: {{ title: "{name}" label: "f\\na.c:1:1\\n{count} bytes (static)" }}'

    def edge(caller: str, called: str) -> str:
        return f'edge: {{ sourcename: "{caller}" targetname: "{called}" label: "a.c:1:1" }}'

    lines = [
        node("main", 10), node("push", 100), node("look", 60), node("k.c:field", 40), node("k.c:at", 5),
        node("startup.c:tick", 9999), node("unused", 9999), edge("main", "push"), edge("main", "look"),
        edge("push", "__indirect_call"), edge("k.c:at", "__indirect_call"), edge("look", "memcpy"),
    ]  # fmt: skip
    (tmp_path / "a.ci").write_text("\n".join(lines))
    assert deepest_stack(read_call_graph(tmp_path), "main", "startup.c") == 10 + 100 + 5 + 40


def test_deepest_stack_reads_what_llvm_leaves(tmp_path: Path) -> None:
    def frame(name: str, count: int) -> str:
        return f"--- !Analysis\nFunction:        {name}\nArgs:\n  - NumStackBytes:   '{count}'\n"

    (tmp_path / "a.ll").write_text(
        "define dso_local range(i32 0, 2) i32 @main(ptr %0) {\n  %1 = tail call float @llvm.fabs.f32(float %0)\n"
        "  tail call void %9(ptr noundef %11)\n  %2 = call fastcc range(i32 0, 2) i32 @step(ptr %0)\n}\n"
        "define internal fastcc i32 @step(ptr %0) {\n  %3 = call %struct.pair @far(ptr sret(%struct.pair) %1)\n}\n"
    )
    (tmp_path / "b.ll").write_text("define %struct.pair @far() {\n}\ndefine internal void @field() {\n}\n")
    (tmp_path / "a.stack").write_text(frame("main", 10) + frame("step", 20))
    (tmp_path / "b.stack").write_text(frame("far", 300) + frame("field", 40))
    graph = read_call_graph(tmp_path)
    assert graph.calls["main"] == {"llvm.fabs.f32", "__indirect_call", "a.c:step"}
    assert deepest_stack(graph, "main", "startup.c") == 10 + 20 + 300
    assert deepest_stack(graph, "a.c:step", "startup.c") == 20 + 300


def test_size_command_tells_ram_by_array_without_a_compiler(
    run: Run, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyude.cli.size.missing_for", lambda core: ["arm-none-eabi-gcc"])
    figures = tmp_path / "size.json"
    told = run("size", model, "--ram", "8k", "--json", figures, status=3)
    found = json.loads(figures.read_text())
    parts = {name: count for name, count in found["memory"].items() if name != "total"}
    assert sum(parts.values()) == found["memory"]["total"]
    assert all(f"{count:,}" in told for count in parts.values() if count)
    assert "arm-none-eabi-gcc not found; install gcc-arm-none-eabi" in told
    assert "it does not fit" in told and not found["fits"]


def test_size_command_rejects_to_guess_the_flash(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyude.cli.size.missing_for", lambda core: ["its compiler"])
    result = CliRunner().invoke(app, ["size", str(model), "--flash", "64k"])
    assert "--flash cannot be checked. No flash and stack: its compiler not found" in str(result.exception)


def test_size_command_compares_with_the_flash_there_is(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    built = Footprint(ram_bytes=90_000, flash_bytes=60_000, stack_bytes=900)
    monkeypatch.setattr("tinyude.cli.size._built", lambda *_: (built, []))
    assert "60,000 of 61,440 bytes of flash: it fits." in run("size", model, "--flash", "60k")
    assert "60,000 of 59,392 bytes of flash: it does not fit." in run("size", model, "--flash", "58k", status=3)


def test_size_command_leaves_stdout_to_the_figures(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyude.cli.size.missing_for", lambda core: ["its compiler"])
    result = CliRunner().invoke(app, ["size", str(model), "--json", "-"])
    assert json.loads(result.stdout)["fits"]
    assert "RAM in all" in result.stderr


def test_size_command_needs_no_model(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyude.cli.size.missing_for", lambda core: ["its compiler"])
    (tmp_path / "rig.toml").write_text(
        '[states]\nx = "v"\nv = "-k*x + f"\n[measured]\nx = "x"\n[inputs]\nf = "force"\n[parameters]\nk = 4.0\n'
    )
    assert "RAM in all" in run("size", "--preset", "paper-v2")
    for board, ram, package in (("esp32", "163,840", "clang-22"), ("esp32c3", "327,680", "gcc-riscv64-unknown-elf")):
        told = run("size", "--physics", tmp_path / "rig.toml", "--board", board)
        assert f"of {ram} bytes of RAM" in told and f"its compiler not found; install {package}" in told
    assert "RAM in all" in run("size", "--physics", tmp_path / "rig.toml", "--preset", "paper-v2")


def test_size_command_gives_ram_when_the_compiler_fails(run: Run, model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise TinyUDEError("make failed with status 2:\nno math.h")

    monkeypatch.setattr("tinyude.cli.size.missing_for", lambda core: [])
    monkeypatch.setattr("tinyude.cli.size.footprint", fails)
    told = run("size", model)
    assert "RAM in all" in told and "libnewlib-arm-none-eabi installed? make failed with status 2: no math.h" in told


def test_size_command_lists_its_boards(run: Run) -> None:
    told = " ".join(run("size", "--help").split())
    assert all(f"{name}," in told or f"{name}." in told for name in CHIPSETS)
