"""The learner on a board: every noise level, both plants, small memories (paper, on-device validation at one point).

The board is an emulated Cortex-M4F that receives samples one by one at 1 kHz, trains at 25 Hz meanwhile and makes the
remaining updates at the end. Counts are instructions under emulation.
"""

from __future__ import annotations

from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tinyude.experiments.board import emulator
from tinyude.experiments.board.board_run import CORE, run_device, size_bytes
from tinyude.experiments.board.cycles import MICROAMPERE_A_MEGAHERTZ, MICROJOULE_A_CYCLE, VOLT, run_cycles
from tinyude.experiments.drawing import LOOKS, bars, curve, noise_ticks, panels
from tinyude.experiments.experiment import (
    Outcome,
    Result,
    Summary,
    Table,
    Unit,
    against_paper,
    damping_stats,
    number,
    percent,
    select,
    spread,
    stats,
)
from tinyude.experiments.fits import NOISES
from tinyude.export.boards.memory_presets import SMALL
from tinyude.report.figures import BLUE, GREY, INK, ORANGE, styled

NAME = "device"
TITLE = "The learner on a board"
SYSTEMS = ("pendulum", "double pendulum")
PRESETS = ("paper-v2", "default")
RESERVOIRS = (2048, 512, 128)
NOISE = 0.01  # in the comparison of sizes, and in the paper's only run
TRAINING_RATE, CLOCK = 25.0, 100e6  # updates per second; Hz of the STM32F411 of the energy estimate
SEEDS, UPDATES = (0, 1, 2), 8000
QUICK_NOISES, QUICK_SECONDS, QUICK_UPDATES = (0.01, 0.05), 20.0, 2000
PAPER: dict[str, Any] = {
    "error": 0.0020, "damping": 0.400, "rejected": 780 / 12_000, "bytes": 61_300, "milliseconds": 7.24, "clock": 240e6,
    "simulated": 0.00218,
}  # fmt: skip


def units(quick: bool) -> list[Unit]:
    if not emulator.available(CORE):
        return []
    noises, seeds = (QUICK_NOISES, SEEDS[:1]) if quick else (NOISES, SEEDS)
    levels = [
        device_unit(quick, system=system, preset=preset, noise=noise, seed=seed)
        for system in SYSTEMS
        for preset in PRESETS
        for noise in noises
        for seed in seeds
    ]
    smaller = [
        device_unit(quick, system=system, preset=preset, reservoir=reservoir, seed=seed)
        for system in (SYSTEMS[:1] if quick else SYSTEMS)
        for preset in (PRESETS[1:] if quick else PRESETS)
        for reservoir in RESERVOIRS[1:]
        for seed in seeds
    ]
    small = [
        device_unit(quick, size=size, library=library, seed=seed)
        for size in SMALL
        for library in (True, False)
        for seed in seeds
    ]
    return levels + smaller + small + [Unit(run_cycles, {"cycles_of": preset}, 8.0) for preset in PRESETS]


def device_unit(
    quick: bool, *, system: str = "pendulum", preset: str = "default", noise: float = NOISE, reservoir: int = 2048,
    size: str | None = None, library: bool = True, seed: int = 0,
) -> Unit:  # fmt: skip
    """One run of a learner on the board; `library` is that of the default preset."""
    config = {
        "system": system, "preset": preset, "noise": noise, "seed": seed, "size": size, "library": library,
        "reservoir": None if size else reservoir, "seconds": QUICK_SECONDS if quick else None,
        "updates": QUICK_UPDATES if quick else UPDATES,
    }  # fmt: skip
    return Unit(run_device, config, 3.0 if quick else 10.0)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    summary: Summary = {
        "noises": QUICK_NOISES if quick else NOISES,
        "seeds": SEEDS[:1] if quick else SEEDS,
        "paper": PAPER,
        "levels": {},
        "quick": quick,
        "quick_words": f"two noise levels, {QUICK_SECONDS:g} s of stream, {QUICK_UPDATES:,} updates",
    }
    if not outcomes:
        lacking = ", ".join(emulator.missing(CORE))
        note = f"Not run: an emulated board needs {lacking}; tools/install_emulators.sh installs the tools."
        return {**summary, "notes": [note]}
    for system in SYSTEMS:
        for preset in PRESETS:
            chosen = {"system": system, "preset": preset, "size": None, "reservoir": RESERVOIRS[0]}
            summary["levels"][f"{system}, {preset}"] = [
                _entry(select(outcomes, noise=noise, **chosen)) for noise in summary["noises"]
            ]
    summary["sizes"] = _sizes(outcomes)
    summary["estimates"] = {preset: _estimate(select(outcomes, cycles_of=preset)[0]) for preset in PRESETS}
    return {**summary, "notes": _notes(summary)}


