"""What the examples with measured records share: noise added on purpose, where a free run starts, how it is scored.

A model is anything with simulate(x0, times, u), states first angles then rates, of which the angles are measured.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from scipy.optimize import least_squares

import tinyude as tu
from tinyude.data.log import Log

Simulate = Callable[[np.ndarray, np.ndarray, np.ndarray | None], np.ndarray]

START_SECONDS = 0.3  # of a held-out run that the start of its free run is read from
NOISE_SHARES = (0.0, 0.001, 0.01, 0.05)  # of each channel's standard deviation


def noisy(runs: Sequence[Log], share: float, seed: int = 0) -> list[Log]:
    """The same runs with white noise added, sized by each channel's spread over all of them."""
    sigma = share * np.concatenate([run.Y for run in runs]).std(axis=0)
    rng = np.random.default_rng(seed)
    return [replace(run, Y=run.Y + sigma * rng.standard_normal(run.Y.shape)) for run in runs]


def white_box(physics: tu.Physics) -> Simulate:
    """A model without anything learned: Runge-Kutta steps from sample to sample, inputs held between them."""

    def simulate(x0: np.ndarray, times: np.ndarray, u: np.ndarray | None) -> np.ndarray:
        states = [np.asarray(x0, dtype=float)]
        for row, dt in enumerate(np.diff(times)):
            x, held = states[-1], None if u is None else u[row]
            k1 = physics.field(x, held)
            k2 = physics.field(x + dt / 2 * k1, held)
            k3 = physics.field(x + dt / 2 * k2, held)
            k4 = physics.field(x + dt * k3, held)
            states.append(x + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        return np.array(states)

    return simulate


def start_state(simulate: Simulate, run: Log, seconds: float = START_SECONDS) -> np.ndarray:
    """The state at the run's first sample: the one from which the model best follows the first samples."""
    t = run.t - run.t[0]
    few = t <= seconds
    inputs = None if run.u is None else run.u[few]
    early = t <= seconds / 5  # a parabola through these is near enough to start the search
    curve = np.polynomial.polynomial.polyfit(t[early], run.Y[early], 2)
    guess = np.concatenate([curve[0], curve[1]])
    angles = run.Y.shape[1]

    def miss(x0: np.ndarray) -> np.ndarray:
        return (simulate(x0, t[few], inputs)[:, :angles] - run.Y[few]).ravel()

    return least_squares(miss, guess, x_scale="jac", ftol=1e-6, xtol=1e-6).x


def free_run(simulate: Simulate, run: Log, truth: Log | None = None) -> tuple[np.ndarray, float]:
    """Angles predicted over the whole run from its start alone, and their RMSE over the standard deviation.

    With `truth` the start is read from `run` and the error is counted against `truth`, the run before noise was added.
    """
    measured = (truth or run).Y
    predicted = simulate(start_state(simulate, run), run.t - run.t[0], run.u)[:, : measured.shape[1]]
    return predicted, float(np.sqrt(np.mean(((predicted - measured) / measured.std(axis=0)) ** 2)))


def folder_and_table() -> tuple[str | None, bool]:
    """The command line of every example here: [FOLDER] [--table]."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", help="where the record lies; fetched when it is not there")
    parser.add_argument("--table", action="store_true", help="the figures of the page in docs/, with noise added")
    given = parser.parse_args()
    return given.folder, given.table


def table_row(share: float, errors: np.ndarray) -> str:
    """A line of a table: the noise added, then each column's mean over the seeds (rows)."""
    return " | ".join([f"{100 * share:4g} %", *(f"{mean:.4f}" for mean in np.atleast_2d(errors).mean(axis=0))])
