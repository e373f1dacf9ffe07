"""
A quadrotor's drag and mass
===========================

Known: gravity and thrust. Measured: the altitude alone, 100 Hz, 2 cm of noise, and the thrust commanded. Missing: the
drag. The mass is also learned, starting from 1 kg; the report gives its interval.

.. code-block:: sh

    python examples/quadrotor_altitude.py [PICTURE.png]

.. image:: /images/example_quadrotor_altitude.png
"""

# sphinx_gallery_thumbnail_path = "images/example_quadrotor_altitude.png"

import numpy as np
from _plant import free_run_error, picture, run, sensors

import tinyude as tu

MASS, GRAVITY, DRAG = 1.1, 9.81, 0.12  # kg, m/s², N s²/m²
PERIOD = 0.01  # s; the flight controller sets a new thrust every fourth sample


def plant(x, thrust):
    _, v = x
    return [v, (thrust - DRAG * v * abs(v)) / MASS - GRAVITY]


def flight(t, *tones):
    """Hovering thrust plus sines of the given (newtons, rad/s)."""
    held = t - t % (4 * PERIOD)
    return MASS * GRAVITY + sum(newtons * np.sin(rate * held + rate) for newtons, rate in tones)


t = PERIOD * np.arange(3000)
thrust = flight(t, (2.0, 1.1), (1.5, 2.6))
altitude = sensors(run(plant, [10.0, 0.0], t, thrust)[:, 0], noise=0.02)

physics = tu.Physics(
    states=["z", "v"],
    rhs=["v", "T/m - g"],
    inputs=["T"],
    parameters={"m": tu.Parameter(1.0, learn=True, min=0.5, max=2.0), "g": GRAVITY},
)
ude = tu.UDE(physics, measured=["z"]).fit(altitude, t=PERIOD, u=thrust)
print(ude)

t = PERIOD * np.arange(800)
thrust = flight(t, (2.5, 1.4), (1.0, 3.3))
fresh = run(plant, [20.0, 1.0], t, thrust)
model = ude.simulate(fresh[0], t, thrust)
print(f"free run of 8 s: RMSE / std = {free_run_error(model, fresh):.4f}")

v = np.linspace(-3.0, 3.0, 101)
learned = ude.residual(np.column_stack([10.0 + 0.0 * v, v]), u=0.0 * v)[:, 1]
known = run(lambda x, held: physics.field(x, [held]), fresh[0], t, thrust)
picture(
    "quadrotor_altitude",
    ("the missing drag", "v [m/s]", "added to dv/dt [m/s²]", v, -DRAG / MASS * v * abs(v), 0.0 * v, learned),
    ("a free run", "time [s]", "altitude [m]", t, fresh[:, 0], known[:, 0], model[:, 0]),
)