def _entry(results: list[Result]) -> dict[str, Any]:
    """One row, over its seeds."""
    hosts = [result["host"] for result in results]
    means = ("rejected", "update", "sample")
    return {
        "error": stats(results),
        "host": stats(hosts),
        "damping": damping_stats(results),
        "host_damping": damping_stats(hosts),
        **{key: stats(results, key)["mean"] for key in means},
        **{key: max(result[key] for result in results) for key in ("arena", "stack", "ram", "flash")},
    }


def _sizes(outcomes: list[Outcome]) -> dict[str, dict[str, Any]]:
    """Learners by memory, all at the noise level of the paper's only run."""
    found = {}
    for system in SYSTEMS:
        for preset in PRESETS:
            for reservoir in RESERVOIRS:
                chosen = select(outcomes, system=system, preset=preset, noise=NOISE, size=None, reservoir=reservoir)
                if chosen:
                    found[f"{system}, {preset}, B = {reservoir}"] = _entry(chosen)
    for size in SMALL:
        for library, words in ((True, ""), (False, ", network alone")):
            found[f"pendulum, size {size}{words}"] = _entry(select(outcomes, size=size, library=library))
    return found


def _estimate(traced: Result) -> dict[str, Any]:
    """Cycles of an update, and its time and energy at a given clock and current."""
    microjoule = traced["cycles"] * MICROJOULE_A_CYCLE
    return {
        **traced,
        "milliseconds": 1e3 * traced["cycles"] / CLOCK,
        "duty": traced["cycles"] * TRAINING_RATE / CLOCK,
        "microjoule": microjoule,
        "joule_a_run": 1e-6 * microjoule * UPDATES,
    }


def _notes(summary: Summary) -> list[str]:
    v2 = summary["levels"]["pendulum, paper-v2"][summary["noises"].index(NOISE)]
    default = summary["levels"]["pendulum, default"][summary["noises"].index(NOISE)]
    estimate = summary["estimates"]["paper-v2"]
    notes = [
        against_paper("v2 on the board at 1 % noise, field error", v2["error"]["mean"], PAPER["error"]),
        f"Damping there: {number(v2['damping']['mean'])} (the paper 0.400); windows rejected: "
        f"{percent(round(v2['rejected'], 4))} (the paper 6.5 %). The default: error "
        f"{number(default['error']['mean'])}, damping {number(default['damping']['mean'], 4)}.",
        _against_host(summary),
        f"An update of v2 takes {v2['update']:,.0f} instructions under emulation and a sample {v2['sample']:,.0f} "
        f"without its updates; the default takes {default['update']:,.0f} and {default['sample']:,.0f}.",
        f"Estimated, not measured: Arm's cycle table times the instructions run gives {estimate['cycles']:,.0f} cycles "
        f"an update of v2, {estimate['milliseconds']:.1f} ms at {CLOCK / 1e6:g} MHz and "
        f"{estimate['microjoule']:.0f} uJ at {MICROAMPERE_A_MEGAHERTZ:g} uA/MHz and {VOLT:g} V (an STM32F411 by its "
        "data sheet); stalls and wait states are left out. The paper measured 7.24 ms on an ESP32 at 240 MHz, about "
        "1.74 million cycles.",
    ]
    for size in SMALL:
        entry, alone = (summary["sizes"][f"pendulum, size {size}{words}"] for words in ("", ", network alone"))
        notes.append(
            f"In {size_bytes(size):,} B, which the linker enforced: {entry['ram']:,} B of RAM in total (the paper's "
            f"arrays alone 61.3 kB), error {number(entry['error']['mean'])} at 1 % noise, and "
            f"{number(alone['error']['mean'])} by its network without a library (the paper's simulation 0.0022)."
        )
    return notes


def _against_host(summary: Summary) -> str:
    """The error of float32 on the board over that of float64 on the host; without noise, it may be rounding alone."""
    ratios = [
        board / host
        for entries in summary["levels"].values()
        for noise, entry in zip(summary["noises"], entries, strict=True)
        if noise > 0.0
        for board, host in zip(entry["error"]["values"], entry["host"]["values"], strict=True)
    ]
    return (
        f"The board's float32 error is {min(ratios):.2f} to {max(ratios):.2f} times that of the float64 host run with "
        f"the same configuration, over {len(ratios)} runs with noise."
    )


def figure(summary: Summary) -> Figure | None:
    return _figure(summary) if summary["levels"] else None


