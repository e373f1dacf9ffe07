"""Cost of a fleet on this computer: CPU time per unit, Dask's overhead over a loop, two workers against one, memory.

Times are CPU times, which depend less on the load than wall-clock times. Alternatives are measured alternately within
one run: a plain loop in a process without Dask, one worker, and two workers. Only threads and processes are compared by
wall-clock time. Memory is the resident memory of the worker's process.
"""

from __future__ import annotations

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.fleet.cluster import connected, one_thread_each, results
from tinyude.fleet.paths import Unit, find_units
from tinyude.fleet.store import Store
from tinyude.fleet.work import Recipe, fit_unit
from tinyude.physics.file import load_physics_file

Progress = Callable[[int, int], None]
TERMS = ("omega", "tanh(20*omega)")
FLEET = SimulatedFleet(machines=6, weeks=2, seconds=30.0)
RUNS = 4  # logs of FLEET's length in a unit: two thirds of a second, refined
LONG = SimulatedFleet(machines=4 * RUNS, weeks=1, seconds=30.0, spread=0.0)
IDLE = 5.0  # seconds for which an idle cluster is measured
SMALL = SimulatedFleet(machines=10, weeks=1, seconds=8.0)
MANY = 1000  # units over which memory must stay constant
LOOKS = (0.1, 0.25, 0.5, 1.0)  # shares of them after which it is measured
PLANNED = 10_000
REFINED = 4  # units that are also refined
ROUNDS = 4  # of loop, one worker and two
REPEATS = 3  # of threads and processes


def measure(progress: Progress | None = None, many: int = MANY, rounds: int = ROUNDS) -> dict[str, Any]:
    """All figures, with `many` units for the memory and `rounds` of loop, one worker and two workers."""
    moved = progress or (lambda done, total: None)
    figures: dict[str, Any] = {}
    with tempfile.TemporaryDirectory(prefix="tinyude-") as folder:
        units, recipe = _written(FLEET, Path(folder) / "usual")
        logs, _ = _written(LONG, Path(folder) / "long")
        refined = replace(recipe, options={})
        long = [_joined(logs[start : start + RUNS]) for start in range(0, len(logs), RUNS)]
        small, quick = _written(SMALL, Path(folder) / "small")
        seconds = 30 * rounds  # of the comparison, roughly
        total = seconds + many
        figures |= _fits(units, recipe, "fit")
        figures |= _fits(units[:REFINED], refined, "refined fit")
        done = 0
        for number, arms in enumerate(_compared(long, refined, rounds)):
            figures = figures | arms
            done = round(seconds * (number + 1) / rounds)
            moved(done, total)
        figures["threads over processes"] = _threads_over_processes(units, recipe)
        figures["memory, MB"] = _memory(small, quick, many, lambda count: moved(done + count, total))
    return figures | {"load": os.getloadavg()[2], "cores": os.cpu_count()}


def table(figures: dict[str, Any]) -> str:
    """The figures as Markdown, with a fleet of ten thousand planned from them."""
    loop, two, usual = figures["loop, CPU s"], figures["2 workers, CPU s"], figures["fit, CPU s"]
    unit = usual + figures["Dask, CPU s"]  # independent of the fit
    refined = figures["refined fit, CPU s"] + figures["Dask, CPU s"]
    rows = [
        (
            "fit of a 30 s log at 200 Hz, `--no-refine`",
            f"{usual:.2f} CPU s, coefficients off by {figures['fit, error']:.2%}",
        ),
        (
            "the same, refined (the default)",
            f"{figures['refined fit, CPU s']:.2f} CPU s, off by {figures['refined fit, error']:.2%}",
        ),
        ("machines a second and core, 30 s logs, `--no-refine`", f"{1.0 / unit:.2f}"),
        ("the same, refined (the default)", f"{1.0 / refined:.2f}"),
        (f"fit of {RUNS} such logs as one unit, refined, in a plain loop", f"{loop:.2f} CPU s"),
        ("the same on a cluster with one worker", f"{figures['1 workers, CPU s']:.2f} CPU s"),
        ("overhead of the cluster for this fit", _with_error(figures["overhead"], "%")),
        ("the same with what Dask spent while others had the cores", _with_error(figures["busy overhead"], "%")),
        ("the same fit on two workers", f"{two:.2f} CPU s"),
        ("Dask's own part of it: client, scheduler, workers' loops", f"{1000.0 * figures['Dask, CPU s']:.0f} CPU ms"),
        ("Dask's part while it waits, one worker", f"{1000.0 * figures['idle']:.0f} CPU ms a second"),
        ("efficiency of two workers against one, by CPU time", _with_error(figures["efficiency"], "")),
        (
            f"two threads in one process against two processes, time, median of {REPEATS} repeats and range",
            "{1:.2f} times ({0:.2f} to {2:.2f})".format(*figures["threads over processes"]),
        ),
        *(
            (f"memory of a worker after {count:,} units", f"{value:.0f} MB")
            for count, value in figures["memory, MB"].items()
        ),
        *(
            (
                f"{PLANNED:,} machines on {cores} cores, planned",
                f"{_hours(PLANNED * refined / cores)} (`--no-refine` {_hours(PLANNED * unit / cores)})",
            )
            for cores in (2, 64)
        ),
        ("processes that wanted to run meanwhile", f"{figures['load']:.0f} on {figures['cores']} cores"),
    ]
    return "\n".join(["| measured | |", "|---|---|", *(f"| {name} | {value} |" for name, value in rows)])


