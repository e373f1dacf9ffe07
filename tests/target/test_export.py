"""Exports of systems that the package has never seen, built from their folders alone."""

import re
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tool_calls import call

import tinyude as tu
from tinyude import native
from tinyude.experiments.board import emulator
from tinyude.export import TARGETS, Chip, chip_of_model, export_files, write_folder
from tinyude.export.boards import toolchains as boards
from tinyude.export.estimate import PROCESSORS, estimates
from tinyude.export.footprint import STACK_RESERVED, build_image, footprint, image_footprint, missing_for
from tinyude.export.wire import fifo_depth
from tinyude.model.kernel import KernelNetwork

HERE = Path(__file__).parent
STUBS = HERE / "stubs"
STRICT = ["-Wall", "-Wextra", "-Wdouble-promotion", "-Wconversion", "-Werror", "-O1", "-c"]
M4 = " ".join(boards.BOARDS["cortex-m4"].flags)
# Heap, stdio and double precision; picolibc's __math_invalidf is in single precision.
FORBIDDEN = r" (_?malloc\w*|_?free\w*|_?sbrk\w*|\w*printf\w*|_?write\w*|__aeabi_d\w+|__(?!math_)\w+df\w*)$"
EXAMPLES = {
    "arduino": "examples/rig/rig.ino",
    "platformio": "examples/rig/src/main.cpp",
    "esp-idf": "examples/rig/main/main.c",
    "zephyr": "samples/rig/src/main.c",
    "cortex-m": "main.c",
    "c": "main.c",
}
Record = Callable[[str, object], None]
pytestmark = pytest.mark.skipif(not native.available(), reason="an arena's size needs the compiled core")


def heater(seconds: float) -> tuple[np.ndarray, np.ndarray]:
    """A heated plate and the sensor on it, cooled by what the model leaves out; and the heating."""
    rng = np.random.default_rng(5)
    period, state = 0.02, np.zeros(2)
    states, inputs = [], []
    for index in range(round(seconds / period)):
        power = inputs[-1] if index % 60 else rng.uniform(0.0, 4.0)
        states.append(state)
        inputs.append(power)
        for _ in range(4):
            plate, sensor = state
            cooling = 0.3 * plate + 0.05 * plate * abs(plate)
            state = state + period / 4 * np.array([2.0 * power - cooling, 1.5 * (plate - sensor)])
    samples = np.array(states) + 0.002 * rng.standard_normal((len(states), 2))
    return samples, np.array(inputs)[:, None]


@pytest.fixture(scope="module")
def plate() -> tuple[Chip, np.ndarray]:
    """A system with an input, every state measured, its network kept; and rows of its stream."""
    samples, inputs = heater(60.0)
    physics = tu.Physics(["T", "S"], ["2.0*P", "k*(T - S)"], inputs=["P"], parameters={"k": 1.5})
    ude = tu.UDE(physics, hidden=(6, 5), updates=200, library=["T"]).fit(samples, t=0.02, u=inputs)
    return chip_of_model(ude), np.hstack([samples, inputs])


@pytest.fixture(scope="module")
def swing() -> tuple[Chip, np.ndarray]:
    """A pendulum of which only the angle is sensed, and its length is learned; and rows of its stream."""
    plant = tu.systems.pendulum()
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-(g/L)*sin(theta)"],
        parameters={"g": 9.81, "L": tu.Parameter(1.1, learn=True, min=0.5, max=2.0)},
    )  # fmt: skip
    _, samples = plant.stream(noise=0.005, seed=3, seconds=12.0)
    angle = samples[::5, :1]
    ude = tu.UDE(physics, hidden=(4,), updates=100, measured=["theta"]).fit(angle, t=0.005)
    return chip_of_model(ude), angle


def exported(chip: Chip, target: str, folder: Path, prefix: str = "rig", inference_only: bool = False) -> Path:
    write_folder(folder, export_files(chip, target, prefix, inference_only), {})
    return folder