@styled
def _figure(summary: Summary) -> Figure:
    caption = (
        "Emulated Cortex-M4F, float32, B = 2048, 1 kHz, 25 Hz; rings: float64 on the host; star: the paper's ESP32. "
        "Right: learners with their error at 1 % noise, 'network alone' without a library."
    )
    drawn, (left, middle, right) = panels(3, 4.1, summary, caption)
    for axes, system in ((left, SYSTEMS[0]), (middle, SYSTEMS[1])):
        at = noise_ticks(axes, summary["noises"])
        for preset in PRESETS:
            entries = summary["levels"][f"{system}, {preset}"]
            curve(axes, preset, at, [entry["error"] for entry in entries])
            host = [entry["host"]["mean"] for entry in entries]
            axes.plot(at, host, "o", color=LOOKS[preset][1], markersize=11, markerfacecolor="none")
        axes.set(yscale="log", title=f"The {system}", xlabel="sensor noise")
        axes.margins(x=0.12)
        axes.tick_params(axis="x", labelsize=8.0)
    left.plot(at[summary["noises"].index(NOISE)], PAPER["error"], "*", color=INK, markersize=12)
    left.set_ylabel("relative field error")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    _draw_memory(right, summary)
    return drawn


def _draw_memory(axes: Axes, summary: Summary) -> None:
    """RAM of the single pendulum's learners, with their errors."""
    sizes = {name: entry for name, entry in summary["sizes"].items() if name.startswith("pendulum, ")}
    names = [f"paper, error {PAPER['error']:.2g}"]
    for name, entry in sizes.items():
        names.append(f"{name.removeprefix('pendulum, ')}, {number(entry['error']['mean'], 2)}")
    colours = [GREY, *(ORANGE if "paper-v2" in name else BLUE for name in sizes)]
    bars(axes, names, [PAPER["bytes"] / 1e3, *(entry["ram"] / 1e3 for entry in sizes.values())], colours)
    axes.tick_params(axis="y", labelsize=8.0)
    axes.margins(x=0.2)
    axes.set(xlabel="RAM with stack [kB]", title="RAM and error")


def tables(summary: Summary) -> list[Table]:
    header = [
        "learner", "noise", "field error", "float64 host", "damping", "float64 host", "windows rejected", "arena [B]",
        "instructions an update", "a sample",
    ]  # fmt: skip
    rows = [
        [name, percent(noise), *_cells(entry)]
        for name, entries in summary["levels"].items()
        for noise, entry in zip(summary["noises"], entries, strict=True)
    ]
    paper = [
        "paper's ESP32, v2", percent(NOISE), number(PAPER["error"]), f"{number(PAPER['simulated'])} (B = 4096)", "0.4",
        "0.397", "6.5 %", f"{PAPER['bytes']:,}", "7.24 ms", "-",
    ]  # fmt: skip
    made = [Table("B = 2048 at every noise level (instructions under emulation)", header, [paper, *rows])]
    if not summary["levels"]:
        return made
    sizes = [
        [name, *_cells(entry), f"{entry['stack']:,}", f"{entry['ram']:,}", f"{entry['flash']:,}"]
        for name, entry in summary["sizes"].items()
    ]
    more = ["stack used [B]", "RAM linked [B]", "flash [B]"]
    made.append(Table("Memory against accuracy at 1 % noise", [header[0], *header[2:], *more], sizes))
    return [*made, _estimates(summary["estimates"])]


def _cells(entry: dict[str, Any]) -> list[str]:
    return [
        spread(entry["error"]), spread(entry["host"]), number(entry["damping"]["mean"], 4),
        number(entry["host_damping"]["mean"], 4), percent(round(entry["rejected"], 4)), f"{entry['arena']:,}",
        f"{entry['update']:,.0f}", f"{entry['sample']:,.0f}",
    ]  # fmt: skip


def _estimates(estimates: dict[str, dict[str, Any]]) -> Table:
    lines = [
        ("instructions an update, traced", "instructions", ",.0f"),
        ("cycles by Arm's table", "cycles", ",.0f"),
        (f"milliseconds at {CLOCK / 1e6:g} MHz", "milliseconds", ".2f"),
        ("share of the time at 25 Hz", "duty", ".1%"),
        (f"microjoule at {MICROAMPERE_A_MEGAHERTZ:g} uA/MHz, {VOLT:g} V", "microjoule", ".0f"),
        (f"joule of {UPDATES:,} updates", "joule_a_run", ".2g"),
    ]
    rows = [[name, *(format(estimates[preset][key], form) for preset in PRESETS)] for name, key, form in lines]
    return Table("Estimates for a Cortex-M4F, no measurement", ["quantity", *(LOOKS[p][0] for p in PRESETS)], rows)