def _with_error(figure: tuple[float, float], unit: str) -> str:
    value, error = figure
    return (
        f"{100 * value:.1f} % (standard error {100 * error:.1f})"
        if unit
        else f"{value:.2f} (standard error {error:.2f})"
    )


def _hours(seconds: float) -> str:
    return f"{seconds / 3600.0:.1f} h" if seconds > 3600.0 else f"{seconds / 60.0:.1f} min"


def _written(fleet: SimulatedFleet, folder: Path) -> tuple[list[Unit], Recipe]:
    rig = load_physics_file(fleet.write(folder))
    return find_units(f"{folder}/logs/{{machine}}/{{date}}.parquet"), Recipe(rig, TERMS).windows_only()


def _joined(logs: Sequence[Unit]) -> Unit:
    """One unit that consists of several logs."""
    return Unit(logs[0].machine, files=tuple(file for log in logs for file in log.files))


def _fits(units: Sequence[Unit], recipe: Recipe, name: str) -> dict[str, float]:
    """CPU seconds of a fit, and the RMS of its coefficients' relative errors."""
    fit_unit(units[0], recipe, Store(""))  # imports and caches
    rows = [fit_unit(unit, recipe, Store("")) for unit in units]
    errors = []
    for row, viscous, dry in zip(rows, *(part.ravel() for part in FLEET.coefficients()), strict=False):
        found = {entry["term"]: entry["coefficient"] for entry in row["terms"]}
        errors += [-found.get(term, 0.0) / true - 1.0 for term, true in zip(TERMS, (viscous, dry), strict=True)]
    used = float(np.mean([row["cpu_seconds"] for row in rows]))
    return {f"{name}, CPU s": used, f"{name}, error": float(np.sqrt(np.mean(np.square(errors))))}


def _compared(units: Sequence[Unit], recipe: Recipe, rounds: int) -> Iterator[dict[str, Any]]:
    """CPU seconds a unit in a plain loop, on one worker and on two, and their ratios; yields after each round."""
    used: list[list[float]] = []
    with tempfile.TemporaryDirectory(prefix="tinyude-") as folder, _plain_process() as plain:
        plain.submit(_loop, units[:1], recipe, Store("")).result()
        with connected(workers=2) as client:
            client.run(fit_unit, units[0], recipe, Store(""))
            idle = [_idle(client, count) for count in (1, 2)]
            for number in range(rounds):
                stores = [Store(f"{folder}/{number}-{arm}") for arm in range(3)]
                loop = plain.submit(_loop, units, recipe, stores[0]).result()
                one, _, waited = _on_workers(client, units, recipe, stores[1], 1)
                two, dask, waited_two = _on_workers(client, units, recipe, stores[2], 2)
                lost = idle[1] * waited_two
                used.append([loop, one - idle[0] * waited, two - lost, dask - lost, one])
                seconds = np.array(used) / len(units)
                loops, ones, twos, _, busy = seconds.T
                names = ("loop, CPU s", "1 workers, CPU s", "2 workers, CPU s", "Dask, CPU s")
                yield {
                    **dict(zip(names, map(float, seconds[:, :4].mean(axis=0)), strict=True)),
                    "overhead": _ratio(ones, loops, -1.0),
                    "busy overhead": _ratio(busy, loops, -1.0),
                    "efficiency": _ratio(ones, twos),
                    "idle": idle[0],
                }


