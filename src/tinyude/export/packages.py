"""One source, a package for each kind of board: what goes around `src/`."""

from __future__ import annotations

from tinyude import __version__, native
from tinyude.errors import TinyUDEError
from tinyude.export.chip import Chip
from tinyude.export.estimate import Estimate, estimates
from tinyude.export.sources import check_prefix, chip_facts, environment, learner_files, predictor_files, service_facts

LONGEST_LAG = 16  # samples, of the difference that stands for a rate in an example
ESP32_PINS = (0, *range(3, 8), *range(10, 20))  # analogue inputs that Arduino names on the first ESP32: not A1, A2
_CORES: dict[str, str | tuple[str, ...]] = {"cortex-m": "cortex-m", "esp-idf": ("esp32", "rv32")}  # others: any
# Path in the package: template. {name} is the prefix.
TARGETS: dict[str, dict[str, str]] = {
    "arduino": {
        "library.properties": "arduino/library.properties.jinja",
        "examples/{name}/{name}.ino": "arduino/sketch.jinja",
    },
    "platformio": {
        "library.json": "platformio/library.json.jinja",
        "examples/{name}/platformio.ini": "platformio/platformio.ini.jinja",
        "examples/{name}/src/main.cpp": "arduino/sketch.jinja",
    },
    "esp-idf": {
        "idf_component.yml": "esp-idf/idf_component.yml.jinja",
        "CMakeLists.txt": "esp-idf/CMakeLists.txt.jinja",
        "examples/{name}/CMakeLists.txt": "esp-idf/project.cmake.jinja",
        "examples/{name}/sdkconfig.defaults": "esp-idf/sdkconfig.defaults.jinja",
        "examples/{name}/main/CMakeLists.txt": "esp-idf/main.cmake.jinja",
        "examples/{name}/main/idf_component.yml": "esp-idf/main.yml.jinja",
        "examples/{name}/main/main.c": "esp-idf/main.c.jinja",
    },
    "zephyr": {
        "zephyr/module.yml": "zephyr/module.yml.jinja",
        "zephyr/Kconfig": "zephyr/Kconfig.jinja",
        "zephyr/CMakeLists.txt": "zephyr/CMakeLists.txt.jinja",
        "west.yml": "zephyr/west.yml.jinja",
        "samples/{name}/CMakeLists.txt": "zephyr/project.cmake.jinja",
        "samples/{name}/prj.conf": "zephyr/prj.conf.jinja",
        "samples/{name}/sample.yaml": "zephyr/sample.yaml.jinja",
        "samples/{name}/src/main.c": "zephyr/main.c.jinja",
    },
    "cortex-m": {
        "Makefile": "cortex-m/Makefile.jinja",
        "board.ld": "cortex-m/board.ld.jinja",
        "startup.c": "cortex-m/startup.c.jinja",
        "sensor.c": "cortex-m/sensor.c.jinja",
        "main.c": "cortex-m/main.c.jinja",
    },
    "c": {
        "Makefile": "c/Makefile.jinja",
        "main.c": "c/main.c.jinja",
    },
}

# In addition, for a learner's state across power cuts.
STORAGE: dict[str, dict[str, str]] = {
    "arduino": {"examples/{name}/storage.cpp": "arduino/storage.jinja", "examples/{name}/storage.h": "storage.h.jinja"},
    "platformio": {
        "examples/{name}/src/storage.cpp": "arduino/storage.jinja",
        "examples/{name}/src/storage.h": "storage.h.jinja",
    },
    "esp-idf": {
        "examples/{name}/partitions.csv": "esp-idf/partitions.csv.jinja",
        "examples/{name}/main/storage.h": "storage.h.jinja",
        "examples/{name}/main/storage_nvs.c": "esp-idf/storage_nvs.c.jinja",
        "examples/{name}/main/storage_partition.c": "esp-idf/storage_partition.c.jinja",
    },
    "zephyr": {
        "samples/{name}/src/storage.h": "storage.h.jinja",
        "samples/{name}/src/storage_flash.c": "zephyr/storage_flash.c.jinja",
        "samples/{name}/src/storage_settings.c": "zephyr/storage_settings.c.jinja",
        "samples/{name}/storage_flash.conf": "zephyr/storage_flash.conf.jinja",
        "samples/{name}/storage_settings.conf": "zephyr/storage_settings.conf.jinja",
    },
    "cortex-m": {"state_flash.c": "cortex-m/state_flash.c.jinja", "storage.h": "storage.h.jinja"},
    "c": {"state_files.c": "c/state_files.c.jinja", "storage.h": "storage.h.jinja"},
}
AREAS = 8  # for saved states in the flash of an example: as many times the life of one


def export_files(chip: Chip, target: str, prefix: str, inference_only: bool = False) -> dict[str, str]:
    """Every file of a package, path to text; the same chip always gives the same texts, on any machine."""
    if target not in TARGETS:
        raise TinyUDEError(f"target is {target!r}; use one of {', '.join(TARGETS)}, fmu.")
    check_prefix(prefix)
    files = predictor_files(chip, prefix) if inference_only else learner_files(chip, prefix)
    templates = environment()
    facts = chip_facts(chip, prefix) | {
        "target": target,
        "learns": not inference_only,
        "version": __version__,
        "sources": sorted(path.removeprefix("src/") for path in files if path.endswith(".c")),
        "memory": {} if inference_only else native.memory(chip.config, "float32"),
        "estimates": _estimates_for(target, chip, inference_only),
        "service": {} if inference_only else service_facts(chip),
        "pins": [f"A{i}" for i in range(len(chip.measured))],
        "esp32_pins": [f"A{i}" for i in ESP32_PINS[: len(chip.measured)]],
        "areas": AREAS,
        "lag": min(chip.start.window_half, LONGEST_LAG) if chip.start else LONGEST_LAG,
    }
    around = {"README.md": "README.md.jinja", **TARGETS[target], **({} if inference_only else STORAGE[target])}
    return files | {
        path.format(name=prefix): templates.get_template(name).render(facts) for path, name in around.items()
    }


def _estimates_for(target: str, chip: Chip, inference_only: bool) -> list[Estimate]:
    """On the processors that a package may be built for."""
    cores = _CORES.get(target, "")
    return [estimate for core, estimate in estimates(chip, inference_only).items() if core.startswith(cores)]
