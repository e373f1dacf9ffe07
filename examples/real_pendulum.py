"""A real pendulum, angle only: gravity's strength and the friction of its bearing, from four short swings.

The record is MultiArm-Pendulum's (Kaheman et al., arXiv:2205.06231; MIT licence).

    python examples/real_pendulum.py PATH/SinglePendulumDataForParameterEstimation.mat
"""

import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.io import loadmat

import tinyude as tu

PERIOD = 1e-3
START = 60  # samples that the start of a free run is read from


def swings(path: str | Path) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Angles in radians: four swings to learn from, two held out."""
    record = loadmat(path)
    return [run[0] for run in record["Y_id"].ravel()], [run[0] for run in record["Y_vad"].ravel()]


def fit(training: list[np.ndarray], seed: int = 0, **options: object) -> tu.UDE:
    physics = tu.Physics(
        states=["theta", "omega"],
        rhs=["omega", "k*sin(theta)"],  # theta = pi hangs down
        parameters={"k": tu.Parameter(60.0, learn=True, min=10.0, max=200.0)},
    )
    return tu.UDE(physics, measured=["theta"], random_state=seed, **options).fit(training, t=PERIOD)


def free_run(ude: tu.UDE, angle: np.ndarray) -> tuple[np.ndarray, float]:
    """The angle predicted from the first few samples alone, and its RMSE over the standard deviation."""
    times = np.arange(len(angle)) * PERIOD
    start = np.polynomial.polynomial.polyfit(times[:START], angle[:START], 4)
    predicted = ude.simulate(start[:2], times)[:, 0]
    return predicted, float(np.sqrt(np.mean((predicted - angle) ** 2)) / angle.std())


def main(path: str) -> None:
    training, held_out = swings(path)
    ude = fit(training)
    print(ude)
    figure, axes = plt.subplots(len(held_out), 1, figsize=(9, 5), sharex=True, layout="constrained")
    for axis, angle in zip(axes, held_out, strict=True):
        predicted, error = free_run(ude, angle)
        times = np.arange(len(angle)) * PERIOD
        axis.plot(times, angle, color="#999999", lw=3, label="measured")
        axis.plot(times, predicted, color="#0072B2", lw=1, label=f"free run, RMSE / std = {error:.4f}")
        axis.set_ylabel("angle [rad]")
        axis.legend(loc="upper right")
    axes[-1].set_xlabel("time since the start of the held-out swing [s]")
    figure.savefig("real_pendulum.png", dpi=150)
    print("wrote real_pendulum.png")


if __name__ == "__main__":
    main(sys.argv[1])