@pytest.mark.parametrize("inference_only", [False, True], ids=["learner", "predictor"])
@pytest.mark.parametrize("target", TARGETS)
def test_examples_compile_without_a_warning(
    target: str, inference_only: bool, plate: tuple[Chip, Any], swing: tuple[Chip, Any], tmp_path: Path
) -> None:
    for name, chip, channels in (("plate", plate[0], 2), ("swing", swing[0], 1)):
        folder = exported(chip, target, tmp_path / name, inference_only=inference_only)
        includes = ["-Isrc", f"-I{STUBS / ('arduino' if target == 'platformio' else target)}"]
        defines = [f"-DSTUB_CHANNELS={channels}", "-DCLOCK_HZ=16000000u"]
        example = EXAMPLES[target]
        plus = not example.endswith(".c")
        flags = [*STRICT, *(["-x", "c++", "-std=c++11"] if plus else ["-std=gnu11"]), *includes]
        tools = [
            ("g++" if plus else "gcc", []),
            (f"arm-none-eabi-{'g++' if plus else 'gcc'}", ["-mthumb", *M4.split()]),
        ]
        for compiler, core in tools:
            call([compiler, *flags, *core, *defines, example, "-o", "example.o"], folder)
        if target == "zephyr":  # a board without channels
            call(["gcc", *flags, example, "-o", "example.o"], folder)
        adapters = [*folder.glob("state_*.c"), *folder.glob("*s/**/storage*.c*")]  # neither headers nor the core's
        for storage in (path for path in adapters if path.suffix in (".c", ".cpp")):
            own = ["-DSAVE_SECONDS=60"] if target == "cortex-m" else ["-DARDUINO_ARCH_RP2040"]
            language = ["-x", "c++", "-std=c++11"] if storage.suffix == ".cpp" else ["-std=gnu11"]
            compiler = "arm-none-eabi-gcc" if target == "cortex-m" else "gcc"
            core = ["-mthumb", *M4.split()] if target == "cortex-m" else []
            call([compiler, *STRICT, *language, *includes, *core, *own, storage, "-o", "storage.o"], folder)
        if target == "cortex-m" and not inference_only:
            call(["make", "--silent", "EXTRA_CFLAGS=-DSAVE_SECONDS=60 -Werror"], folder)
        if target == "arduino":
            pico = ["-DARDUINO_ARCH_RP2040"]
            call(["g++", *flags, *pico, example, "-o", "example.o"], folder)
        if target == "arduino":  # its first ESP32 names no A1 and no A2
            esp32 = ["-DARDUINO_ARCH_ESP32", "-DCONFIG_IDF_TARGET_ESP32", f"-I{STUBS / 'esp-idf'}"]
            call(["g++", *flags, *esp32, example, "-o", "example.o"], folder)


@pytest.mark.parametrize("inference_only", [False, True], ids=["learner", "predictor"])
def test_sources_compile_without_a_warning(
    inference_only: bool, plate: tuple[Chip, Any], swing: tuple[Chip, Any], tmp_path: Path
) -> None:
    """What was generated; the core has tests of its own."""
    for name, chip in (("plate", plate[0]), ("swing", swing[0])):
        folder = exported(chip, "c", tmp_path / name, inference_only=inference_only)
        sources = sorted(path.relative_to(folder) for path in (folder / "src").glob("*.c"))
        call(["gcc", "-std=c99", "-Wpedantic", *STRICT, *sources], folder)
        call(["arm-none-eabi-gcc", "-std=c99", "-Wpedantic", *STRICT, "-mthumb", *M4.split(), *sources], folder)


def test_header_is_valid_cpp(plate: tuple[Chip, Any], tmp_path: Path) -> None:
    folder = exported(plate[0], "c", tmp_path)
    (folder / "user.cpp").write_text('#include "rig.h"\nint main() { return rig_start(); }\n')
    call(["g++", "-Wpedantic", *STRICT, "-Isrc", "user.cpp"], folder)


@pytest.mark.parametrize("board", ["cortex-m4", "cortex-m0plus"])
def test_cortex_m_builds_from_its_folder_alone(board: str, swing: tuple[Chip, Any], tmp_path: Path) -> None:
    """No heap, no stdio, no double in the image, with an FPU and without."""
    folder = exported(swing[0], "cortex-m", tmp_path)
    call(["make", "--silent", f"CPU={' '.join(boards.BOARDS[board].flags)}"], folder)
    symbols = call(["arm-none-eabi-nm", "rig.elf"], folder)
    assert "rig_start" in symbols
    assert re.findall(FORBIDDEN, symbols, re.MULTILINE) == []
    ram = placed(call(["arm-none-eabi-readelf", "-SW", "rig.elf"], folder))[1]
    service = native.service_bytes(swing[0].config, fifo_depth(swing[0]))
    assert 0 <= ram - native.memory(swing[0].config)["total"] - service - STACK_RESERVED < 400  # the C library's


