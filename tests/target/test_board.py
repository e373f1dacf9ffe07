"""An emulated board computes the same bits as the host."""

import os
import re
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.experiments.board import emulator
from tinyude.experiments.board.emulator import BoardRun, CoreLibrary
from tinyude.export.boards.memory_presets import board_config
from tinyude.export.boards.toolchains import compile_objects
from tinyude.export.codegen import config_header
from tinyude.export.wire import LONGEST_SLICE
from tinyude.physics.library import default_terms
from tinyude.reference.config import Config
from tinyude.training.known import KnownPrograms, known_programs

ROOT = Path(__file__).parents[2]
PLANT = tu.systems.pendulum()
TERMS = default_terms(PLANT.physics, {"omega": 2.0})
# Every mechanism on few samples, in 16 kB with its stack.
SMALL: dict[str, Any] = {
    "terms": TERMS[:4], "hidden": (8, 6), "max_half": 40, "calibration": 1200, "network_nodes": 3,
    "reservoir": 48, "holdout": 16, "batch": 8,
}  # fmt: skip
HEAP_STDIO_DOUBLE = re.compile(
    r"_?(sbrk|malloc\w*|calloc\w*|realloc\w*|free\w*|\w*printf\w*|puts|fputs|fwrite|write|std(in|out|err))(_r)?"
    r"|__aeabi_(c?d\w+|\w+2d)|__(add|sub|mul|div|neg|[engl][eqt]|unord|extendsf|float\w+i|fix(uns)?|trunc)df\w*"
)
needs_board = pytest.mark.skipif(
    not emulator.available(), reason=f"an emulated board needs {', '.join(emulator.missing())}"
)


def stream(seconds: float) -> np.ndarray:
    _, samples = PLANT.stream(noise=0.01, seed=0, seconds=seconds)
    return samples.astype(np.float32)


def damaged(samples: np.ndarray) -> np.ndarray:
    """Lone dropouts, outliers, a dead stretch and an infinite sample."""
    samples = samples.copy()
    samples[::97, 0] = np.nan
    samples[50::211, 1] += 40.0
    samples[2000:2100] = samples[2000]
    samples[2500] = np.inf
    return samples


def learner(
    preset: str, samples: int, terms: Sequence[sp.Expr] = TERMS, **settings: Any
) -> tuple[Config, KnownPrograms]:
    terms = terms if preset == "default" else []
    config = board_config(PLANT.physics, preset, samples=samples, terms=terms, **settings)
    return config, known_programs(PLANT.physics, terms, config.on)


def on_board(
    library: CoreLibrary, config: Config, programs: KnownPrograms, rows: np.ndarray, folder: Path, **limits: int
) -> BoardRun:
    firmware = emulator.build_firmware(library, config, programs, folder, **limits)
    return emulator.run(firmware, rows)


def on_host(config: Config, programs: KnownPrograms, rows: np.ndarray) -> dict[str, Any]:
    """The same live stream, a sample at a time."""
    host = native.NativeLearner(config, programs, "float32")
    for row in rows:
        host.push(row[None])
    host.finish()
    return host.state()


def assert_same_bits(board: dict[str, Any], host: dict[str, Any]) -> None:
    assert board.keys() == host.keys()
    different = [name for name in host if np.asarray(board[name]).tobytes() != np.asarray(host[name]).tobytes()]
    assert not different


