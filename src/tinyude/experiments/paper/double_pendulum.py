"""The chaotic double pendulum at 1 % noise, seed by seed (paper, section on chaotic dynamics)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import LOOKS, panels
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, against_paper, mean_text, number, select
from tinyude.experiments.fits import QUICK_ITERATIONS, jet_unit, solver_unit
from tinyude.experiments.paper.headline import solver_caution
from tinyude.report.figures import styled

NAME = "double-pendulum"
TITLE = "The chaotic double pendulum"
NOISE = 0.01
PAPER: dict[str, Any] = {
    "k40": {"values": [0.0088, 0.0198, 0.0124], "damping": [0.160]},
    "paper-v2": {"values": [0.0254, 0.0054, 0.0112, 0.0038], "damping": [0.141]},
}
METHODS: dict[str, dict[str, Any]] = {
    "k40": {"method": "adjoint"},
    "paper-v2": {"method": "paper-v2"},
    "network": {"method": "network"},
    "default": {"method": "default"},
}


def units(quick: bool) -> list[Unit]:
    """Eight seeds of each jet method (the paper has four), and the paper's three seeds of the solver."""
    jets = [jet_unit(m, NOISE, s, "double pendulum") for m in METHODS if m != "k40" for s in range(2 if quick else 8)]
    return jets + [solver_unit(NOISE, s, quick, system="double pendulum") for s in range(1 if quick else 3)]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    found = {}
    for key, wanted in METHODS.items():
        results = [r for r in select(outcomes, system="double pendulum", noise=NOISE, **wanted) if "error" in r]
        found[key] = {
            "values": [r["error"] for r in results],
            "elsewhere": [float(np.mean(r["elsewhere"])) for r in results],
            "damping": np.mean([r["damping"] for r in results], axis=0),
            "median": float(np.median([r["error"] for r in results])),
            "mean": float(np.mean([r["error"] for r in results])),
            "worst": max(r["error"] for r in results),
        }
    summary: Summary = {
        "methods": found,
        "paper": PAPER,
        "seeds": sorted({config["seed"] for config, _ in outcomes}),
        "quick": quick,
        "quick_words": f"two seeds, one of the solver with {QUICK_ITERATIONS} iterations",
    }
    v2, default, network = (found[key] for key in ("paper-v2", "default", "network"))
    notes = [
        *([solver_caution()] if quick else []),
        against_paper("v2, mean of its seeds", v2["mean"], 0.0115),
        against_paper("the K = 40 solver, mean of its seeds", found["k40"]["mean"], 0.0137),
        f"v2's worst seed is {number(v2['worst'])} (the paper's 0.0254), {number(v2['worst'] / v2['median'], 2)} "
        f"times its median; the default's is {number(default['worst'])} "
        f"({number(default['worst'] / default['median'], 2)} times) and its network's alone "
        f"{number(network['worst'])} ({number(network['worst'] / network['median'], 2)} times).",
        f"Damping: the default reads {number(default['damping'][0], 4)} and {number(default['damping'][1], 4)} (true "
        f"0.15), v2 {number(v2['damping'][0], 3)} (the paper 0.141).",
    ]
    return {**summary, "notes": notes}


@styled
def figure(summary: Summary) -> Figure:
    figure, (left, right) = panels(2, 3.9, summary, "20 s at 1 kHz, 1 % noise; hollow: the paper; bar: median.")
    for place, key in enumerate(METHODS):
        _, colour, marker = LOOKS[key]
        entry = summary["methods"][key]
        left.plot(
            np.full(len(entry["values"]), place + 0.12), entry["values"], marker, color=colour, markersize=5, alpha=0.85
        )
        left.hlines(entry["median"], place - 0.25, place + 0.3, color=colour, linewidth=2.0)
        if key in PAPER:
            theirs = PAPER[key]["values"]
            left.plot(
                np.full(len(theirs), place - 0.12), theirs, marker, color=colour, markerfacecolor="none", markersize=6.5
            )
        right.plot([place - 0.08, place + 0.08], entry["damping"], marker, color=colour, markersize=6)
    right.axhline(0.15, color="#1b1f24", linestyle="--", linewidth=0.8)
    labels = [LOOKS[key][0].replace(", ", ",\n") for key in METHODS]
    for axes in (left, right):
        axes.set_xticks(range(len(METHODS)), labels)
        axes.grid(axis="x", visible=False)
    left.set(yscale="log", ylabel="relative field error, visited states", title="Error of each seed")
    right.set(ylabel="damping read out [1/s]", title="Damping of both joints, true 0.15")
    return figure


def tables(summary: Summary) -> list[Table]:
    rows = []
    for key in METHODS:
        entry = summary["methods"][key]
        theirs = PAPER.get(key, {}).get("values", [])
        rows.append([
            LOOKS[key][0], ", ".join(number(v) for v in entry["values"]),
            *(number(entry[figure]) for figure in ("mean", "median", "worst")),
            mean_text(entry["elsewhere"]),
            " and ".join(number(c, 4) for c in entry["damping"]),
            f"{mean_text(theirs)} ({', '.join(number(v) for v in theirs)})" if theirs else "-",
        ])  # fmt: skip
    header = [
        "method",
        "by seed",
        "mean",
        "median",
        "worst",
        "on the states of seeds 0-2",
        "damping (true 0.15)",
        "paper: mean (by seed)",
    ]
    return [Table("Relative field error at 1 % noise", header, rows)]
