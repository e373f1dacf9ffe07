"""What the learner costs: instructions on an emulated Cortex-M4F, time on this host, bytes of memory.

Times vary between machines, so they are compared with slower methods within one run, each by its shortest time: a busy
machine then favours none of them. Instruction counts are exactly repeatable; they are not cycles.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from tinyude import native
from tinyude.baselines import MultipleShooting
from tinyude.baselines.diffrax_shooting import DiffraxShooting
from tinyude.baselines.diffrax_shooting import missing as missing_for_diffrax
from tinyude.estimator.ude import UDE
from tinyude.experiments.board import emulator
from tinyude.experiments.costs.cost_curve import cost_curve
from tinyude.export.boards.memory_presets import board_config
from tinyude.physics.library import default_terms
from tinyude.reference.config import Config
from tinyude.systems import pendulum
from tinyude.systems.system import System
from tinyude.training.engines import ReferenceLearner
from tinyude.training.known import KnownPrograms, known_functions, known_programs

Figures = dict[str, Any]
Moved = Callable[[int, int], None]
NOISE = 0.01
CHIP_SECONDS = 14.0  # of the stream of an emulated learner, half of it for calibration
SHARE = 10  # factor by which the reference engine's record and updates are shortened; its time is multiplied by it
ITERATIONS = 60  # of multiple shooting that are timed
STEPS, REPEATS = 2000, 5
SHORT = 20  # updates per timed interval, short enough to fall between two interruptions
# The 2-16-16-2 network of the paper with and without its second-order term; the default at one and at all nodes.
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "first order": ("paper-v2", {"second_order": 0.0}),
    "second order": ("paper-v2", {"snr_gate": 0.0}),
    "default, one node": ("default", {"network_nodes": 1}),
    "default": ("default", {}),
}


def measure(moved: Moved) -> Figures:
    """All figures; those of the emulator only if it is installed."""
    cases = CASES if emulator.available() else {}
    total = len(cases) + 4
    figures: Figures = {"chip": {}, "memory": memory()}
    with tempfile.TemporaryDirectory() as folder:
        library = emulator.compile_core("cortex-m4", Path(folder)) if cases else None
        for done, name in enumerate(cases, 1):
            moved(done, total)
            assert library is not None
            figures["chip"][name] = _chip(name, library, Path(folder) / name.replace(" ", "-"))
    moved(total - 2, total)
    figures["host"] = host()
    moved(total - 1, total)
    figures["growth"] = cost_curve()
    moved(total, total)
    return figures


def memory() -> Figures:
    """Bytes by part at 2048 reservoir entries, in both storage formats."""
    return {
        kind: {name: native.memory(_learner(name, 60_000, compact=compact)[0]) for name in CASES}
        for kind, compact in (("float32", False), ("int16", True))
    }


def host() -> Figures:
    """The paper's learner on a minute at 1 kHz: float32 and float64, the reference engine, multiple shooting.

    Also multiple shooting in Diffrax if that is installed; XLA's compilation time is not counted.
    """
    plant = pendulum()
    _, samples = plant.stream(noise=NOISE, seed=0)
    single, model = _fit_seconds(plant, samples, precision="float32")
    double, _ = _fit_seconds(plant, samples, precision="float64")
    reference = SHARE * _reference_seconds(plant, samples)
    shooting, solver = _shooting_seconds(MultipleShooting(plant.physics), plant, samples)
    update, slow_update = _update_microseconds()
    figures = {
        "update, microseconds": update,
        "update of the reference engine, microseconds": slow_update,
        "fit, seconds": single,
        "fit in float64, seconds": double,
        "fit of the reference engine, seconds": reference,
        "fit of multiple shooting, seconds": shooting,
        "times faster than the reference engine": reference / single,
        "times faster than multiple shooting": shooting / single,
        "field error": plant.field_error(model.predict),
        f"field error of multiple shooting after {ITERATIONS} iterations": plant.field_error(solver.predict),
    }
    if not missing_for_diffrax():
        shooting, solver = _shooting_seconds(DiffraxShooting(plant.physics), plant, samples)
        figures |= {
            "fit of Diffrax shooting, seconds": shooting,
            "compilation of Diffrax shooting, seconds": solver.diagnostics_["compile_seconds"],
            "times faster than Diffrax shooting": shooting / single,
            f"field error of Diffrax shooting after {ITERATIONS} iterations": plant.field_error(solver.predict),
        }
    return figures


def over_budget(figures: Figures, budgets: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A line for each figure that exceeds its budget; figures that were not measured are skipped."""
    flat = dict(flatten(figures))
    lines = []
    for name, limit in budgets.get("most", {}).items():
        if flat.get(name, limit) > limit:
            lines.append(f"{name} is {flat[name]:,.6g}, above its budget of {limit:,.6g}")
    for name, limit in budgets.get("least", {}).items():
        if flat.get(name, limit) < limit:
            lines.append(f"{name} is {flat[name]:,.6g}, below the {limit:,.6g} it must reach")
    return lines


