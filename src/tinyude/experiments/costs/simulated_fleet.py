"""A fleet of motor arms with known coefficients, written as Parquet logs, for tests and benchmarks of fleets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Array = NDArray[Any]

PHYSICS = """\
[states]
theta = "omega"
omega = "-(g/L)*sin(theta) + tau/J"
[measured]
theta = "position"
[inputs]
tau = "torque"
[parameters]
g = 9.81
L = 0.5
J = 0.063
[time]
column = "time"
"""
GRAVITY, LENGTH, INERTIA, SHARP = 9.81, 0.5, 0.063, 20.0
FIRST_DAY = date(2026, 1, 5)


@dataclass(frozen=True)
class SimulatedFleet:
    """Arms whose viscous and dry friction differ between machines; that of some may change.

    d(omega)/dt = -(g/L) sin(theta) + tau/J - viscous * omega - dry * tanh(20 * omega), theta measured with noise.

    Parameters
    ----------
    machines, weeks
        Number of machines, and of logs per machine.
    seconds, period, noise
        Length and sample period of a log in seconds, sensor noise in radians.
    spread
        Relative standard deviation of the coefficients over the fleet.
    steps
        (First week, factor on the dry friction) by machine number.
    seed
        Of coefficients, torques and noise.
    """

    machines: int = 20
    weeks: int = 4
    seconds: float = 20.0
    period: float = 0.005
    noise: float = 0.002
    spread: float = 0.05
    viscous: float = 0.8
    dry: float = 1.5
    steps: Mapping[int, tuple[int, float]] = field(default_factory=dict)
    seed: int = 0

    def name(self, machine: int) -> str:
        return f"arm-{machine:04d}"

    def day(self, week: int) -> str:
        return (FIRST_DAY + timedelta(weeks=week)).isoformat()

    def coefficients(self) -> tuple[Array, Array]:
        """Viscous and dry friction, each (machines, weeks)."""
        rng = np.random.default_rng(self.seed)
        factors = 1.0 + self.spread * rng.standard_normal((2, self.machines, 1))
        viscous, dry = np.repeat(factors, self.weeks, axis=2) * np.array([self.viscous, self.dry])[:, None, None]
        for machine, (week, factor) in self.steps.items():
            dry[machine, week:] *= factor
        return viscous, dry

    def logs(self, week: int) -> tuple[Array, Array, Array]:
        """Times, torques (samples, machines) and noisy positions of one week."""
        rng = np.random.default_rng([self.seed, 1 + week])
        viscous, dry = (part[:, week] for part in self.coefficients())
        t = np.arange(round(self.seconds / self.period)) * self.period
        pace = rng.uniform(0.7, 1.3, self.machines)
        phase = rng.uniform(0.0, 2.0 * np.pi, (3, self.machines))
        torque = (
            0.15 * np.sin(np.outer(2.1 * t, pace) + phase[0])
            + 0.1 * np.sin(np.outer(0.7 * t, pace) + phase[1])
            + 0.1 * np.sign(np.sin(np.outer(0.9 * t, pace) + phase[2]))
        )
        x = np.stack([rng.uniform(-0.5, 0.5, self.machines), np.zeros(self.machines)])
        positions = np.empty((len(t), self.machines))

        def field_at(x: Array, tau: Array) -> Array:
            friction = viscous * x[1] + dry * np.tanh(SHARP * x[1])
            return np.stack([x[1], -(GRAVITY / LENGTH) * np.sin(x[0]) + tau / INERTIA - friction])

        for row in range(len(t)):
            positions[row] = x[0]
            for _ in range(2):
                x = _runge_kutta(lambda x, tau=torque[row]: field_at(x, tau), x, self.period / 2.0)
        return t, torque, positions + self.noise * rng.standard_normal(positions.shape)

    def write(self, folder: Path) -> Path:
        """Write logs as `folder/machine/date.parquet` and the physics file, whose path is returned."""
        for week in range(self.weeks):
            t, torque, positions = self.logs(week)
            for machine in range(self.machines):
                frame = pl.DataFrame({"time": t, "position": positions[:, machine], "torque": torque[:, machine]})
                place = folder / "logs" / self.name(machine)
                place.mkdir(parents=True, exist_ok=True)
                frame.write_parquet(place / f"{self.day(week)}.parquet")
        path = folder / "rig.toml"
        path.write_text(PHYSICS, encoding="utf-8")
        return path


def _runge_kutta(field_at: Any, x: Array, step: float) -> Array:
    a = field_at(x)
    b = field_at(x + step / 2.0 * a)
    c = field_at(x + step / 2.0 * b)
    d = field_at(x + step * c)
    return np.asarray(x + step / 6.0 * (a + 2.0 * b + 2.0 * c + d))
