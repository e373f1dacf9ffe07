"""The solver baseline by observation rate (paper, appendix figure)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from matplotlib.figure import Figure

from tinyude.experiments.drawing import panels
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, against_paper, number, select, spread, stats
from tinyude.experiments.fits import QUICK_ITERATIONS, solver_unit
from tinyude.experiments.paper.headline import solver_caution
from tinyude.report.figures import BLUE, INK, ORANGE, styled

NAME = "step-size"
TITLE = "The solver baseline by observation rate"
NOISE = 0.01
RATES = (12.5, 25.0, 50.0, 100.0)
PAPER = {50.0: 0.0028, 100.0: 0.0033}
KINDS: dict[str, Callable[[float], int]] = {
    "K = 40 steps": lambda rate: 40,
    "windows of 0.8 s": lambda rate: round(0.8 * rate),
}


def units(quick: bool) -> list[Unit]:
    made = []
    for rate in RATES:
        for steps in sorted({rule(rate) for rule in KINDS.values()}):
            chosen = {"rate": rate} if rate != 50.0 else {}  # 50 Hz is the same unit as in the headline
            made += [solver_unit(NOISE, seed, quick, steps, settings=chosen) for seed in range(1 if quick else 2)]
    return made


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows: list[dict[str, Any]] = []
    for kind, rule in KINDS.items():
        for rate in RATES:
            results = select(outcomes, rate=rate if rate != 50.0 else None, steps=rule(rate))
            rows.append({"kind": kind, "rate": rate, "steps": rule(rate), "error": stats(results)})
    at = {(r["kind"], r["rate"]): r["error"]["mean"] for r in rows}
    fifty, hundred = (at["K = 40 steps", rate] for rate in (50.0, 100.0))
    verdict = "does not help" if hundred is None or fifty is None or hundred >= fifty else "helps"
    return {
        "rows": rows,
        "paper": {str(rate): value for rate, value in PAPER.items()},
        "seeds": list(range(1 if quick else 2)),
        "quick": quick,
        "quick_words": f"one seed, {QUICK_ITERATIONS} iterations instead of 1,200",
        "notes": [
            *([solver_caution()] if quick else []),
            against_paper("At 50 Hz", fifty, 0.0028, 1.6),
            f"Doubling the rate to 100 Hz at the same K {verdict}: {number(hundred)} (the paper: 0.0033 against "
            "0.0028). The windows become half as long; with windows of 0.8 s at every rate the error is "
            + ", ".join(f"{number(at['windows of 0.8 s', rate])} at {rate:g} Hz" for rate in RATES)
            + ".",
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (axes,) = panels(1, 3.6, summary, "Pendulum at 1 % noise, 128 windows. Hollow: the paper (K = 40).")
    for kind, colour in zip(KINDS, (INK, BLUE), strict=True):
        rows = [r for r in summary["rows"] if r["kind"] == kind and r["error"]["mean"] is not None]
        axes.plot([r["rate"] for r in rows], [r["error"]["mean"] for r in rows], "o-", color=colour, label=kind)
    axes.plot(list(PAPER), list(PAPER.values()), "o", color=ORANGE, markerfacecolor="none", markersize=8, label="paper")
    axes.set(xscale="log", xlabel="observations a second [Hz]", ylabel="relative field error")
    axes.set_ylim(bottom=0.0)
    axes.set_xticks(RATES, [f"{rate:g}" for rate in RATES])
    axes.minorticks_off()
    axes.legend()
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = [
        [
            r["kind"],
            f"{r['rate']:g}",
            str(r["steps"]),
            number(PAPER.get(r["rate"]) if r["steps"] == 40 else None),
            spread(r["error"]),
        ]
        for r in summary["rows"]
    ]
    return [Table("Field error at 1 % noise", ["windows", "rate [Hz]", "K", "paper", "field error"], rows)]
