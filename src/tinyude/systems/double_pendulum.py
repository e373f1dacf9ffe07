"""The chaotic damped double pendulum (paper eqs. dp1, dp2)."""

from __future__ import annotations

from functools import partial

import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.expressions import Array
from tinyude.systems.system import System, case_named

GRAVITY = 9.81


def double_pendulum(
    case: str = "A",
    *,
    masses: tuple[float, float] = (1.0, 1.0),
    lengths: tuple[float, float] = (1.0, 1.0),
    damping: tuple[float, float] = (0.15, 0.15),
    gravity: float = GRAVITY,
) -> System:
    """Make a double pendulum: two point masses on rods, released and observed for 20 s at 1 kHz.

    The states are (theta1, theta2, omega1, omega2); the start is (2, 2.4, 0, 0), with N(0, 0.05) added to the angles
    for seeds other than 0. Damping is -c omega in each angular acceleration, as in the paper's equations of motion.
    (Its appendix puts -c omega on the right of the mass-matrix form, which after inversion couples the two; the forms
    agree only without damping.)

    Parameters
    ----------
    case : {"A", "B", "C"}, default "A"
        What the known physics has: see `pendulum`.
    masses : tuple of float, default (1.0, 1.0)
        In kg.
    lengths : tuple of float, default (1.0, 1.0)
        In m.
    damping : tuple of float, default (0.15, 0.15)
        In 1/s.
    gravity : float, default 9.81
        In m/s^2.

    Returns
    -------
    System
        The plant, its known physics and its streams.
    """
    if min(*masses, *lengths) <= 0.0:
        raise TinyUDEError(f"Masses {masses} and lengths {lengths} must all be above 0.")
    chosen = case_named(case)
    truth = _equations(masses, lengths, damping, gravity)
    known_damping = damping if chosen.damping_known else None
    return System(
        name="double pendulum",
        physics=_equations(masses, lengths, known_damping, chosen.gravity_factor * gravity),
        field=partial(_rates, truth),
        start=(2.0, 2.4, 0.0, 0.0),
        start_spread=(0.05, 0.05, 0.0, 0.0),
        seconds=20.0,
        velocities=(2, 3),
    )


def _rates(truth: Physics, x: Array, time: float) -> Array:
    del time  # it does not change
    return truth.field(x)


def _equations(
    masses: tuple[float, float], lengths: tuple[float, float], damping: tuple[float, float] | None, gravity: float
) -> Physics:
    theta1, theta2, omega1, omega2 = states = sp.symbols("theta1 theta2 omega1 omega2")
    m1, m2, l1, l2, g, c1, c2 = sp.symbols("m1 m2 l1 l2 g c1 c2")
    delta = theta1 - theta2
    denominator = 2 * m1 + m2 - m2 * sp.cos(2 * delta)
    pull1 = -g * (2 * m1 + m2) * sp.sin(theta1) - m2 * g * sp.sin(theta1 - 2 * theta2)
    swing1 = -2 * sp.sin(delta) * m2 * (omega2**2 * l2 + omega1**2 * l1 * sp.cos(delta))
    swing2 = omega1**2 * l1 * (m1 + m2) + g * (m1 + m2) * sp.cos(theta1) + omega2**2 * l2 * m2 * sp.cos(delta)
    acceleration1 = (pull1 + swing1) / (l1 * denominator)
    acceleration2 = 2 * sp.sin(delta) * swing2 / (l2 * denominator)
    values = {m1: masses[0], m2: masses[1], l1: lengths[0], l2: lengths[1], g: gravity}
    if damping is not None:
        acceleration1 -= c1 * omega1
        acceleration2 -= c2 * omega2
        values |= {c1: damping[0], c2: damping[1]}
    return Physics(states, [omega1, omega2, acceleration1, acceleration2], parameters=values)
