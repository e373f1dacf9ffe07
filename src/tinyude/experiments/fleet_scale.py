"""What a fleet costs on this computer: CPU time a unit, what Dask adds to a loop, two workers against one, memory.

Times are CPU times, which a loaded computer hardly changes; only threads and processes are compared by the clock, in
turns. Memory is what the worker's process holds.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.experiments.simulated_fleet import SimulatedFleet
from tinyude.fleet.cluster import connected, results
from tinyude.fleet.paths import Unit, find_units
from tinyude.fleet.run import OPTIONS
from tinyude.fleet.store import Store
from tinyude.fleet.work import Recipe, fit_unit
from tinyude.physics.file import load_physics_file

Progress = Callable[[int, int], None]
TERMS = ("omega", "tanh(20*omega)")
FLEET = SimulatedFleet(machines=6, weeks=2, seconds=30.0)
SMALL = SimulatedFleet(machines=10, weeks=1, seconds=8.0)
MANY = 150  # units over which memory must stay flat: minutes, not an hour
SETTLED = 50  # units after which it is first looked at
PLANNED = 10_000
REFINED = 4  # units that are refined, too
TURNS = 2  # of threads and processes


def measure(progress: Progress | None = None, many: int = MANY) -> dict[str, float]:
    """All figures; `many` units for the memory."""
    moved = progress or (lambda done, total: None)
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="tinyude-") as folder:
        units, recipe = _written(FLEET, Path(folder) / "large")
        small, quick = _written(SMALL, Path(folder) / "small")
        total = 4 * len(units) + many
        figures |= _plain_loop(units, recipe, Store(f"{folder}/loop"), "fit")
        refined = replace(recipe, options={"refine": True})
        figures |= _plain_loop(units[:REFINED], refined, Store(f"{folder}/refined"), "refined fit")
        moved(2 * len(units), total)
        for workers in (1, 2):
            figures |= _on_workers(units, recipe, Store(f"{folder}/workers-{workers}"), workers)
            moved((2 + workers) * len(units), total)
        figures["threads over processes"] = _threads_over_processes(small, quick)
        figures |= _memory(small, quick, many, lambda done: moved(4 * len(units) + done, total))
    one, two = figures["1 workers, CPU s a unit"], figures["2 workers, CPU s a unit"]
    figures["efficiency of 2 workers"] = one / two
    return figures


def table(figures: dict[str, float]) -> str:
    """The figures as Markdown, with a fleet of ten thousand planned from them."""
    fit, two = figures["fit, CPU s"], figures["2 workers, CPU s a unit"]
    rows = [
        ("fit of a 30 s log at 200 Hz", f"{fit:.2f} CPU s, coefficients off by {figures['fit, error']:.2%}"),
        (
            "the same, refined (`--refine`)",
            f"{figures['refined fit, CPU s']:.2f} CPU s, off by {figures['refined fit, error']:.2%}",
        ),
        ("machines a second and core", f"{1.0 / figures['1 workers, CPU s a unit']:.2f}"),
        (
            "overhead of Dask a unit",
            f"{1000.0 * figures['overhead, CPU s']:.1f} CPU ms, {figures['overhead']:.1%} of this fit",
        ),
        ("efficiency of two workers against one, by CPU time", f"{figures['efficiency of 2 workers']:.2f}"),
        ("two threads in one process against two processes, time", f"{figures['threads over processes']:.2f} times"),
        (f"memory of a worker after {SETTLED} units", f"{figures['memory settled, MB']:.0f} MB"),
        (
            f"memory of a worker after {figures['memory units']:,.0f} units",
            f"{figures['memory at the end, MB']:.0f} MB",
        ),
        (f"{PLANNED:,} machines on 2 cores, planned", _hours(PLANNED * two / 2)),
        (f"{PLANNED:,} machines on 64 cores, planned", _hours(PLANNED * two / 64)),
    ]
    return "\n".join(["| measured | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _hours(seconds: float) -> str:
    return f"{seconds / 3600.0:.1f} h" if seconds > 3600.0 else f"{seconds / 60.0:.0f} min"


def _written(fleet: SimulatedFleet, folder: Path) -> tuple[list[Unit], Recipe]:
    rig = load_physics_file(fleet.write(folder))
    return find_units(f"{folder}/logs/{{machine}}/{{date}}.parquet"), Recipe(rig, TERMS, OPTIONS)


def _plain_loop(units: Sequence[Unit], recipe: Recipe, store: Store, name: str) -> dict[str, float]:
    """CPU seconds of a fit, and the RMS of its coefficients' relative errors."""
    fit_unit(units[0], recipe, Store(""))  # imports and caches
    rows = [fit_unit(unit, recipe, store) for unit in units]
    errors = []
    for row, viscous, dry in zip(rows, *(part.ravel() for part in FLEET.coefficients()), strict=False):
        found = {entry["term"]: entry["coefficient"] for entry in row["terms"]}
        errors += [-found.get(term, 0.0) / true - 1.0 for term, true in zip(TERMS, (viscous, dry), strict=True)]
    used = float(np.mean([row["cpu_seconds"] for row in rows]))
    return {f"{name}, CPU s": used, f"{name}, error": float(np.sqrt(np.mean(np.square(errors))))}


def _threads_over_processes(units: Sequence[Unit], recipe: Recipe) -> float:
    """Time that two threads of one process take, over that of two processes; in turns, median."""
    distributed: Any = import_module("distributed")
    ratios = []
    with (
        connected(workers=2) as processes,
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as threads,
    ):
        for turn in range(1 + TURNS):
            took = [_elapsed(client, units, recipe) for client in (threads, processes)]
            ratios += [took[0] / took[1]] if turn else []  # the first is imports
    return float(np.median(ratios))


def _elapsed(client: Any, units: Sequence[Unit], recipe: Recipe) -> float:
    started = time.perf_counter()
    list(results(client, partial(fit_unit, recipe=recipe, store=Store("")), units))
    return time.perf_counter() - started


def _on_workers(units: Sequence[Unit], recipe: Recipe, store: Store, workers: int) -> dict[str, float]:
    """CPU seconds a unit of client, scheduler and workers together, and what of it is no fit."""
    with connected(workers=workers) as client:
        client.run(fit_unit, units[0], recipe, Store(""))
        before = time.process_time() + sum(client.run(time.process_time).values())
        work = partial(fit_unit, recipe=recipe, store=store)
        fits = sum(row["cpu_seconds"] for _, row, _ in results(client, work, units))
        used = time.process_time() + sum(client.run(time.process_time).values()) - before
    figures = {f"{workers} workers, CPU s a unit": used / len(units)}
    if workers == 1:
        figures |= {"overhead, CPU s": (used - fits) / len(units), "overhead": (used - fits) / fits}
    return figures


def _memory(units: Sequence[Unit], recipe: Recipe, many: int, moved: Callable[[int], None]) -> dict[str, float]:
    """Resident memory of one worker early and late; nothing is kept, so that every unit is fitted anew."""
    with connected(workers=1) as client:
        settled = 0.0
        turns = [units[i % len(units)] for i in range(many)]
        for done, _ in enumerate(results(client, partial(fit_unit, recipe=recipe, store=Store("")), turns), start=1):
            moved(done)
            if done == min(SETTLED, many // 2):
                settled = _resident(client)
        return {"memory settled, MB": settled, "memory at the end, MB": _resident(client), "memory units": float(many)}


def _resident(client: Any) -> float:
    return max(client.run(_own_memory).values())


def _own_memory() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
