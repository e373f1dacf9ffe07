"""Free runs over 8 s from several starts (paper, figure of long-term rollouts)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.experiments.drawing import LOOKS, panels
from tinyude.experiments.experiment import (
    Config,
    Outcome,
    Result,
    Summary,
    Table,
    Unit,
    against_paper,
    number,
    ratio,
    select,
    stats,
)
from tinyude.experiments.fits import jet_unit, make_system, train
from tinyude.model.simulation import rollout
from tinyude.report.figures import styled

NAME = "rollout"
TITLE = "Free runs over 8 seconds"
NOISE = 0.01
STARTS = ((1.2, 0.0), (0.6, 2.0), (-0.9, -1.5), (0.3, -3.0))
METHODS = ("known", "paper-v1", "paper-v2", "default")
PAPER = {"paper-v2": 0.0068, "paper-v1": 0.068, "known": 0.0068 * 393}
TIMES = np.linspace(0.0, 8.0, 401)


def units(quick: bool) -> list[Unit]:
    seeds = range(1 if quick else 3)
    fitted = [Unit(run_free, jet_unit(m, NOISE, s).config, 2.0) for m in METHODS[1:] for s in seeds]
    return [Unit(run_known, {"method": "known"}), *fitted]


def run_known(config: Config) -> Result:
    """The known physics alone from every initial state."""
    system = make_system("pendulum")
    return _paths(lambda start: rollout(system.physics.field, start, TIMES, np.ones(2)))


def run_free(config: Config) -> Result:
    """Fit, then simulate from every initial state."""
    _, model = train(config)
    return _paths(lambda start: model.simulate(start, TIMES))


def _paths(simulate: Any) -> Result:
    """The model's trajectories, the true ones, and relative errors; a run that diverges has none."""
    system = make_system("pendulum")
    paths: list[NDArray[np.float64] | None] = []
    truths = [rollout(system.truth, start, TIMES, np.ones(2)) for start in STARTS]
    for start in STARTS:
        try:
            paths.append(simulate(start))
        except TinyUDEError:
            paths.append(None)
    errors = [
        None if p is None else float(np.linalg.norm(p - x) / np.linalg.norm(x))
        for p, x in zip(paths, truths, strict=True)
    ]
    return {
        "paths": [None if path is None else path[::4] for path in paths],
        "truths": [truth[::4] for truth in truths],
        "error": errors[0],
        "errors": errors,
    }


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    found = {}
    for method in METHODS:
        results = select(outcomes, method=method)
        found[method] = {"error": stats(results), "paths": results[0]["paths"], "errors": results[0]["errors"]}
    known = found["known"]["error"]["mean"]
    gains = {method: ratio(known, found[method]["error"]["mean"]) for method in METHODS[1:]}
    return {
        "found": found,
        "truths": outcomes[0][1]["truths"],
        "gains": gains,
        "paper": PAPER,
        "seeds": list(range(1 if quick else 3)),
        "quick": quick,
        "quick_words": "one seed",
        "notes": [
            against_paper("v2's error over 8 s from (1.2, 0)", found["paper-v2"]["error"]["mean"], 0.0068),
            f"It is {number(gains['paper-v2'])} times smaller than that of the known physics alone (the paper: 393 "
            f"times); the default's is {number(found['default']['error']['mean'])}, {number(gains['default'])} times "
            "smaller.",
            against_paper("v1", found["paper-v1"]["error"]["mean"], 0.068),
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, middle, right) = panels(
        3, 3.9, summary, "Trained on 60 s at 1 % noise. Left and right: start (1.2, 0). Grey: truth."
    )
    times = TIMES[::4]
    truths = [np.array(truth) for truth in summary["truths"]]
    left.plot(times, truths[0][:, 0], color="#1b1f24", linewidth=3.5, alpha=0.25, label="truth")
    for method in METHODS:
        name, colour, _ = LOOKS[method]
        path = summary["found"][method]["paths"][0]
        if path is None:
            continue
        left.plot(times, np.array(path)[:, 0], color=colour, label=name, linewidth=1.3)
        miss = np.linalg.norm(np.array(path) - truths[0], axis=1) / np.sqrt(np.mean(np.sum(truths[0] ** 2, axis=1)))
        right.semilogy(times[1:], np.maximum(miss[1:], 1e-8), color=colour, linewidth=1.3)
    for index, truth in enumerate(truths):
        middle.plot(truth[:, 0], truth[:, 1], color="#1b1f24", linewidth=3.5, alpha=0.25)
        path = summary["found"]["default"]["paths"][index]
        if path is not None:
            middle.plot(*np.array(path).T, color=LOOKS["default"][1], linewidth=1.0)
        middle.plot(*truth[0], "o", color="#1b1f24", markersize=4)
    left.set(xlabel="time [s]", ylabel="θ [rad]", title="Free run", ylim=(-1.8, 1.8))
    middle.set(xlabel="θ [rad]", ylabel="ω [rad/s]", title="Default from four starts")
    right.set(xlabel="time [s]", ylabel="error / RMS of the state", title="Error over time")
    drawn.legend(*left.get_legend_handles_labels(), loc="outside upper center", ncols=5)
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = []
    for method in METHODS:
        entry = summary["found"][method]
        rows.append([
            LOOKS[method][0], number(PAPER.get(method)), number(entry["error"]["mean"]),
            number(summary["gains"].get(method)), *(number(e) for e in entry["errors"]),
        ])  # fmt: skip
    header = [
        "model",
        "paper",
        "error from (1.2, 0)",
        "times below known physics",
        *(f"from {start}, seed 0" for start in STARTS),
    ]
    return [Table("Relative error of the state over 8 s", header, rows)]
