"""The residual identified in the three cases (paper, figure of system identification)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import LOOKS, panels
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, damping_stats, number, select, stats
from tinyude.experiments.fits import jet_unit, make_system
from tinyude.report.figures import styled

NAME = "identification"
TITLE = "System identification in three cases"
NOISE = 0.01
CASES = ("A", "B", "C")
METHODS = ("paper-v2", "network", "default")
PAPER = {"A": 0.397, "B": -0.001, "C": 0.387}
WORDS = {"A": "damping unknown", "B": "gravity 10 % wrong", "C": "both"}


def units(quick: bool) -> list[Unit]:
    return [jet_unit(m, NOISE, s, case=case) for m in METHODS for case in CASES for s in range(1 if quick else 3)]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    found = {}
    for method in METHODS:
        for case in CASES:
            results = [r for r in select(outcomes, method=method, case=case) if "error" in r]
            found[f"{method} {case}"] = {
                "error": stats(results),
                "damping": damping_stats(results),
                "slices": results[0]["slices"],
                "terms": [f"{t['coefficient']:.4g} {t['term']}" for t in results[0]["diagnostics"]["terms"]],
            }
    true = {case: float(make_system("pendulum", case).true_damping[0]) for case in CASES}
    summary: Summary = {
        "found": found,
        "true": true,
        "paper": PAPER,
        "seeds": list(range(1 if quick else 3)),
        "quick": quick,
        "quick_words": "one seed",
    }
    notes = [
        f"Case {case} ({WORDS[case]}): v2 finds a damping of {number(found[f'paper-v2 {case}']['damping']['mean'])} "
        f"and the default {_tidy(found[f'default {case}']['damping']['mean'], 4)}, against a true {_tidy(true[case])} "
        f"(the paper {PAPER[case]:g})."
        for case in CASES
    ]
    notes.append(
        "The default identifies the residual of case C as "
        f"{', '.join(found['default C']['terms']) or 'the network alone'}."
    )
    return {**summary, "notes": notes}


def _tidy(value: float | None, digits: int = 3) -> str:
    """A number as text; rounding errors become 0."""
    return number(0.0 if value is not None and abs(value) < 1e-12 else value, digits)


@styled
def figure(summary: Summary) -> Figure:
    drawn, axes = panels(
        3,
        3.9,
        summary,
        "Residual of the acceleration, 1 % noise, left and middle of seed 0. Dashed: truth. Hollow: the paper.",
    )
    views = ((axes[0], 1, "A", "ω [rad/s], θ = 0"), (axes[1], 0, "C", "θ [rad], ω = 0"))
    for panel, axis, case, label in views:
        for method in METHODS:
            part = summary["found"][f"{method} {case}"]["slices"][axis]
            name, colour, _ = LOOKS[method]
            panel.plot(part["at"], part["learned"], color=colour, label=name)
        panel.plot(part["at"], part["true"], color="#1b1f24", linestyle="--", linewidth=1.2, label="truth")
        panel.set(xlabel=label, ylabel="residual [rad/s²]", title=f"Case {case}: {WORDS[case]}")
    for place, case in enumerate(CASES):
        for offset, method in zip((-0.22, 0.0, 0.22), METHODS, strict=True):
            _, colour, marker = LOOKS[method]
            values = summary["found"][f"{method} {case}"]["damping"]["values"]
            axes[2].plot(np.full(len(values), place + offset), values, marker, color=colour, markersize=5)
        axes[2].hlines(
            summary["true"][case], place - 0.35, place + 0.35, color="#1b1f24", linestyle="--", linewidth=1.0
        )
        axes[2].plot(place - 0.34, PAPER[case], "o", color=LOOKS["paper-v2"][1], markerfacecolor="none", markersize=7)
    axes[2].set_xticks(range(3), [f"case {case}" for case in CASES])
    axes[2].set(ylabel="damping read out [1/s]", title="Damping by seed")
    drawn.legend(*axes[0].get_legend_handles_labels(), loc="outside upper center", ncols=4)
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = []
    for case in CASES:
        entries = [summary["found"][f"{method} {case}"] for method in METHODS]
        rows.append([
            f"{case}: {WORDS[case]}", _tidy(summary["true"][case]), number(PAPER[case]),
            *(_tidy(e["damping"]["mean"], 4) for e in entries), *(number(e["error"]["mean"]) for e in entries),
        ])  # fmt: skip
    names = ["v2", "network only", "default"]
    header = ["case", "true damping residual", "paper", *names, *(f"field error, {name}" for name in names)]
    return [Table("Damping read out of the residual, and field error, at 1 % noise", header, rows)]
