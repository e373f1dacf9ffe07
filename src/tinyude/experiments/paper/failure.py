"""High-velocity outliers of the double pendulum, and the gates that reject them (paper, appendix on failures)."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import PINK, panels
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, number, stats
from tinyude.experiments.fits import jet_unit
from tinyude.report.figures import BLUE, INK, ORANGE, styled

NAME = "failure"
TITLE = "High-velocity outliers, and what the gates catch"
NOISE = 0.01
FIXED = {"adaptive": False, "spacing": 24, "second_order": 0.0}  # the paper's failures occur here
VARIANTS = {  # description: method, settings, colour
    "m = 24, no gate": ("paper-v2", {**FIXED, "gated": False}, INK),
    "m = 24, gated": ("paper-v2", FIXED, PINK),
    "v2": ("paper-v2", {}, ORANGE),
    "default": ("default", {}, BLUE),
}
PAPER = {"m = 24, no gate": 0.135, "m = 24, gated": 0.025}


def units(quick: bool) -> list[Unit]:
    return [
        jet_unit(method, NOISE, seed, "double pendulum", settings=settings)
        for method, settings, _ in VARIANTS.values()
        for seed in range(2 if quick else 4)
    ]


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    found = {}
    for name, (method, settings, _) in VARIANTS.items():
        results = [r for c, r in outcomes if c["method"] == method and c["settings"] == settings and "error" in r]
        worst = max(results, key=lambda r: r["error"])
        windows = sum(r["diagnostics"]["windows"] for r in results)
        rejected = {
            reason: sum(r["diagnostics"]["rejected"][reason] for r in results) / windows
            for reason in worst["diagnostics"]["rejected"]
        }
        found[name] = {
            "error": stats(results), "worst": worst["error"], "loss": worst["loss"],
            "by_speed": worst["by_speed"], "rejected": rejected,
        }  # fmt: skip
    bare, gated = found["m = 24, no gate"], found["m = 24, gated"]
    slow, fast = bare["by_speed"]["error"][0], bare["by_speed"]["error"][-1]
    return {
        "found": found,
        "paper": PAPER,
        "seeds": list(range(2 if quick else 4)),
        "quick": quick,
        "quick_words": "two seeds",
        "notes": [
            f"Without a gate at m = 24 the worst seed's error is {number(bare['worst'])} (the paper 0.135) and "
            f"{number(fast / slow, 2)} times larger at the highest speeds than at the lowest, while the training loss "
            f"ends at {number(bare['loss'])}: the network fits biased targets tightly.",
            f"The worst seed's error is {number(gated['worst'])} with the gate (the paper 0.025), "
            f"{number(found['v2']['worst'])} with v2's own choice of m, and {number(found['default']['worst'])} with "
            "the default.",
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, right) = panels(
        2,
        3.7,
        summary,
        "Double pendulum, 20 s at 1 % noise; the worst seed of each, by eighths of the visited states.",
    )
    for name, entry in summary["found"].items():
        colour = VARIANTS[name][2]
        left.semilogy(entry["by_speed"]["speed"], entry["by_speed"]["error"], "o-", color=colour, label=name)
    left.set(
        xlabel="speed, norm of both angular velocities [rad/s]",
        ylabel="field error / RMS of the field",
        title="Where the error is",
    )
    left.legend()
    names = list(summary["found"])
    starts = np.zeros(len(names))
    shades = {"gap": "#b6bcc4", "misfit": ORANGE, "jump": BLUE}
    for reason, colour in shades.items():
        shares = np.array([100.0 * summary["found"][name]["rejected"][reason] for name in names])
        right.bar(names, shares, bottom=starts, color=colour, width=0.55, label=reason)
        starts += shares
    right.set(ylabel="windows rejected [%]", title="What the gates catch")
    right.grid(axis="x", visible=False)
    right.tick_params(axis="x", labelsize=8.5)
    right.legend()
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = []
    for name, entry in summary["found"].items():
        rows.append([
            name, number(PAPER.get(name)), number(entry["worst"]), number(entry["error"]["mean"]),
            number(entry["loss"]),
            *(f"{100.0 * entry['rejected'][reason]:.1f} %" for reason in ("gap", "misfit", "jump")),
        ])  # fmt: skip
    header = ["variant", "worst, paper", "worst seed", "mean", "final loss", "rejected: start of run", "misfit", "jump"]
    return [Table("Relative field error on the double pendulum", header, rows)]
