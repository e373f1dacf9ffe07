"""Frameworks that learn differential equations (paper, taxonomy table), with the memory measured here."""

from __future__ import annotations

from matplotlib.figure import Figure

from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, select
from tinyude.experiments.paper import resources

NAME = "taxonomy"
TITLE = "Where the method stands"


def units(quick: bool) -> list[Unit]:
    return resources.units(quick)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    tape = {
        steps: select(outcomes, method="adjoint", steps=steps)[0]["diagnostics"]["tape_bytes"] for steps in (40, 80)
    }
    v2 = next(r for c, r in outcomes if c["method"] == "paper-v2" and not c["settings"])["diagnostics"]["static_bytes"]
    chip = next(r["chip"] for _, r in outcomes if "chip" in r).get("total", 0)
    return {
        "tape": {str(steps): size for steps, size in tape.items()},
        "static": {"v2": v2, "default": chip},
        "quick": quick,
        "notes": [
            "The rows on other frameworks quote the paper; the memory of the solver and of the jets is measured here."
        ],
    }


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    tape = " to ".join(f"{size / 1e6:.1f}" for size in summary["tape"].values()) + " MB, tape"
    static = {
        name: f"{size / 1000.0:.1f} kB, static" if size else "no compiled core"
        for name, size in summary["static"].items()
    }
    rows = [
        ["adjoint UDE", "solver in the loss, reverse mode", "multiple shooting", "no", "5.9 to 11.8 MB, tape", tape],
        ["PINN", "autodiff of an implicit solution", "regularised loss", "offline only", "high, by grid", "not run"],
        ["SINDy", "numerical differentiation", "smoothing, sparsity", "feasible (linear)", "low", "not measured"],
        ["jet matching (v2)", "jets, analytic gradients", "full-rate filter, gates", "yes", "108 kB", static["v2"]],
        ["default (B = 2048)", "terms, then a network", "dense windows, gates", "yes", "-", static["default"]],
    ]  # fmt: skip
    header = ["framework", "training", "noise", "on a microcontroller", "memory, paper", "memory, here"]
    return [Table("Frameworks for learning differential equations", header, rows)]