def placed(sections: str) -> tuple[int, int]:
    """Flash and RAM by readelf's list of sections: what is loaded, and what can be written or is only reserved."""
    rows = re.findall(r"\] \S+ +(PROGBITS|NOBITS|INIT_ARRAY) +\w+ \w+ (\w+) \w+ +(W?)A", sections)
    flash = sum(int(size, 16) for kind, size, _ in rows if kind != "NOBITS")
    return flash, sum(int(size, 16) for kind, size, written in rows if kind == "NOBITS" or written)


def test_footprint_is_what_the_makefile_builds(swing: tuple[Chip, Any], tmp_path: Path) -> None:
    folder = exported(swing[0], "cortex-m", tmp_path)
    call(["make", "--silent"], folder)
    found = footprint(swing[0], "cortex-m4", "rig")
    flash, ram = boards.linked_bytes("cortex-m4", folder / "rig.elf")
    assert (found.flash_bytes, found.ram_bytes) == (flash, ram)


@pytest.mark.parametrize("core", PROCESSORS)
def test_footprint_is_what_the_linker_reports(
    core: str, swing: tuple[Chip, Any], tmp_path: Path, record_property: Record
) -> None:
    """And what the README estimates is near it."""
    if lacking := missing_for(core):
        pytest.skip(f"{', '.join(lacking)} not found")
    chip, prefix = swing[0], boards.BOARDS[core].toolchain.prefix
    elf = build_image(chip, core, tmp_path)
    found = image_footprint(core, elf)
    assert (found.flash_bytes, found.ram_bytes) == placed(call([f"{prefix}readelf", "-SW", elf], tmp_path))
    symbols = call([f"{prefix}nm", "-S", elf], tmp_path)
    assert int(re.findall(r" (\w+) b arena$", symbols, re.MULTILINE)[0], 16) == native.memory(chip.config)["total"]
    assert re.findall(FORBIDDEN, symbols, re.MULTILINE) == []
    told = estimates(chip, inference_only=False)[core]
    assert told.flash_bytes == pytest.approx(found.flash_bytes, rel=0.02)
    assert 0.9 * told.stack_bytes < found.stack_bytes <= told.stack_bytes
    record_property(
        "figure",
        f"export on {core}: flash {found.flash_bytes:,}, RAM {found.ram_bytes:,} of which the arena takes "
        f"{native.memory(chip.config)['total']:,}, deepest stack {found.stack_bytes:,} bytes",
    )


@pytest.mark.parametrize("core", PROCESSORS)
def test_predictor_takes_what_its_readme_estimates(core: str, plate: tuple[Chip, Any], tmp_path: Path) -> None:
    if lacking := missing_for(core):
        pytest.skip(f"{', '.join(lacking)} not found")
    found = image_footprint(core, build_image(plate[0], core, tmp_path, inference_only=True))
    told = estimates(plate[0], inference_only=True)[core]
    assert told.flash_bytes == pytest.approx(found.flash_bytes, abs=1000)
    assert 0.4 * told.stack_bytes < found.stack_bytes <= told.stack_bytes


def test_update_takes_what_its_readme_estimates(
    plate: tuple[Chip, np.ndarray], core_library: Callable[..., emulator.CoreLibrary], tmp_path: Path
) -> None:
    if lacking := emulator.missing():
        pytest.skip(f"{', '.join(lacking)} not found")
    chip, rows = plate
    config = replace(chip.config, calibration=1000, updates=40, judged=False)  # one that is judged then rests
    firmware = emulator.build_firmware(core_library("cortex-m4"), config, chip.programs, tmp_path)
    counted = emulator.run(firmware, rows).figures["update_instructions"]
    told = estimates(chip, inference_only=False)["cortex-m4"].update_instructions
    assert told == pytest.approx(counted, rel=0.08)


def test_predictor_takes_no_ram(plate: tuple[Chip, Any], tmp_path: Path, record_property: Record) -> None:
    folder = exported(plate[0], "cortex-m", tmp_path, inference_only=True)
    call(["make", "--silent", "STACK_BYTES=512"], folder)
    objects = sorted((folder / "build" / "src").rglob("*.o"))
    sizes = [line.split() for line in call(["arm-none-eabi-size", *objects], folder).splitlines()[1:]]
    assert sum(int(data) + int(bss) for _, data, bss, *_ in sizes) == 0
    text, data, bss = (int(n) for n in call(["arm-none-eabi-size", "rig.elf"], folder).splitlines()[1].split()[:3])
    assert data + bss - 512 < 300
    record_property("figure", f"predictor on cortex-m4: flash {text + data:,}, RAM {data + bss:,} with 512 of stack")


