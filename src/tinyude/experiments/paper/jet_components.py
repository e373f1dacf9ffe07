"""Both terms of the jet loss over training, with and without the second order (paper, figure of loss components)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

import tinyude as tu
from tinyude.experiments.drawing import panels
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, against_paper, number, stats
from tinyude.experiments.fits import make_system
from tinyude.model.model import Model
from tinyude.reference.config import Config as LearnerConfig
from tinyude.reference.paper.second_order import SecondOrder, second_order_loss
from tinyude.report.figures import BLUE, ORANGE, styled
from tinyude.systems import System
from tinyude.training.engines import make_engine

NAME = "jet-components"
TITLE = "The two terms of the jet loss during training"
NOISE = 0.01
TRAINING = {"seconds": None, "updates": 8000, "engine": "native"}
POINTS = 80  # of each curve
PAPER = {"first": 1.8e-3, "second": 2e-2}


def units(quick: bool) -> list[Unit]:
    return [
        Unit(run_training, {"second_order": on, "noise": NOISE, "seed": seed, **TRAINING}, 3.0)
        for on in (True, False)
        for seed in range(1 if quick else 3)
    ]


def run_training(config: Config) -> Result:
    """Train v2 with its second-order term forced on or off, measuring both terms on the whole reservoir as it goes.

    A gate that is always open or always closed, rather than a weight of 0, stores second derivatives in both cases.
    """
    system = make_system("pendulum")
    _, samples = system.stream(config["noise"], config["seed"], config["seconds"])
    gate = 0.0 if config["second_order"] else 1e12
    first = tu.UDE(
        system.physics,
        preset="paper-v2",
        settings={"snr_gate": gate},
        updates=config["updates"],
        engine=config["engine"],
        random_state=config["seed"],
    ).fit(samples, t=1.0 / system.rate)
    learner = first.config_
    engine, _ = make_engine(config["engine"], "float64", learner, system.physics, [])
    engine.push(samples[: learner.calibration])
    engine.end_calibration()
    engine.rewind()
    history: list[list[float]] = []
    while (update := int(engine.state()["updates"])) < config["updates"]:
        streamed = update * learner.train_every
        chunk = max(1, config["updates"] // POINTS)
        if streamed < len(samples):
            engine.push(samples[streamed : streamed + chunk * learner.train_every])
            if len(samples) - streamed < learner.train_every:
                engine.step(1)
        else:
            engine.step(min(chunk, config["updates"] - update))
        state = engine.state()
        if len(state["reservoir"]):
            history.append(_components(system, learner, state))
    error = _field_error(system, learner, state)
    return {"history": history, "error": error, "spacing": int(state["window_spacing"])}


def _components(system: System, config: LearnerConfig, state: dict[str, Any]) -> list[float]:
    """Update, first-order term, second-order term (unweighted), over everything stored."""
    n = config.states
    entries = np.asarray(state["reservoir"], dtype=np.float64)
    x, target, second_target = entries[:, :n], entries[:, n : 2 * n], entries[:, 2 * n : 3 * n]
    states = x * state["x_scale"]
    second = SecondOrder(
        system.physics.field(states),
        system.physics.jacobian(states),
        second_target,
        state["x_scale"],
        state["dx_scale"],
        state["ddx_scale"],
    )
    both, first = (
        float(second_order_loss(state["params"], config.sizes, x, target, second, w)[0].real) for w in (1.0, 0.0)
    )
    return [float(state["updates"]), first, both - first]


def _field_error(system: System, config: LearnerConfig, state: dict[str, Any]) -> float:
    none = np.zeros((len(config.on), 0))
    model = Model(
        system.physics, config.on, config.sees, config.hidden, np.asarray(state["average"]), np.ones(len(config.on)),
        state["x_scale"], np.zeros(0), state["dx_scale"], (), none, none, np.zeros(0),
    )  # fmt: skip
    return system.field_error(model.field)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    found = {}
    for on in (True, False):
        results = [result for config, result in outcomes if config["second_order"] is on]
        last = np.mean([np.array(r["history"])[-5:, 1:].mean(axis=0) for r in results], axis=0)
        found["with" if on else "without"] = {
            "history": results[0]["history"], "first": last[0], "second": last[1], "error": stats(results),
        }  # fmt: skip
    spacing = float(np.mean([result["spacing"] for _, result in outcomes]))
    gain = found["with"]["error"]["mean"] / found["without"]["error"]["mean"]
    return {
        "found": found,
        "paper": PAPER,
        "seeds": list(range(1 if quick else 3)),
        "quick": quick,
        "quick_words": "one seed",
        "notes": [
            against_paper("The first-order term ends at", found["without"]["first"], PAPER["first"], 2.0),
            against_paper("The second-order term ends at", found["with"]["second"], PAPER["second"], 2.0),
            "The second derivative's noise variance is proportional to the tap spacing to the power of -4: "
            f"m = {spacing:.0f} here and 39 in the paper account for a factor of {number((39.0 / spacing) ** 4, 2)}.",
            f"With the term the field error is {number(gain)} times that without it (the paper: equivalent).",
        ],
    }


@styled
def figure(summary: Summary) -> Figure:
    drawn, (left, right) = panels(
        2,
        3.6,
        summary,
        "v2 at 1 % noise, loss over the whole reservoir, seed 0. Dotted: levels in the paper.",
    )
    for key, style in (("with", "-"), ("without", "--")):
        history = np.array(summary["found"][key]["history"])
        left.plot(history[:, 0], history[:, 1], style, color=BLUE, label=f"first order, trained {key} second")
        left.plot(history[:, 0], history[:, 2], style, color=ORANGE, label=f"second order, trained {key} it")
    for key, colour in (("first", BLUE), ("second", ORANGE)):
        left.axhline(PAPER[key], color=colour, linestyle=":", linewidth=1.2)
    left.set(yscale="log", xlabel="update", ylabel="mean squared residual (scaled)", title="Loss terms during training")
    left.legend(fontsize=8.5)
    for place, key in enumerate(("with", "without")):
        entry = summary["found"][key]["error"]
        right.bar(place, entry["mean"], width=0.5, color=(ORANGE, BLUE)[place])
        right.plot([place] * len(entry["values"]), entry["values"], ".", color="#1b1f24")
    right.set_xticks((0, 1), ("with second order", "without"))
    right.set(ylabel="relative field error", title="Field error reached")
    right.grid(axis="x", visible=False)
    return drawn


def tables(summary: Summary) -> list[Table]:
    rows = []
    for key in ("with", "without"):
        entry = summary["found"][key]
        rows.append(
            [f"trained {key} it", number(entry["first"]), number(entry["second"]), number(entry["error"]["mean"])]
        )
    rows.append(["paper", number(PAPER["first"]), number(PAPER["second"]), "-"])
    return [
        Table(
            "At the end of training",
            ["second-order term", "first-order loss", "second-order loss", "field error"],
            rows,
        )
    ]
