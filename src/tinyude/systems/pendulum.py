"""The damped single pendulum (paper eqs. pend_1, pend_2), with a choice of frictions for the network to find."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.expressions import Array
from tinyude.systems.system import Impulses, System, case_named

GRAVITY = 9.81
DAMPING = 0.4

Residual = Callable[[Array, Array], Array]


def _linear(damping: float, theta: Array, omega: Array) -> Array:
    return -damping * omega


def _quadratic(theta: Array, omega: Array) -> Array:
    return -0.15 * omega * np.abs(omega)


def _dry(theta: Array, omega: Array) -> Array:
    return -0.5 * np.tanh(5.0 * omega) - 0.1 * omega


def _cogging(theta: Array, omega: Array) -> Array:
    return -0.3 * np.sin(6.0 * theta)


def _stribeck(theta: Array, omega: Array) -> Array:
    """Breakaway 0.6 falls to Coulomb 0.3 with the Stribeck velocity 0.5 rad/s; tanh smooths the sign; viscous 0.1."""
    return -(0.3 + 0.3 * np.exp(-((omega / 0.5) ** 2))) * np.tanh(10.0 * omega) - 0.1 * omega


RESIDUALS: dict[str, Residual] = {
    "quadratic": _quadratic, "dry": _dry, "cogging": _cogging, "stribeck": _stribeck,
}  # fmt: skip


@dataclass(frozen=True)
class _Truth:
    """The plant: gravity and friction, which may change at a time."""

    pull: float  # gravity over length
    friction: Residual
    changed: Residual
    change_time: float

    def __call__(self, x: Array, time: float) -> Array:
        theta, omega = x[..., 0], x[..., 1]
        force = self.friction if time < self.change_time else self.changed
        rates = np.empty(x.shape, np.result_type(x, np.float64))
        rates[..., 0] = omega
        rates[..., 1] = -self.pull * np.sin(theta) + force(theta, omega)
        return rates


def pendulum(
    case: str = "A",
    residual: str | Residual | None = None,
    *,
    gravity: float = GRAVITY,
    length: float = 1.0,
    damping: float = DAMPING,
    damping_change: tuple[float, float] | None = None,
) -> System:
    """Make a pendulum with states (theta, omega), kicked every 4 s, observed for 60 s at 1 kHz from (1.2, 0).

    Parameters
    ----------
    case : {"A", "B", "C"}, default "A"
        What the known physics has. A: gravity. B: nine tenths of gravity, and the damping. C: nine tenths of gravity.
    residual : str or callable, optional
        What the plant has beyond gravity: "linear" (default), "quadratic", "dry", "cogging", "stribeck", or a function
        of (theta, omega).
    gravity : float, default 9.81
        In m/s^2.
    length : float, default 1.0
        In m.
    damping : float, default 0.4
        Linear damping in 1/s.
    damping_change : tuple of float, optional
        (time, value): the linear damping changes to `value` at `time`.

    Returns
    -------
    System
        The plant, its known physics and its streams.

    Examples
    --------
    >>> import tinyude as tu
    >>> t, Y = tu.systems.pendulum("A").stream(noise=0.01, seed=0)
    >>> Y.shape
    (60000, 2)
    """
    chosen = case_named(case)
    linear = residual is None or residual == "linear"
    if not linear and (chosen.damping_known or damping_change is not None):
        raise TinyUDEError(
            f"Case B and damping_change are about linear damping, but the residual is {residual!r}; leave one out."
        )
    friction = _friction(residual, damping)
    changed = friction if damping_change is None else _friction(None, damping_change[1])
    change_time = np.inf if damping_change is None else damping_change[0]

    theta, omega, g, L, c = sp.symbols("theta omega g L c")
    parameters = {g: chosen.gravity_factor * gravity, L: length}
    acceleration = -(g / L) * sp.sin(theta)
    if chosen.damping_known:
        acceleration -= c * omega
        parameters[c] = damping
    return System(
        name="pendulum",
        physics=Physics([theta, omega], [omega, acceleration], parameters=parameters),
        field=_Truth(gravity / length, friction, changed, change_time),
        start=(1.2, 0.0),
        start_spread=(0.0, 0.0),
        seconds=60.0,
        velocities=(1,),
        impulses=Impulses(period=4.0, state=1, low=2.0, high=4.0),
        switch_times=() if damping_change is None else (damping_change[0],),
        box=((-1.2, 1.2), (-3.5, 3.5)),
    )


def _friction(residual: str | Residual | None, damping: float) -> Residual:
    if residual is None or residual == "linear":
        return partial(_linear, damping)
    if isinstance(residual, str):
        if residual not in RESIDUALS:
            raise TinyUDEError(f"No residual {residual!r}; choose linear, {', '.join(RESIDUALS)} or give a function.")
        return RESIDUALS[residual]
    return residual
