"""The solver baseline itself: noise, length of the shooting windows, cost (paper, figure of the adjoint baseline)."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from tinyude.experiments.drawing import curve, noise_ticks, panels, paper_marks
from tinyude.experiments.experiment import (
    Outcome,
    Summary,
    Table,
    Unit,
    against_paper,
    number,
    percent,
    select,
    spread,
    stats,
)
from tinyude.experiments.fits import NOISES, QUICK_ITERATIONS, solver_unit
from tinyude.experiments.paper import headline
from tinyude.report.figures import BLUE, ORANGE, styled

NAME = "shooting"
TITLE = "The solver baseline: noise, window length, cost"
STEPS = (1, 5, 10, 20, 40, 80)
SWEPT = (0.01, 0.05)
PAPER_SINGLE_STEP = 0.82


def units(quick: bool) -> list[Unit]:
    """Noise levels at K = 40 and K = 80 as in the headline; shorter windows with one seed."""
    shared = [
        unit
        for unit in headline.units(quick)
        if unit.config["method"] == "adjoint" and not unit.config["settings"].get("redraw")
    ]
    return shared + [solver_unit(noise, 0, quick, steps) for noise in SWEPT for steps in STEPS[:-2]]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    by_noise = [stats(select(outcomes, noise=noise, steps=40)) for noise in NOISES]
    rows: list[dict[str, Any]] = []
    for noise in SWEPT:
        for steps in STEPS:
            results = select(outcomes, noise=noise, steps=steps)
            diagnostics = next((r["diagnostics"] for r in results if "diagnostics" in r), None)
            rows.append({
                "noise": noise, "steps": steps, "error": stats(results),
                "tape": diagnostics and diagnostics["tape_bytes"],
                "work": diagnostics and diagnostics["multiply_accumulates"],
                "milliseconds": diagnostics and 1e3 * diagnostics["seconds"] / diagnostics["iterations"],
            })  # fmt: skip
    single = next(r["error"]["mean"] for r in rows if r["steps"] == 1 and r["noise"] == 0.05)
    best = {
        noise: min((r for r in rows if r["noise"] == noise), key=lambda r: r["error"]["mean"] or 1e9) for noise in SWEPT
    }
    return {
        "noises": NOISES,
        "by_noise": by_noise,
        "rows": rows,
        "seeds": headline.SEEDS[:1] if quick else headline.SEEDS,
        "quick": quick,
        "quick_words": f"one seed, {QUICK_ITERATIONS} iterations instead of 1,200",
        "notes": [
            *([headline.solver_caution()] if quick else []),
            against_paper("One-step windows at 5 % noise", single, PAPER_SINGLE_STEP, 1.5),
            against_paper("K = 40 at 5 % noise", by_noise[-1]["mean"], 0.02477, 1.5),
            f"The best of the window lengths is K = {best[0.01]['steps']} at 1 % noise and K = {best[0.05]['steps']} "
            "at 5 %.",
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, middle, right) = panels(
        3, 3.7, summary, "128 windows at 50 Hz, full-batch Adam; hollow: the paper. Shorter K: seed 0."
    )
    x = noise_ticks(left, summary["noises"])
    curve(left, "k40", x, summary["by_noise"])
    paper_marks(left, "k40", x, headline.PAPER["k40"])
    left.set(yscale="log", ylabel="relative field error", title="Noise, K = 40", xlabel="sensor noise")
    left.tick_params(axis="x", labelsize=8.5)
    for noise, colour in zip(SWEPT, (BLUE, ORANGE), strict=True):
        rows = [r for r in summary["rows"] if r["noise"] == noise and r["error"]["mean"] is not None]
        errors = [r["error"]["mean"] for r in rows]
        middle.plot([r["steps"] for r in rows], errors, "o-", color=colour, label=percent(noise))
        right.plot([r["work"] / 1e6 for r in rows], errors, "o-", color=colour)
        if noise == SWEPT[0]:
            for row in rows:
                right.annotate(
                    f"K={row['steps']}",
                    (row["work"] / 1e6, row["error"]["mean"]),
                    (3, 5),
                    textcoords="offset points",
                    fontsize=8,
                )
    middle.set(xscale="log", yscale="log", xlabel="steps of a window, K", title="Window length")
    middle.set_xticks(STEPS, [str(steps) for steps in STEPS])
    middle.minorticks_off()
    middle.legend(title="noise")
    right.set(xscale="log", yscale="log", xlabel="MACs an iteration [millions]", title="Cost (multiply-accumulates)")
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = [
        [
            percent(r["noise"]), str(r["steps"]), spread(r["error"]), f"{(r['tape'] or 0) / 1e6:.2f}",
            f"{(r['work'] or 0) / 1e6:.1f}", number(r["milliseconds"]),
        ]
        for r in summary["rows"]
    ]  # fmt: skip
    header = [
        "noise",
        "K",
        "field error",
        "tape [MB]",
        "multiply-accumulates [millions]",
        "time an iteration here [ms]",
    ]
    return [Table("Shooting windows of K steps", header, rows)]