def test_arena_above_a_limit_does_not_compile(plate: tuple[Chip, Any], tmp_path: Path) -> None:
    folder = exported(plate[0], "c", tmp_path)
    arena = native.memory(plate[0].config)["total"] + native.host_bytes(plate[0].config)
    call(["gcc", *STRICT, f"-DRIG_RAM_LIMIT={arena}u", "src/rig.c"], folder)
    rejected = subprocess.run(
        ["gcc", *STRICT, f"-DRIG_RAM_LIMIT={arena - 1}u", "src/rig.c"], cwd=folder, capture_output=True, text=True
    )
    assert "rig_arena_is_within_limit" in rejected.stderr


@pytest.mark.parametrize("second", [False, True], ids=["two learners", "learner and predictor"])
def test_two_exports_share_one_core_in_a_firmware(
    second: bool, plate: tuple[Chip, Any], swing: tuple[Chip, Any], tmp_path: Path
) -> None:
    """As archives, the way Arduino (dot_a_linkage), PlatformIO and ESP-IDF link libraries."""
    parts = {"plate": exported(plate[0], "arduino", tmp_path / "plate", "plate", inference_only=second),
             "swing": exported(swing[0], "arduino", tmp_path / "swing", "swing")}  # fmt: skip
    (tmp_path / "main.c").write_text(
        '#include "plate.h"\n#include "swing.h"\n#include <stdio.h>\nint main(void) {\n'
        "    const float x[2] = {0.5f, 0.25f}, u[1] = {1.0f}, row[1] = {0.5f};\n    float a[2], b[2];\n"
        f"    {'' if second else 'if (plate_start() != TU_OK) return 1;'}\n    if (swing_start() != TU_OK) return 1;\n"
        "    swing_push(row);\n    (void)plate_predict(x, u, a);\n    (void)swing_predict(x, 0, b);\n"
        '    printf("%.9g %.9g\\n", (double)a[0], (double)b[1]);\n    return 0;\n}\n'
    )
    archives = []
    for name, folder in parts.items():
        call(["gcc", "-std=c99", "-O1", "-ffp-contract=off", "-c", *folder.rglob("src/**/*.c")], folder)
        archives.append(folder / f"lib{name}.a")
        call(["ar", "rcs", archives[-1], *folder.glob("*.o")], folder)
    includes = [f"-I{folder / 'src'}" for folder in parts.values()]
    for order in (archives, archives[::-1]):
        call(["gcc", *includes, "main.c", *order, "-lm", "-o", "both"], tmp_path)
        answers = [float(word) for word in call([tmp_path / "both"], tmp_path).split()]
        expected = [host_predictions(chip, np.array([[0.5, 0.25, 1.0][:width]], np.float32))[0] for chip, width in
                    ((plate[0], 3), (swing[0], 2))]  # fmt: skip
        assert np.float32(answers).tolist() == [float(expected[0][0]), float(expected[1][1])]
    listed = call(["nm", "both"], tmp_path)
    assert len(re.findall(r" T tu_learner_push$", listed, re.MULTILINE)) == 1


ADAPTERS = {
    "ESP-IDF, a partition": ("esp-idf", "examples/model/main/storage_partition.c"),
    "ESP-IDF, NVS": ("esp-idf", "examples/model/main/storage_nvs.c"),
    "Zephyr, a flash area": ("zephyr", "samples/model/src/storage_flash.c"),
    "Zephyr, settings": ("zephyr", "samples/model/src/storage_settings.c"),
    "Arduino, LittleFS": ("arduino", "examples/model/storage.cpp"),
    "files": ("c", "state_files.c"),
}


@pytest.mark.parametrize("adapter", ADAPTERS)
def test_state_survives_power_cuts_in_every_storage_of_the_examples(
    adapter: str, plate: tuple[Chip, Any], tmp_path: Path
) -> None:
    """Each adapter on the host, over a flash or settings that behave as their documentation says."""
    target, storage = ADAPTERS[adapter]
    folder = exported(plate[0].without_network(), target, tmp_path, "model")
    includes = ["-Isrc", *(f"-I{STUBS / name}" for name in ("esp-idf", "zephyr", "arduino"))]
    esp32 = ["-DARDUINO_ARCH_ESP32"]
    call(["gcc", "-std=gnu11", "-O1", "-ffp-contract=off", "-c", *includes, *folder.glob("src/**/*.c")], folder)
    driver = [HERE / "c" / "keeps.c", *([storage] if storage.endswith(".c") else [])]
    beside = f"-I{(folder / storage).parent}"
    call(["gcc", "-std=gnu11", *includes, beside, "-c", *driver], folder)
    plus = [HERE / "c" / "fakes.cpp", *([storage] if storage.endswith(".cpp") else [])]
    call(["g++", *includes, beside, *esp32, *plus, *folder.glob("*.o"), "-lm", "-o", "keeps"], folder)
    assert int(call([folder / "keeps"], folder).split()[0]) >= 8


