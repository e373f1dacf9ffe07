"""Common parts of the examples with measured records: added noise, initial states of free runs, scores.

A model is any function simulate(x0, times, u); its states are angles, then rates. The angles are measured.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from scipy.optimize import least_squares

import tinyude as tu
from tinyude.data.log import Log
from tinyude.experiments.documents import fill_block
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_run as simulate_freely

Simulate = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]

START_SECONDS = 0.3  # of a held-out run, from which the initial state of its free run is estimated
NOISE_SHARES = (0.0, 0.001, 0.01, 0.05)  # of each channel's standard deviation


def noisy(runs: Sequence[Log], share: float, seed: int = 0) -> list[Log]:
    """The same runs with white noise added, in proportion to each channel's standard deviation over all runs."""
    sigma = share * np.concatenate([run.Y for run in runs]).std(axis=0)
    rng = np.random.default_rng(seed)
    return [replace(run, Y=run.Y + sigma * rng.standard_normal(run.Y.shape)) for run in runs]


def white_box(physics: tu.Physics) -> Simulate:
    """A model of the physics alone, with inputs held between samples."""
    dynamics, scale = known_dynamics(physics), np.full(physics.n_states, 100.0)

    def simulate(x0: np.ndarray, times: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        return simulate_freely(dynamics, x0, times, scale, u)

    return simulate


def start_state(simulate: Simulate, run: Log, seconds: float = START_SECONDS) -> np.ndarray:
    """The state at the run's first sample from which the model fits the first samples best."""
    t = run.t - run.t[0]
    few = t <= seconds
    inputs = None if run.u is None else run.u[few]
    early = t <= seconds / 5  # a parabola through these gives the initial guess
    curve = np.polynomial.polynomial.polyfit(t[early], run.Y[early], 2)
    guess = np.concatenate([curve[0], curve[1]])
    angles = run.Y.shape[1]

    def miss(x0: np.ndarray) -> np.ndarray:
        return (simulate(x0, t[few], inputs)[:, :angles] - run.Y[few]).ravel()

    return least_squares(miss, guess, x_scale="jac", ftol=1e-6, xtol=1e-6).x


def free_run(simulate: Simulate, run: Log, truth: Log | None = None) -> tuple[np.ndarray, float]:
    """Angles predicted over the whole run from its initial state alone, and their RMSE / standard deviation.

    With `truth`, the run before noise was added, the initial state comes from `run` and the error is against `truth`.
    """
    measured = (truth or run).Y
    predicted = simulate(start_state(simulate, run), run.t - run.t[0], run.u)[:, : measured.shape[1]]
    return predicted, float(np.sqrt(np.mean(((predicted - measured) / measured.std(axis=0)) ** 2)))


def command_line() -> tuple[str | None, bool, bool]:
    """The command line of every example here: [FOLDER] [--table] [--docs]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", help="folder of the record; downloaded if it is not there")
    parser.add_argument("--table", action="store_true", help="print the table of the page in docs/, with noise added")
    parser.add_argument("--docs", action="store_true", help="write that table into the page")
    given = parser.parse_args()
    return given.folder, given.table or given.docs, given.docs


def error_table(header: Sequence[str], rows: Sequence[tuple[str, str, Sequence[float]]]) -> str:
    """Markdown: model, noise added, then the error over each held-out motion."""
    lines = [["model", "noise added", *header], ["---"] * (2 + len(header))]
    lines += [[model, noise, *(f"{error:.4f}" for error in errors)] for model, noise, errors in rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def learned_rows(errors: Callable[[float, int], np.ndarray]) -> list[tuple[str, str, Sequence[float]]]:
    """One row per noise level: the mean over three draws of noise and seeds."""
    rows: list[tuple[str, str, Sequence[float]]] = []
    for share in NOISE_SHARES:
        mean = np.mean([errors(share, seed) for seed in range(3)], axis=0)
        rows.append(("TinyUDE", f"{100 * share:g} %" if share else "none", mean.tolist()))
    return rows


def show_table(name: str, table: str, write: bool) -> None:
    """Print the table and optionally write it into docs/NAME.md."""
    print(table)
    if write:
        fill_block(Path(__file__).parents[1] / "docs" / f"{name}.md", name, table)
