"""Memory to the byte, multiply-accumulates and time of an update (paper, resource account)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from tinyude import native
from tinyude.experiments.drawing import PINK, SKY, YELLOW, bars, panels
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, select
from tinyude.experiments.fits import QUICK_ITERATIONS, jet_unit, solver_unit, train
from tinyude.experiments.paper.accounting import paper_arrays, projected_ms, work
from tinyude.report.figures import BLUE, GREEN, GREY, INK, ORANGE, styled
from tinyude.training.presets import chip_config

NAME = "resources"
TITLE = "Memory and work of an update"
NOISE = 0.01
SMALL = {"reservoir": 2048}
CHIP_TERMS = 4  # of the library, kept on the chip
PAPER = {
    "static_2048": 61_300, "static_4096": 108_100, "tape_40": 5.9e6, "tape_80": 11.8e6, "heap_40": 9.1e6,
    "work_jet": 184_960, "work_solver": 26.2e6, "projected_ms": 2.85, "measured_ms": 7.24,
}  # fmt: skip
PARTS = {"reservoir": ORANGE, "network": BLUE, "optimiser": SKY, "ring": GREEN, "scratch": YELLOW, "library": PINK}


def units(quick: bool) -> list[Unit]:
    return [
        jet_unit("paper-v2", NOISE, 0),
        jet_unit("paper-v2", NOISE, 0, settings=SMALL),
        jet_unit("default", NOISE, 0),
        Unit(run_chip, jet_unit("default", NOISE, 0).config, 3.0),
        solver_unit(NOISE, 0, quick),
        solver_unit(NOISE, 0, quick, 80),
    ]


def run_chip(config: Config) -> Result:
    """The arena by part of the default, sized for a microcontroller; empty without the compiled core."""
    _, model = train(config)
    return {"chip": native.memory(chip_config(model.config_, CHIP_TERMS)) if native.available() else {}}


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    def arena(method: str, settings: dict[str, Any]) -> dict[str, int]:
        found = next(r for c, r in outcomes if c["method"] == method and c["settings"] == settings)
        return _parts(found["diagnostics"]["memory"])

    arenas = {
        "v2, B = 4096": arena("paper-v2", {}),
        "v2, B = 2048": arena("paper-v2", SMALL),
        "default on a chip, B = 2048": _parts(next(r["chip"] for _, r in outcomes if "chip" in r)),
    }
    solver = {steps: select(outcomes, method="adjoint", steps=steps)[0]["diagnostics"] for steps in (40, 80)}
    paper = {size: paper_arrays(size) for size in (2048, 4096)}
    totals = {size: sum(arrays.values()) for size, arrays in paper.items()}
    chip = arenas["default on a chip, B = 2048"].get("total")
    notes = [
        f"The paper's arrays add up to {totals[2048]:,} B at B = 2048, the 61.3 kB it measured, and to "
        f"{totals[4096]:,} B at B = 4096 ({totals[4096] / 1024:.1f} KiB; it says 108.1 kB, which is neither "
        f"{totals[4096] / 1000:.1f} kB nor exactly that).",
        f"The solver's tape is {solver[40]['tape_bytes'] / 1e6:.1f} MB at K = 40 and "
        f"{solver[80]['tape_bytes'] / 1e6:.1f} MB at K = 80, as in the paper; its heap peaks at "
        f"{solver[40]['peak_heap_bytes'] / 1e6:.1f} MB here (the paper 9.1 MB).",
        f"An update with the second-order term takes {work(2):,} multiply-accumulates here (the paper counts 184,960) "
        f"and {work(1):,} without it; the latter holds at every noise level where the gate is closed, and always in "
        "the default.",
    ]
    if chip:
        small = arenas["v2, B = 2048"]
        notes.append(
            f"v2's arena takes {small['total']:,} B here at B = 2048, more than the paper's, because all working "
            f"memory is counted: {small.get('scratch', 0):,} B of it."
        )
        notes.append(
            f"The default on a chip, everything included (working memory, library, calibration), takes {chip:,} B: "
            f"{solver[40]['tape_bytes'] / chip:.0f} times less than the solver's tape."
        )
    else:
        notes.append("The compiled core is not available, so its arena could not be measured.")
    return {
        "paper": PAPER,
        "paper_arrays": paper,
        "paper_totals": totals,
        "arenas": arenas,
        "solver": {str(steps): diagnostics for steps, diagnostics in solver.items()},
        "work": {"order 1": work(1), "order 2": work(2)},
        "projected_ms": {"order 1": projected_ms(1), "order 2": projected_ms(2)},
        "quick": quick,
        "quick_words": f"{QUICK_ITERATIONS} solver iterations",
        "notes": notes,
    }


def _parts(memory: dict[str, int]) -> dict[str, int]:
    return {part: size for part, size in memory.items() if size}


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, right) = panels(2, 3.7, summary, "Single pendulum, 2-16-16-2 network, single precision, batch 64.")
    stacks = {"paper, B = 2048": _paper_parts(summary["paper_arrays"]["2048"])}
    stacks |= {name: parts for name, parts in summary["arenas"].items() if parts}
    for row, parts in enumerate(stacks.values()):
        start, rest = 0.0, parts.get("total", sum(parts.values()))
        for part, colour in PARTS.items():
            size = parts.get(part, 0) / 1000.0
            left.barh(
                row,
                size,
                left=start,
                color=colour,
                height=0.55,
                label=part if row == 0 or part not in stacks["paper, B = 2048"] else None,
            )
            start += size
        left.barh(row, rest / 1000.0 - start, left=start, color=GREY, height=0.55, label="other" if row == 0 else None)
        left.annotate(
            f"{rest / 1000.0:.1f} kB", (rest / 1000.0, row), (4, 0), textcoords="offset points", va="center", fontsize=9
        )
    left.set_yticks(range(len(stacks)), [name.replace(", ", ",\n") for name in stacks])
    left.invert_yaxis()
    left.margins(x=0.18)
    left.grid(axis="y", visible=False)
    left.set(xlabel="static memory [kB]", title="Where the bytes go")
    handles = dict(zip(*reversed(left.get_legend_handles_labels()), strict=True))
    drawn.legend(list(handles.values()), list(handles), loc="outside upper center", ncols=7, fontsize=8.5)
    diagnostics = summary["solver"]
    names = ["solver, K = 80", "solver, K = 40", "paper, jet", "jet, second order", "jet, first order"]
    values = [
        diagnostics["80"]["multiply_accumulates"],
        diagnostics["40"]["multiply_accumulates"],
        PAPER["work_jet"],
        summary["work"]["order 2"],
        summary["work"]["order 1"],
    ]
    bars(right, names, [value and value / 1e3 for value in values], [INK, INK, GREY, ORANGE, BLUE])
    right.set(xscale="log", xlabel="multiply-accumulates an update [thousands]", title="Work")
    right.margins(x=0.2)
    return drawn


def _paper_parts(arrays: dict[str, int]) -> dict[str, int]:
    reservoir, vectors, ring, *rest = arrays.values()
    return {
        "reservoir": reservoir,
        "network": 2 * vectors // 5,
        "optimiser": 3 * vectors // 5,
        "ring": ring,
        "scratch": sum(rest),
    }


def tables(summary: Summary) -> list[Table]:
    small, large = summary["paper_arrays"]["2048"], summary["paper_arrays"]["4096"]
    rows = [
        [name.replace("2048", "B"), f"{a:,}", f"{b:,}"]
        for (name, a), b in zip(small.items(), large.values(), strict=True)
    ]
    rows.append(["sum", f"{sum(small.values()):,}", f"{sum(large.values()):,}"])
    rows.append(["the paper says", "61.3 kB", "108.1 kB"])
    names = [name for name, parts in summary["arenas"].items() if parts]
    parts = list(dict.fromkeys(part for name in names for part in summary["arenas"][name] if part != "total"))
    ours = (
        [[part, *(f"{summary['arenas'][name].get(part, 0):,}" for name in names)] for part in [*parts, "total"]]
        if names
        else []
    )
    forty, eighty, projected = summary["solver"]["40"], summary["solver"]["80"], summary["projected_ms"]
    spent = [
        ["multiply-accumulates, solver K = 40", "26.2 million", f"{forty['multiply_accumulates'] / 1e6:.1f} million"],
        ["tape, K = 40", "5.9 MB", f"{forty['tape_bytes'] / 1e6:.1f} MB"],
        ["tape, K = 80", "11.8 MB", f"{eighty['tape_bytes'] / 1e6:.1f} MB"],
        ["peak heap, K = 40", "9.1 MB", f"{forty['peak_heap_bytes'] / 1e6:.1f} MB"],
        ["multiply-accumulates, jet with second order", "184,960", f"{summary['work']['order 2']:,}"],
        ["multiply-accumulates, jet without", "-", f"{summary['work']['order 1']:,}"],
        ["projected for an ESP32 with second order", "2.85 ms", f"{projected['order 2']:.2f} ms"],
        ["projected without", "-", f"{projected['order 1']:.2f} ms"],
        ["measured on an ESP32", "7.24 ms", "no board here"],
    ]  # fmt: skip
    made = [Table("The paper's static arrays [bytes]", ["array", "B = 2048", "B = 4096"], rows)]
    if ours:
        made.append(Table("The compiled core's arena, single precision [bytes]", ["part", *names], ours))
    return [*made, Table("Work and memory", ["quantity", "paper", "here"], spent)]
