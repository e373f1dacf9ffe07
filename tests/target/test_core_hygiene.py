"""The C core by itself: strict compilers, static analysis, sanitizers, coverage, and what its objects contain."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from tool_calls import call

import tinyude as tu
from tinyude.export.boards.memory_presets import board_config
from tinyude.export.codegen import c_source, config_header
from tinyude.training.known import known_programs

ROOT = Path(__file__).parents[2]
CORE = ROOT / "core"
DRIVERS = Path(__file__).parent / "c"
SOURCES = sorted((CORE / "src").rglob("*.c"))
INCLUDES = [f"-I{CORE / folder}" for folder in ("include", "src", "src/numeric")]
STRICT = [
    "-std=c99", "-Wall", "-Wextra", "-Wpedantic", "-Wconversion", "-Wdouble-promotion", "-Wvla", "-Werror",
    "-ffp-contract=off",
]  # fmt: skip
SANITIZERS = ["-fsanitize=address,undefined,float-cast-overflow", "-fno-sanitize-recover=all"]
PRECISIONS = {"float": [], "double": ["-DTU_REAL_DOUBLE"]}
ARM = ["-mcpu=cortex-m4", "-mthumb", "-mfloat-abi=hard", "-mfpu=fpv4-sp-d16"]
HOSTILE_SAMPLES = 1_000_000
LEAST_LINES, LEAST_BRANCHES = 95.0, 90.0
Record = Callable[[str, object], None]


def build_drivers(folder: Path, flags: Sequence[str]) -> list[Path]:
    """The C drivers with the core; flags are for both."""
    base = ["gcc", "-std=c99", "-ffp-contract=off", *INCLUDES, *flags]
    call([*base, "-c", *SOURCES], folder)
    shared = [DRIVERS / "plant.c", DRIVERS / "setups.c"]
    programs = []
    for name in ("functions", "training", "rejections", "service", "flash", "forged", "hostile"):
        program = folder / name
        call([*base, DRIVERS / f"{name}.c", *shared, *folder.glob("*.o"), "-lm", "-o", program], folder)
        programs.append(program)
    return programs


@pytest.fixture(scope="module")
def arm_objects(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """The core for a Cortex-M4F, in float."""
    folder = tmp_path_factory.mktemp("arm")
    call(["arm-none-eabi-gcc", *STRICT, "-O2", *ARM, *INCLUDES, "-c", *SOURCES], folder)
    return sorted(folder.glob("*.o"))


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("compiler", ["gcc", "clang", "arm-none-eabi-gcc"])
def test_core_compiles_without_a_warning(compiler: str, precision: str, tmp_path: Path) -> None:
    target = ARM if compiler.startswith("arm") else []
    call([compiler, *STRICT, *target, *PRECISIONS[precision], "-O1", *INCLUDES, "-c", *SOURCES], tmp_path)


def test_firmware_compiles_without_a_warning(tmp_path: Path) -> None:
    physics = tu.systems.pendulum().physics
    config = board_config(physics)
    (tmp_path / "plant_config.h").write_text(config_header(config, 8, "plant"))
    (tmp_path / "plant.c").write_text(c_source(known_programs(physics, [], config.on), "plant", config=config))
    sources = [*sorted((ROOT / "firmware").glob("*.c")), tmp_path / "plant.c"]
    call(["arm-none-eabi-gcc", *STRICT, *ARM, *INCLUDES, f"-I{tmp_path}", "-O1", "-c", *sources], tmp_path)


@pytest.mark.parametrize("precision", PRECISIONS)
def test_core_passes_static_analysis(precision: str, tmp_path: Path) -> None:
    options = ["--quiet", "--std=c99", "--enable=warning,performance,portability", "--error-exitcode=1"]
    call(["cppcheck", *options, "--inline-suppr", *INCLUDES, *PRECISIONS[precision], CORE / "src"], tmp_path)


def test_core_objects_need_arithmetic_and_memory_moves_only(arm_objects: list[Path], tmp_path: Path) -> None:
    """No heap, no output, no double: whatever is not the core's own is on this list."""
    listing = call(["arm-none-eabi-nm", *arm_objects], tmp_path)
    defined = set(re.findall(r"^[0-9a-f]+ [A-Za-z] (\S+)$", listing, re.MULTILINE))
    wanted = set(re.findall(r"^ +U (\S+)$", listing, re.MULTILINE))
    assert "tu_learner_push" in defined
    assert wanted - defined <= {"memcpy", "memset", "memmove", "memcmp", "sqrtf", "__aeabi_uldivmod", "__aeabi_lmul"}


def test_core_objects_hold_no_writable_data(arm_objects: list[Path], tmp_path: Path, record_property: Record) -> None:
    sizes = [line.split() for line in call(["arm-none-eabi-size", *arm_objects], tmp_path).splitlines()[1:]]
    assert sum(int(data) + int(bss) for _, data, bss, *_ in sizes) == 0
    text = sum(int(text) for text, *_ in sizes)
    record_property("figure", f"core for M4F at -O2: {text:,} bytes of code and constants, no writable data")


@pytest.mark.parametrize(
    ("precision", "samples"), [("float", HOSTILE_SAMPLES), ("double", HOSTILE_SAMPLES // 10)], ids=["float", "double"]
)
def test_hostile_samples_leave_weights_finite_and_memory_intact(
    precision: str, samples: int, tmp_path: Path, record_property: Record
) -> None:
    """After honest streams were learned, all under sanitizers, with the kernels in the shape that the chip has."""
    flags = ["-O1", "-g", "-DTU_TILE=4", *SANITIZERS, *PRECISIONS[precision]]
    *honest, hostile = build_drivers(tmp_path, flags)
    for program in honest:
        call([program], tmp_path)
    survived = int(re.findall(r"^(\d+) samples$", call([hostile, str(samples), "1"], tmp_path), re.MULTILINE)[0])
    assert survived >= samples
    record_property("figure", f"hostile stream, {precision}: {survived:,} samples survived under ASan and UBSan")


def test_drivers_cover_the_core_and_print_the_same_in_both_shapes(tmp_path: Path, record_property: Record) -> None:
    """The kernels' tiles on the chip and on the host. Inlining is off, so that a branch of the source counts once."""
    printed = []
    for tile in (4, 16):
        folder = tmp_path / str(tile)
        folder.mkdir()
        programs = build_drivers(folder, ["-O0", "--coverage", "-D__attribute__(x)=", f"-DTU_TILE={tile}"])
        arguments = {"hostile": ["50000", "3"]}
        printed.append([call([program, *arguments.get(program.name, [])], folder) for program in programs])
    assert printed[0] == printed[1]
    call(["gcovr", "--root", CORE, "--json-summary", "summary.json", tmp_path], tmp_path)
    summary = json.loads((tmp_path / "summary.json").read_text())
    lines, branches = float(summary["line_percent"]), float(summary["branch_percent"])
    record_property("figure", f"coverage of core/: {lines:.1f} % of lines, {branches:.1f} % of branches")
    assert lines >= LEAST_LINES
    assert branches >= LEAST_BRANCHES
