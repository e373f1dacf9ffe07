"""A 90 % interval holds the truth in 80 to 98 % of fifty pendulums with random gravity, damping, noise and motion.

On two other draws of fifty, made after the intervals were settled: with the rate 92 % of the terms, 94 % of the
residual and 96 % of the parameters; without it 90, 92 and 94 %.
"""

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

import tinyude as tu

PLANTS = 50
RATE = 250
RUNS, SECONDS = 3, 5
LOW, HIGH = 0.80, 0.98

Record = Callable[[str, object], None]


@cache
def plants() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Gravity, damping and drag of each plant, and its noisy samples (runs, rows, states, plants)."""
    rng = np.random.default_rng(12)
    gravity, damping, drag = (rng.uniform(*ends, PLANTS) for ends in ((5.0, 20.0), (0.1, 1.0), (0.05, 0.3)))

    def field(x: np.ndarray) -> np.ndarray:
        return np.stack([x[1], -gravity * np.sin(x[0]) - damping * x[1] - drag * x[1] * np.abs(x[1])])

    x = np.stack([rng.uniform(-2.5, 2.5, (RUNS, PLANTS)), rng.normal(0.0, 2.0, (RUNS, PLANTS))])
    step, rows = 1.0 / RATE, []
    for _ in range(RATE * SECONDS):
        rows.append(x)
        k1 = field(x)
        k2 = field(x + 0.5 * step * k1)
        k3 = field(x + 0.5 * step * k2)
        x = x + step / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + field(x + step * k3))
    clean = np.array(rows).transpose(2, 0, 1, 3)
    level = 10.0 ** rng.uniform(-2.7, -1.7, PLANTS)
    size = level * np.sqrt(np.mean(clean**2, axis=(0, 1)))
    return gravity, damping, drag, clean + size * rng.standard_normal(clean.shape)


def fitted(plant: int, measured: list[str], learn: bool = False) -> tu.UDE:
    gravity, _, _, samples = plants()
    value = float(gravity[plant])
    physics = tu.Physics(
        ["theta", "omega"], ["omega", "-k*sin(theta)"],
        parameters={"k": tu.Parameter(1.2 * value, learn=True) if learn else value},
    )  # fmt: skip
    ude = tu.UDE(physics, hidden=(), library=["omega", "omega*abs(omega)"], measured=measured)
    return ude.fit(list(samples[:, :, : len(measured), plant]), t=1.0 / RATE)


def holds(low: np.ndarray, high: np.ndarray, truth: np.ndarray) -> np.ndarray:
    return (np.asarray(low) <= truth) & (truth <= np.asarray(high))


@pytest.mark.parametrize("measured", [["theta", "omega"], ["theta"]])
def test_intervals_of_terms_and_residual_cover_the_truth(measured: list[str], record_property: Record) -> None:
    _, damping, drag, samples = plants()
    terms, residuals = [], []
    for plant in range(PLANTS):
        ude = fitted(plant, measured)
        truth = {"omega": -damping[plant], "omega*Abs(omega)": -drag[plant]}
        terms += [holds(row["low"], row["high"], truth[row["term"]]) for row in ude.diagnostics_["terms"]]
        x = samples[0, ::50, :, plant]
        low, high = ude.residual_interval(x)
        residuals.append(
            holds(low[:, 1], high[:, 1], -damping[plant] * x[:, 1] - drag[plant] * x[:, 1] * np.abs(x[:, 1]))
        )
    figures = {"terms": np.mean(terms), "residual": np.mean(residuals)}
    told = ", ".join(f"{name} {share:.2f}" for name, share in figures.items())
    record_property("figure", f"90 % intervals, {' and '.join(measured)}: {told}")
    assert len(terms) > PLANTS
    assert LOW <= figures["terms"] <= HIGH and LOW <= figures["residual"] <= HIGH


@pytest.mark.parametrize("measured", [["theta", "omega"], ["theta"]])
def test_intervals_of_parameters_cover_the_truth(measured: list[str], record_property: Record) -> None:
    gravity = plants()[0]
    found = [fitted(plant, measured, learn=True).diagnostics_["parameters"][0] for plant in range(PLANTS)]
    share = np.mean([holds(low, high, truth) for (_, _, low, high), truth in zip(found, gravity, strict=True)])
    record_property("figure", f"90 % intervals of a parameter, {' and '.join(measured)}: {share:.2f}")
    assert LOW <= share <= HIGH
