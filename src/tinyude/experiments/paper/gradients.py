"""The jet-matching gradients against complex-step differentiation, in 32 checks (paper, appendix plots).

First- and second-order loss, both plants, all cases, several batches, from nearly linear to saturated activations.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from tinyude.experiments.drawing import gradient_checks
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit
from tinyude.experiments.fits import make_system
from tinyude.reference.network import loss
from tinyude.reference.network.mlp import mlp_count, mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.reference.paper.second_order import SecondOrder, second_order_loss

NAME = "gradients"
TITLE = "Analytic gradients against complex step"
LIMIT = 1e-12
STEP = 1e-30
QUICK_PARAMETERS = 48
WEIGHT = 0.1  # of the second-order term


@dataclass(frozen=True)
class Check:
    order: int
    plant: str
    case: str = "A"
    batch: int = 8
    weights: float = 1.0  # a factor on all parameters
    hidden: tuple[int, ...] = (16, 16)
    nodes: int = 1

    @property
    def name(self) -> str:
        extras = [f"weights x {self.weights:g}"] if self.weights != 1.0 else []
        extras += [f"hidden {'-'.join(map(str, self.hidden))}"] if self.hidden != (16, 16) else []
        extras += [f"{self.nodes} nodes"] if self.nodes != 1 else []
        return ", ".join([f"order {self.order}", self.plant, f"case {self.case}", f"batch {self.batch}", *extras])


_PLANTS = ("pendulum", "double pendulum")
CHECKS = (
    *(Check(order, plant, case) for order, plant, case in product((1, 2), _PLANTS, "ABC")),
    *(Check(order, plant, batch=batch) for order, plant, batch in product((1, 2), _PLANTS, (1, 64))),
    *(Check(order, plant, weights=weights) for order, plant, weights in product((1, 2), _PLANTS, (0.1, 3.0))),
    *(Check(1, plant, nodes=9) for plant in _PLANTS),
    *(Check(2, plant, hidden=(8, 8, 8)) for plant in _PLANTS),
)


def units(quick: bool) -> list[Unit]:
    return [Unit(run_check, {**asdict(check), "quick": quick, "problem": i}, 0.3) for i, check in enumerate(CHECKS)]


def run_check(config: Config) -> Result:
    """The relative error of the gradient over all parameters, or over a subset in a quick run."""
    fields = {key: value for key, value in config.items() if key not in ("quick", "problem")}
    check = Check(**{**fields, "hidden": tuple(fields["hidden"])})
    params, evaluate = problem(check, config["problem"])
    count = min(QUICK_PARAMETERS, len(params)) if config["quick"] else len(params)
    indices = np.linspace(0, len(params) - 1, count).astype(np.intp)
    grad = np.asarray(evaluate(params)[1])[indices]
    exact = np.empty(count)
    for place, index in enumerate(indices):
        nudged = params.astype(np.complex128)
        nudged[index] += 1j * STEP
        exact[place] = evaluate(nudged)[0].imag / STEP
    error = float(np.linalg.norm(grad - exact) / np.linalg.norm(exact))
    return {"name": check.name, "parameters": count, "relative_error": error, "pass": error <= LIMIT}


def problem(check: Check, seed: int) -> tuple[NDArray[np.float64], Any]:
    """Random samples of the plant and network parameters, and the loss as a function of the latter."""
    rng = np.random.default_rng(seed)
    physics = make_system(check.plant, check.case).physics
    n = physics.n_states
    sizes = (n, *check.hidden, n)
    params = check.weights * (mlp_init(sizes, rng_seed(seed)) + 0.05 * rng.normal(size=mlp_count(sizes)))
    x_scale, s1, s2 = rng.uniform(0.5, 3.0, (3, n))
    target = rng.normal(size=(check.batch, n))
    if check.order == 1:
        nodes = rng.normal(size=(check.batch, check.nodes, n))
        weights = np.full((check.nodes, n), 1.0 / check.nodes)
        return params, lambda p: loss.loss_first(p, sizes, nodes, weights, target)
    x = rng.normal(size=(check.batch, n))
    states = x * x_scale
    second = SecondOrder(
        physics.field(states), physics.jacobian(states), s2 * rng.normal(size=(check.batch, n)), x_scale, s1, s2
    )
    return params, lambda p: second_order_loss(p, sizes, x, target, second, WEIGHT)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    return summarise_checks([result for _, result in outcomes], quick, LIMIT, QUICK_PARAMETERS, 1e-13)


def summarise_checks(rows: list[Result], quick: bool, limit: float, parameters: int, paper: float) -> Summary:
    """Shared with the adjoint's checks."""
    worst = max(row["relative_error"] for row in rows)
    passed = sum(bool(row["pass"]) for row in rows)
    return {
        "rows": rows,
        "limit": limit,
        "worst": worst,
        "pass": passed == len(rows),
        "paper": paper,
        "quick": quick,
        "quick_words": f"{parameters} parameters of each network",
        "notes": [
            f"{passed} of {len(rows)} checks pass the limit of {limit:g}; the worst error is {worst:.1e} (the paper: "
            f"about {paper:.0e}). The gradients are exact."
        ],
    }


def figure(summary: Summary) -> Figure:
    return gradient_checks(summary)


def tables(summary: Summary) -> list[Table]:
    rows = [
        [r["name"], str(r["parameters"]), f"{r['relative_error']:.1e}", "yes" if r["pass"] else "NO"]
        for r in summary["rows"]
    ]
    return [
        Table(
            f"Relative error of the gradient, limit {summary['limit']:g}",
            ["check", "parameters", "error", "pass"],
            rows,
        )
    ]