def host_learner(chip: Chip) -> native.NativeLearner:
    learner = native.NativeLearner(chip.config, chip.programs, "float32")
    assert chip.start is not None
    learner.start(chip.start)
    return learner


def host_predictions(chip: Chip, points: np.ndarray, learner: native.NativeLearner | None = None) -> np.ndarray:
    """dx/dt in float32, by the host's compiled core."""
    x, u = points[:, : chip.config.states], points[:, chip.config.states :]
    dx = native.NativeKnown(chip.programs, "float32").evaluate("field", x, u)
    dx[:, list(chip.config.on)] += (learner or host_learner(chip)).residual(x, u).astype(np.float32)
    return dx


def points_of(chip: Chip) -> np.ndarray:
    assert chip.start is not None
    scale = np.concatenate([chip.start.x_scale, chip.start.u_scale])
    return (np.random.default_rng(1).uniform(-1.5, 1.5, (7, len(scale))) * scale).astype(np.float32)


def write_driver(folder: Path, chip: Chip, rows: np.ndarray) -> None:
    """The driver in the place of the example, with its data."""

    def table(name: str, values: np.ndarray) -> str:
        lines = ",\n".join("{" + ", ".join(f"{value.hex()}f" for value in row.tolist()) + "}" for row in values)
        return f"static const float {name}[{len(values)}][{values.shape[1]}] = {{\n{lines}}};\n"

    points = points_of(chip)
    text = f"enum {{ ROWS = {len(rows)}, POINTS = {len(points)} }};\n{table('points', points)}"
    (folder / "rows.h").write_text(f"{text}#ifdef LEARNS\n{table('rows', rows)}#endif\n")
    shutil.copy(HERE / "c" / "exported.c", folder / "main.c")


def bits(values: np.ndarray) -> list[str]:
    return [f"{number:08x}" for number in values.astype(np.float32).ravel().view(np.uint32)]