@needs_board
@pytest.mark.parametrize(
    ("preset", "settings", "updates"),
    [("paper-v2", {}, 8000), ("paper-v1", {}, 1500), ("default", {"network_nodes": 1, "updates": 2500}, 2500)],
    ids=["paper-v2", "paper-v1", "default"],
)
def test_whole_run_gives_the_bits_of_the_host(
    preset: str,
    settings: dict[str, Any],
    updates: int,
    core_library: Callable[..., CoreLibrary],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """A minute at 1 kHz with training at 25 Hz, then the updates that are left, as the paper's board.

    `tinyude reproduce device` runs the default for all its 8,000 updates.
    """
    rows = stream(60.0)
    config, programs = learner(preset, len(rows), **settings)
    firmware = emulator.build_firmware(core_library("cortex-m4"), config, programs, tmp_path)
    board = emulator.run(firmware, rows)
    assert_same_bits(board.state, on_host(config, programs, rows))
    assert (board.state["samples"], board.state["updates"]) == (60_000, updates)
    assert board.state["average"].any()
    figures = board.figures
    record_property(
        "figure",
        f"emulated M4F, {preset}, {updates:,} updates: the host's bits; {figures['update_instructions']:,} "
        f"instructions an update; arena {figures['arena_bytes']:,}, stack {figures['stack_bytes']:,}, RAM linked "
        f"{firmware.ram_bytes:,}, flash {firmware.flash_bytes:,} bytes",
    )


@needs_board
@pytest.mark.parametrize(
    ("preset", "settings"),
    [
        ("paper-v2", {"updates": 200, "snr_gate": 0.0}),  # second order in force
        ("default", {"updates": 80, "calibration": 3000}),
        ("default", {"updates": 200, "network_nodes": 1, "calibration": 3000, "compact": True}),
        ("default", {"updates": 100, "network_nodes": 1, "calibration": 3000, "judged": True, "block": 6, "stride": 4}),
    ],
    ids=["paper-v2 second order", "default nodes", "default compact", "default judged"],
)
def test_preset_gives_the_bits_of_the_host(
    preset: str, settings: dict[str, Any], core_library: Callable[..., CoreLibrary], tmp_path: Path
) -> None:
    rows = stream(6.0)
    config, programs = learner(preset, len(rows), **settings)
    board = on_board(core_library("cortex-m4"), config, programs, rows, tmp_path)
    host = on_host(config, programs, rows)
    assert_same_bits(board.state, host)
    assert host["updates"] == settings["updates"]
    assert host["accepted"] > config.batch
    assert (host["second_order"] > 0) == preset.startswith("paper")


@needs_board
def test_damaged_stream_gives_the_bits_of_the_host(core_library: Callable[..., CoreLibrary], tmp_path: Path) -> None:
    rows = damaged(stream(4.0))
    config, programs = learner("default", len(rows), updates=50, **SMALL)
    board = on_board(core_library("cortex-m4"), config, programs, rows, tmp_path)
    host = on_host(config, programs, rows)
    assert_same_bits(board.state, host)
    assert host["filled"] and host["replaced"] and host["rejected"].any()


@needs_board
def test_longest_slice_is_bounded_over_a_whole_life(
    core_library: Callable[..., CoreLibrary], tmp_path: Path, record_property: Callable[[str, object], None]
) -> None:
    """Calibration, a full reservoir, a judged network, a change and a recalibration.

    In this stream the pendulum was before the change where it is after it, which not every seed's kicks give: without
    such a past, a change cannot be told from a region that is new.
    """
    changing = tu.systems.pendulum(damping_change=(9.0, 1.6))
    rows = changing.stream(noise=0.01, seed=2, seconds=24.0)[1].astype(np.float32)
    worse = np.random.default_rng(0).standard_normal(rows.shape) * 0.08 * np.sqrt(np.mean(rows**2, axis=0))
    rows[16_000:] += worse[16_000:].astype(np.float32)
    settings = {"calibration": 3000, "stride": 5, "reservoir": 512, "block": 40, "judged": True, "network_nodes": 1}
    config, programs = learner("default", len(rows), terms=TERMS[:4], updates=200, **settings)
    board = on_board(core_library("cortex-m4"), config, programs, rows, tmp_path)
    assert len(board.state["changed_at"]) == 1 and board.state["recalibrations"] == 1
    assert len(board.state["reservoir"]) == 512
    longest = {name: board.figures[f"{name}_longest_slice"] for name in ("calibration", "learning")}
    assert max(longest.values()) <= LONGEST_SLICE
    record_property("figure", f"emulated M4F, a whole life: longest slice {max(longest.values()):,} instructions")


def skip_without(core: str) -> None:
    if lacking := emulator.missing(core):
        pytest.skip(f"an emulated {core} needs {', '.join(lacking)}; tools/install_emulators.sh installs it")


@pytest.mark.parametrize("core", [core for core in emulator.BOARDS if core != "cortex-m4"])
def test_other_cores_give_the_bits_of_the_host(
    core: str,
    core_library: Callable[..., CoreLibrary],
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    """Arm, RISC-V and Xtensa, with and without an FPU, at another optimisation than the M4F's."""
    skip_without(core)
    rows = stream(2.0)
    config, programs = learner("default", len(rows), updates=50, train_every=30, **SMALL)
    board = on_board(core_library(core, "-O1"), config, programs, rows, tmp_path)
    assert_same_bits(board.state, on_host(config, programs, rows))
    assert board.state["updates"] == 50
    stack = board.figures["stack_bytes"]
    assert 0 < stack <= emulator.STACK_BYTES
    record_property("figure", f"emulated {core}, 50 updates: the host's bits; {stack:,} bytes of stack")


@pytest.mark.parametrize("core", emulator.BOARDS)
def test_image_holds_no_heap_no_stdio_and_no_double(
    core: str, core_library: Callable[..., CoreLibrary], tmp_path: Path
) -> None:
    skip_without(core)
    config, programs = learner("default", 2000, **SMALL)
    optimise = "-O3" if core == "cortex-m4" else "-O1"
    names = emulator.symbols(emulator.build_firmware(core_library(core, optimise), config, programs, tmp_path))
    assert {"main", "tu_learner_advance", "plant_known"} <= names
    assert not [name for name in names if HEAP_STDIO_DOUBLE.fullmatch(name)]


@pytest.mark.parametrize("core", ["cortex-m4", "rv32imafc", "esp32"])
def test_too_small_a_stack_is_a_fault(core: str, core_library: Callable[..., CoreLibrary], tmp_path: Path) -> None:
    skip_without(core)
    config, programs = learner("default", 2000, updates=50, **SMALL)
    optimise = "-O3" if core == "cortex-m4" else "-O1"
    with pytest.raises(TinyUDEError, match="failed"):
        on_board(core_library(core, optimise), config, programs, stream(2.0), tmp_path, stack_bytes=512)


@pytest.mark.parametrize("core", ["cortex-m4", "rv32imac"])
def test_firmware_compiles_without_a_warning(core: str, tmp_path: Path) -> None:
    """What a kind of processor brings; test_core_hygiene compiles what all share."""
    skip_without(core)
    toolchain = emulator.BOARDS[core].toolchain
    sources = [path for path in emulator.firmware_sources(core) if path.parent.name in toolchain.folders]
    strict = ["-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Werror", *emulator.includes()]
    assert compile_objects(core, sources, strict, tmp_path)


@needs_board
def test_linker_rejects_more_ram_than_the_board_has(core_library: Callable[..., CoreLibrary], tmp_path: Path) -> None:
    config, programs = learner("default", 60_000)
    whole = emulator.build_firmware(core_library("cortex-m4"), config, programs, tmp_path)
    exact = emulator.build_firmware(core_library("cortex-m4"), config, programs, tmp_path, whole.ram_bytes)
    assert exact.ram_bytes == whole.ram_bytes >= native.memory(config)["total"] + emulator.STACK_BYTES
    with pytest.raises(TinyUDEError, match="RAM"):
        emulator.build_firmware(core_library("cortex-m4"), config, programs, tmp_path, whole.ram_bytes - 4)


@needs_board
def test_readme_example_runs_in_any_folder(tmp_path: Path) -> None:
    example = re.findall(r"```python\n(.*?)```", (ROOT / "firmware" / "README.md").read_text(), re.DOTALL)[0]
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    command = [sys.executable, "-c", example]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[0]) > 100_000


def test_config_header_names_every_field_of_the_core() -> None:
    config, _ = learner("default", 60_000)
    config = replace(config, inputs=1, linear=(1,), shift=(0,))  # the fields of inputs
    written = re.findall(r"^    \.(\w+) =", config_header(config, 8, "plant"), re.MULTILINE)
    public = (ROOT / "core" / "include" / "tinyude.h").read_text()
    body = re.sub(r"/\*.*?\*/", "", public, flags=re.DOTALL).split("typedef struct tu_config {")[1].split("}")[0]
    assert sorted(written) == sorted(re.findall(r"(\w+)(?:\[\d+\])?;", body))


def test_config_header_rejects_a_prefix_that_c_cannot_name() -> None:
    with pytest.raises(TinyUDEError, match="'1st' cannot start a C name"):
        config_header(learner("default", 60_000)[0], 8, "1st")


def test_compile_core_rejects_an_unknown_core(tmp_path: Path) -> None:
    with pytest.raises(TinyUDEError, match="'cortex-m9'; use one of cortex-m4"):
        emulator.compile_core("cortex-m9", tmp_path)