def _idle(client: Any, count: int) -> float:
    """CPU seconds per second of an idle client, scheduler and workers."""
    workers = sorted(client.scheduler_info()["workers"])[:count]
    started, before = time.perf_counter(), _cpu_seconds(client, workers)
    time.sleep(IDLE)
    return (_cpu_seconds(client, workers) - before) / (time.perf_counter() - started)


def _cpu_seconds(client: Any, workers: Sequence[str]) -> float:
    return time.process_time() + float(sum(client.run(time.process_time, workers=workers).values()))


def _ratio(above: Any, below: Any, more: float = 0.0) -> tuple[float, float]:
    """Ratio of sums over the rounds, and its standard error."""
    ratio = float(np.sum(above) / np.sum(below))
    spread = np.std(above - ratio * below, ddof=1) / np.mean(below) if len(above) > 1 else np.nan
    return ratio + more, float(spread / np.sqrt(len(above)))


@contextmanager
def _plain_process() -> Iterator[ProcessPoolExecutor]:
    """A separate process, started before Dask changes what processes inherit."""
    with one_thread_each(), ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        pool.submit(time.process_time).result()
        yield pool


def _loop(units: Sequence[Unit], recipe: Recipe, store: Store) -> float:
    """CPU seconds of a plain loop."""
    before = time.process_time()
    for unit in units:
        fit_unit(unit, recipe, store)
    return time.process_time() - before


def _on_workers(
    client: Any, units: Sequence[Unit], recipe: Recipe, store: Store, count: int
) -> tuple[float, float, float]:
    """CPU seconds of client, scheduler and the workers used; the part of them that is not fitting; and the wall-clock
    seconds beyond those of the fits with one core per worker, when other processes had the cores and Dask kept polling.
    """
    workers = sorted(client.scheduler_info()["workers"])[:count]
    started, before = time.perf_counter(), _cpu_seconds(client, workers)
    rows = [row for _, row, _ in results(client, partial(_timed, recipe=recipe, store=store), units, workers=workers)]
    all_of_it = _cpu_seconds(client, workers) - before
    waited = time.perf_counter() - started - all_of_it / count
    return all_of_it, all_of_it - sum(rows), max(waited, 0.0)


def _timed(unit: Unit, recipe: Recipe, store: Store) -> float:
    """CPU seconds of a fit in its thread, without the worker's event loop."""
    before = time.thread_time()
    fit_unit(unit, recipe, store)
    return time.thread_time() - before


def _threads_over_processes(units: Sequence[Unit], recipe: Recipe) -> list[float]:
    """Time of two threads in one process over that of two processes, alternately: minimum, median and maximum."""
    distributed: Any = import_module("distributed")
    ratios = []
    with (
        connected(workers=2) as processes,
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as threads,
    ):
        for repeat in range(1 + REPEATS):
            took = [_elapsed(client, units, recipe) for client in (threads, processes)]
            ratios += [took[0] / took[1]] if repeat else []  # the first includes imports
    return [float(np.quantile(ratios, share)) for share in (0.0, 0.5, 1.0)]


def _elapsed(client: Any, units: Sequence[Unit], recipe: Recipe) -> float:
    started = time.perf_counter()
    list(results(client, partial(fit_unit, recipe=recipe, store=Store("")), units))
    return time.perf_counter() - started


def _memory(units: Sequence[Unit], recipe: Recipe, many: int, moved: Callable[[int], None]) -> dict[int, float]:
    """Resident memory of one worker by number of units; results are not cached, so every unit is fitted."""
    looks = [round(share * many) for share in LOOKS]
    held = {}
    with connected(workers=1) as client:
        repeated = [units[i % len(units)] for i in range(many)]
        for done, _ in enumerate(results(client, partial(fit_unit, recipe=recipe, store=Store("")), repeated), start=1):
            moved(done)
            if done in looks:
                held[done] = max(client.run(_own_memory).values())
    return held


def _own_memory() -> float:
    return float(import_module("psutil").Process().memory_info().rss) / 1e6