@pytest.mark.parametrize("system", ["plate", "swing"])
@pytest.mark.parametrize("machine", ["host", "cortex-m4"])
def test_exported_learner_starts_from_the_model_and_goes_on_learning(
    machine: str, system: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    """The same bits as the host's float32 core, before and after a stretch of the stream."""
    chip, rows = request.getfixturevalue(system)
    chip = replace(chip, config=replace(chip.config, judged=False))  # trained whether or not it is needed
    rows = rows[-1500:].astype(np.float32)
    folder = exported(chip, "c" if machine == "host" else "cortex-m", tmp_path, "model")
    write_driver(folder, chip, rows)
    told = run_on(machine, folder, "-DLEARNS")
    learner, points = host_learner(chip), points_of(chip)
    before = host_predictions(chip, points, learner)
    learner.push(rows)
    after = host_predictions(chip, points, learner)
    assert told == bits(before) + bits(after)
    state = learner.state()
    assert state["accepted"] > 100
    assert not np.array_equal(state["average"], chip.start.weights.astype(np.float32))


@pytest.mark.parametrize("system", ["plate", "swing"])
@pytest.mark.parametrize("machine", ["host", "cortex-m4"])
def test_exported_predictor_gives_the_bits_of_the_learner(
    machine: str, system: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    chip, rows = request.getfixturevalue(system)
    folder = exported(chip, "c" if machine == "host" else "cortex-m", tmp_path, "model", inference_only=True)
    write_driver(folder, chip, rows[:1].astype(np.float32))
    assert run_on(machine, folder) == bits(host_predictions(chip, points_of(chip)))


@pytest.mark.parametrize("inference_only", [False, True], ids=["learner", "predictor"])
def test_kernel_network_of_forty_units_gives_the_bits_of_the_host_within_32_kilobytes(
    inference_only: bool, swing: tuple[Chip, np.ndarray], tmp_path: Path, record_property: Record
) -> None:
    """Frozen on a board: the terms and the perceptron learn on beside it."""
    rng, size = np.random.default_rng(6), (1, 40, 3)
    curve = KernelNetwork(
        on=(1,), sees=(0, 1), angles=(0,), offset=np.zeros(3), centres=rng.uniform(-1.0, 1.0, size),
        inverse_lengths=np.array([[1.5, 1.0, 0.5]]), weights=0.1 * rng.standard_normal(size[:2]),
        linear=0.1 * rng.standard_normal((1, 4)),
    )  # fmt: skip
    chip, rows = replace(swing[0], kernel=curve).resized(512, compact=True), swing[1][-800:].astype(np.float32)
    folder = exported(chip, "cortex-m", tmp_path, "model", inference_only)
    write_driver(folder, chip, rows)
    told = run_on("cortex-m4", folder, *([] if inference_only else ["-DLEARNS"]))
    learner, points = host_learner(chip), points_of(chip)
    expected = bits(host_predictions(chip, points, learner))
    if not inference_only:
        learner.push(rows)
        expected += bits(host_predictions(chip, points, learner))
    assert told == expected != bits(host_predictions(swing[0], points))
    found = image_footprint("cortex-m4", build_image(chip, "cortex-m4", tmp_path / "size", inference_only))
    assert found.ram_bytes <= 32 * 1024 and found.stack_bytes <= STACK_RESERVED
    record_property("figure", f"kernel network of 40 units: {found}")


def run_on(machine: str, folder: Path, *defines: str) -> list[str]:
    """Build the folder with its own Makefile and run it, here or on QEMU's Cortex-M4."""
    if machine == "host":
        flags = f"CFLAGS=-std=c99 -O1 -ffp-contract=off {' '.join(defines)}"
        call(["make", "--silent", flags], folder)
        return call([folder / "model"], folder).split()
    if lacking := missing_for("cortex-m4"):
        pytest.skip(f"{', '.join(lacking)} not found")
    call(["make", "--silent", "FLASH_START=0", f"EXTRA_CFLAGS={' '.join(['-std=gnu99', *defines])}"], folder)
    emulator = ["qemu-system-arm", "-machine", "mps2-an386", "-kernel", "model.elf"]
    output = ["-chardev", "stdio,id=out", "-semihosting-config", "enable=on,target=native,chardev=out"]
    return call([*emulator, *output, "-display", "none", "-monitor", "none", "-serial", "none"], folder).split()


def test_exported_example_reads_a_log_on_the_host(swing: tuple[Chip, np.ndarray], tmp_path: Path) -> None:
    folder = exported(swing[0], "c", tmp_path)
    call(["make", "--silent"], folder)
    log = "\n".join(f"{value:.6g}" for value in swing[1][:, 0])
    done = subprocess.run([folder / "rig"], input=log, capture_output=True, text=True, check=True)
    rates = np.array([line.split() for line in done.stdout.splitlines()], float)
    assert len(rates) == len(swing[1]) // 200  # once a second
    learner, rows = host_learner(swing[0]), swing[1].astype(np.float32)
    lag = int(re.findall(r"LAG = (\d+)", (folder / "main.c").read_text())[0])
    for second, found in enumerate(rates, 1):
        learner.push(rows[200 * (second - 1) : 200 * second])
        angle, before = rows[200 * second - 1, 0], rows[200 * second - 1 - lag, 0]
        state = np.array([[angle, (angle - before) / (lag * swing[0].config.sample_period)]], np.float32)
        assert found == pytest.approx(host_predictions(swing[0], state, learner)[0], rel=1e-3, abs=1e-3)


def test_esp_idf_manifest_passes_compote(plate: tuple[Chip, Any], tmp_path: Path) -> None:
    folder = exported(plate[0], "esp-idf", tmp_path / "rig")
    call(["compote", "component", "pack", "--name", "rig", "--dest-dir", tmp_path / "packed"], folder)
    assert (tmp_path / "packed" / "rig_0.1.0.tgz").is_file()


def test_zephyr_manifest_passes_west(plate: tuple[Chip, Any], tmp_path: Path) -> None:
    folder = exported(plate[0], "zephyr", tmp_path / "rig")
    manifest = folder / "west.yml"
    offline = re.sub(r"      import:\n(?:        .*\n)+", "", manifest.read_text())  # Zephyr's own needs the network
    manifest.write_text(offline)
    call(["west", "init", "-l", "rig"], tmp_path)
    call(["west", "manifest", "--validate"], folder)
