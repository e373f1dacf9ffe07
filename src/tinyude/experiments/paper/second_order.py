"""With and without the second-order term, by noise and tap spacing (paper, figure of second-order contributions)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import SKY, panels
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, number, percent, ratio, select, stats
from tinyude.experiments.fits import jet_unit
from tinyude.report.figures import BLUE, GREEN, ORANGE, styled

NAME = "second-order"
TITLE = "When the second-order term helps"
WEIGHTS = (0.1, 0.0)
THRESHOLD = 12.0
FIXED = {"adaptive": False, "snr_gate": 0.0}  # spacing and weight are fixed, not chosen by a rule


def _plan(quick: bool) -> tuple[tuple[float, ...], tuple[int, ...], tuple[int, ...]]:
    """Noise levels, tap spacings, seeds."""
    return ((0.001, 0.01), (10, 40), (0,)) if quick else ((0.0, 0.001, 0.005, 0.01, 0.05), (10, 20, 30, 40), (0, 1, 2))


def units(quick: bool) -> list[Unit]:
    noises, spacings, seeds = _plan(quick)
    return [
        jet_unit("paper-v2", noise, seed, settings={**FIXED, "spacing": spacing, "second_order": weight})
        for noise in noises
        for spacing in spacings
        for weight in WEIGHTS
        for seed in seeds
    ]  # fmt: skip


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    noises, spacings, seeds = _plan(quick)
    rows = []
    for noise in noises:
        for spacing in spacings:
            on, off = (select(outcomes, noise=noise, spacing=spacing, second_order=weight) for weight in WEIGHTS)
            with_term, without = stats(on)["mean"], stats(off)["mean"]
            snr = [r["diagnostics"]["snr2"] for r in on if "diagnostics" in r]
            rows.append({
                "noise": noise, "spacing": spacing, "with": with_term, "without": without,
                "ratio": ratio(with_term, without), "snr": float(np.mean(snr)) if snr else None,
            })  # fmt: skip
    below = [r["ratio"] for r in rows if r["ratio"] and r["snr"] < THRESHOLD]
    above = [r["ratio"] for r in rows if r["ratio"] and r["snr"] >= THRESHOLD]
    said = [
        f"{side} the threshold of 12 the error with the term is {number(float(np.median(part)))} times that without "
        f"(median of {len(part)})"
        for side, part in (("below", below), ("above", above))
        if part
    ]
    return {
        "rows": rows,
        "threshold": THRESHOLD,
        "seeds": seeds,
        "quick": quick,
        "quick_words": "two noise levels, two spacings, one seed",
        "notes": [
            "By signal-to-noise ratio: "
            + "; ".join(said)
            + ". The paper finds minimal benefit where first-order samples are dense.",
            "The default has no second-order term.",
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, right) = panels(2, 3.8, summary, "v2 with fixed tap spacing m; second-order weight 0.1 against 0.")
    spacings = sorted({row["spacing"] for row in summary["rows"]})
    for spacing, colour in zip(spacings, (BLUE, SKY, GREEN, ORANGE), strict=False):
        rows = [row for row in summary["rows"] if row["spacing"] == spacing]
        at = range(len(rows))
        left.plot(at, [row["ratio"] or np.nan for row in rows], "o-", color=colour, label=f"m = {spacing}")
        left.set_xticks(at, [percent(row["noise"]) for row in rows])
        right.plot([row["snr"] for row in rows], [row["ratio"] or np.nan for row in rows], "o", color=colour)
    for axes in (left, right):
        axes.axhline(1.0, color="#1b1f24", linewidth=0.8, linestyle="--")
        axes.set(yscale="log", ylabel="error with the term / without")
    right.axvline(summary["threshold"], color=ORANGE, linewidth=1.2, linestyle="--", label="threshold 12")
    right.set(xscale="log", xlabel="signal-to-noise ratio of the second derivative", title="By signal-to-noise ratio")
    left.set(xlabel="sensor noise", title="By noise and tap spacing")
    left.set_xlim(right=left.get_xlim()[1] + 1.2)  # room for the legend
    left.legend(loc="upper right")
    right.legend()
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = [
        [
            percent(r["noise"]),
            str(r["spacing"]),
            number(r["snr"]),
            number(r["with"]),
            number(r["without"]),
            number(r["ratio"]),
        ]
        for r in summary["rows"]
    ]
    header = ["noise", "tap spacing m", "SNR2", "error, weight 0.1", "error, weight 0", "ratio"]
    return [Table("Field error with and without the second-order term", header, rows)]