def flatten(figures: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    """Figures by name as in the file of budgets, such as "chip/first order/update"."""
    for name, value in figures.items():
        if isinstance(value, Mapping):
            yield from flatten(value, f"{above}{name}/")
        else:
            yield f"{above}{name}", value


def _learner(name: str, samples: int, **settings: Any) -> tuple[Config, KnownPrograms]:
    preset, chosen = CASES[name]
    physics = pendulum().physics
    terms = default_terms(physics, {}) if preset == "default" else []
    config = board_config(physics, preset, samples=samples, terms=terms, **{**chosen, **settings})
    return config, known_programs(physics, terms, config.on)


def _chip(name: str, library: emulator.CoreLibrary, folder: Path) -> Figures:
    """Without training while streaming, so that the cost of a sample is measured alone."""
    _, samples = pendulum().stream(noise=NOISE, seed=0, seconds=CHIP_SECONDS)
    half = len(samples) // 2
    config, programs = _learner(name, len(samples), calibration=half, train_every=0, updates=1)
    firmware = emulator.build_firmware(library, config, programs, folder)
    found = emulator.run(firmware, samples).figures
    return {
        "update": found["update_instructions"],
        "sample": found["learning_instructions"] / found["learning_samples"],
        "sample while calibrating": found["calibration_instructions"] / found["calibration_samples"],
        "longest push": found["learning_longest_push"],
        "arena, bytes": found["arena_bytes"],
        "stack, bytes": found["stack_bytes"],
        "flash, bytes": firmware.flash_bytes,
    }


def _seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def _fit_seconds(plant: System, samples: NDArray[Any], precision: str) -> tuple[float, UDE]:
    ude = UDE(plant.physics, preset="paper-v2", precision=precision)
    return min(_seconds(lambda: ude.fit(samples, t=1.0 / plant.rate)) for _ in range(REPEATS)), ude


def _reference_seconds(plant: System, samples: NDArray[Any]) -> float:
    """Time of a full fit, scaled from one with fewer samples and updates: both costs are proportional."""
    ude = UDE(plant.physics, preset="paper-v2", engine="reference", updates=8000 // SHARE)
    part = samples[: len(samples) // SHARE]
    return min(_seconds(lambda: ude.fit(part, t=1.0 / plant.rate)) for _ in range(REPEATS))


def _shooting_seconds(
    shooting: MultipleShooting, plant: System, samples: NDArray[Any]
) -> tuple[float, MultipleShooting]:
    """Time of all iterations at the speed of the quickest of the first few: a lower bound."""
    iterations, times = shooting.iterations, list[float]()
    shooting.set_params(iterations=ITERATIONS)
    shooting.fit(samples, t=1.0 / plant.rate, progress=lambda done, total: times.append(time.perf_counter()))
    return iterations * min(after - before for before, after in pairwise(times)), shooting


def _update_microseconds() -> tuple[float, float]:
    """One first-order update in float32, and one of the reference engine."""
    plant = pendulum()
    _, samples = plant.stream(noise=NOISE, seed=0, seconds=CHIP_SECONDS)
    config, programs = _learner("first order", len(samples), train_every=0)
    quick = native.NativeLearner(config, programs, "float32")
    quick.push(samples)
    slow = ReferenceLearner(config, known_functions(plant.physics, [], config.on))
    slow.push(samples[: config.calibration + 2000])
    fast = min(_seconds(lambda: quick.step(SHORT)) for _ in range(STEPS // SHORT)) / SHORT
    return 1e6 * fast, 1e6 * _seconds(lambda: slow.step(STEPS // 20)) / (STEPS // 20)
