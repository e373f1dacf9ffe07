"""The baseline's discrete adjoint against complex-step differentiation, in 14 checks (paper, appendix plots).

The complex step takes a derivative from the imaginary part, without cancellation; agreement is to machine precision.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.baselines import adjoint
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Unit
from tinyude.experiments.paper import gradients
from tinyude.physics import Physics
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.systems import double_pendulum, pendulum

NAME = "adjoint-gradients"
TITLE = "The solver's discrete adjoint against complex step"
LIMIT = 1e-12
STEP = 1e-30
QUICK_PARAMETERS = 24  # of each network, evenly spread, in a quick run


@dataclass(frozen=True)
class Check:
    plant: str
    steps: int
    weights: float = 1.0  # a factor on all parameters: nearly linear, typical or saturated units
    windows: int = 3
    hidden: tuple[int, ...] = (16, 16)
    on: tuple[int, ...] | None = None

    @property
    def name(self) -> str:
        extras = [f"weights x {self.weights:g}"] if self.weights != 1.0 else []
        extras += [f"hidden {'-'.join(map(str, self.hidden))}"] if self.hidden != (16, 16) else []
        extras += [f"network on {self.on}"] if self.on is not None else []
        return ", ".join([self.plant, f"K = {self.steps}", *extras])


CHECKS = (
    *(Check(plant, steps) for plant in ("pendulum", "double pendulum") for steps in (1, 3, 5, 10)),
    *(Check(plant, 5, weights) for plant in ("pendulum", "double pendulum") for weights in (0.1, 3.0)),
    Check("double pendulum", 3, hidden=(8, 8, 8), on=(2, 3)),
    Check("driven pendulum", 5),
)


def units(quick: bool) -> list[Unit]:
    return [Unit(run_check, {"check": index, "name": check.name, "quick": quick}) for index, check in enumerate(CHECKS)]


def run_check(config: Config) -> Result:
    """The relative error of one gradient over all parameters, or over a subset in a quick run."""
    return _row(CHECKS[config["check"]], config["check"], config["quick"])


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    return gradients.summarise_checks([result for _, result in outcomes], quick, LIMIT, QUICK_PARAMETERS, 5.2e-13)


def run(quick: bool = False) -> Summary:
    """All checks at once."""
    return summarise([(unit.config, unit.run(unit.config)) for unit in units(quick)], quick)


figure = gradients.figure
tables = gradients.tables


def complex_step(
    params: NDArray[np.float64], shooting: adjoint.Shooting, indices: NDArray[np.intp]
) -> NDArray[np.float64]:
    """The loss's derivatives with respect to the chosen parameters, one forward sweep each."""
    tape = adjoint.tape_init(shooting, np.complex128)
    derivatives = np.empty(len(indices))
    for place, index in enumerate(indices):
        nudged = params.astype(np.complex128)
        nudged[index] += 1j * STEP
        derivatives[place] = adjoint.loss(nudged, shooting, tape).imag / STEP
    return derivatives


def _row(check: Check, seed: int, quick: bool) -> dict[str, Any]:
    params, shooting = _problem(check, seed)
    count = min(QUICK_PARAMETERS, len(params)) if quick else len(params)
    indices = np.linspace(0, len(params) - 1, count).astype(np.intp)
    _, grad = adjoint.loss_gradient(params, shooting, adjoint.tape_init(shooting))
    exact = complex_step(params, shooting, indices)
    error = float(np.linalg.norm(grad[indices] - exact) / np.linalg.norm(exact))
    return {"name": check.name, "parameters": count, "relative_error": error, "pass": error <= LIMIT}


def _problem(check: Check, seed: int) -> tuple[NDArray[np.float64], adjoint.Shooting]:
    """Random windows of the plant; checking a gradient does not require consistent observations."""
    rng = np.random.default_rng(seed)
    physics = _physics(check.plant)
    n, m = physics.n_states, physics.n_inputs
    on = tuple(range(n)) if check.on is None else check.on
    sizes = (n + m, *check.hidden, len(on))
    params = mlp_init(sizes, rng_seed(seed))
    shooting = adjoint.Shooting(
        physics=physics,
        sizes=sizes,
        on=on,
        in_scale=rng.uniform(0.5, 2.0, n + m),
        out_scale=rng.uniform(0.5, 5.0, len(on)),
        period=0.02,
        observed=rng.normal(size=(check.steps + 1, check.windows, n)),
        inputs=rng.normal(size=(check.steps, adjoint.STAGES, check.windows, m)),
        error_scale=rng.uniform(0.5, 2.0, n),
    )
    return check.weights * (params + 0.05 * rng.normal(size=len(params))), shooting


def _physics(plant: str) -> Physics:
    if plant == "driven pendulum":
        return Physics(["theta", "omega"], ["omega", "-9.81*sin(theta) + torque*cos(theta)"], inputs=["torque"])
    return (pendulum() if plant == "pendulum" else double_pendulum()).physics
