"""
A DC motor by its encoder alone
===============================

Known: the motor's constants and its voltage. Measured: the shaft's angle alone, 500 Hz; the speed is its rate. Missing:
viscous and dry friction, and the weight that hangs on the shaft.

.. code-block:: sh

    python examples/dc_motor.py [PICTURE.png]

.. image:: /images/example_dc_motor.png
"""

# sphinx_gallery_thumbnail_path = "images/example_dc_motor.png"

import numpy as np
from _plant import free_run_error, picture, run, sensors

import tinyude as tu

TORQUE, RESISTANCE, INERTIA = 0.5, 2.0, 0.02  # V s/rad, ohm, kg m²
VISCOUS, DRY, LOAD = 0.02, 0.3, 0.4  # N m s/rad, N m, N m
PERIOD = 0.002  # s; the controller sets a new voltage every tenth sample


def plant(x, voltage):
    theta, omega = x
    torque = TORQUE * (voltage - TORQUE * omega) / RESISTANCE
    return [omega, (torque + missing(theta, omega)) / INERTIA]


def missing(theta, omega):
    return -VISCOUS * omega - DRY * np.tanh(10.0 * omega) - LOAD * np.sin(theta)


def controller(t, *tones):
    """Sines of the given (volts, rad/s), held for ten samples."""
    held = t - t % (10 * PERIOD)
    return sum(volts * np.sin(rate * held + rate) for volts, rate in tones)


t = PERIOD * np.arange(7500)
voltage = controller(t, (4.0, 0.9), (3.0, 2.3), (1.5, 5.1))
angle = sensors(run(plant, [0.0, 0.0], t, voltage)[:, 0], noise=0.001)

physics = tu.Physics(
    states=["theta", "omega"],
    rhs=["omega", "K*(V - K*omega)/(R*J)"],
    inputs=["V"],
    parameters={"K": TORQUE, "R": RESISTANCE, "J": INERTIA},
    angles=["theta"],  # periodic: the load may depend on its sine and cosine
)
ude = tu.UDE(physics, measured=["theta"]).fit(angle, t=PERIOD, u=voltage)
print(ude)

t = PERIOD * np.arange(3000)
voltage = controller(t, (5.0, 1.4), (2.0, 3.3))
fresh = run(plant, [0.5, 0.0], t, voltage)
model = ude.simulate(fresh[0], t, voltage)
print(f"free run of 6 s: RMSE / std = {free_run_error(model, fresh):.4f}")

omega, theta = np.linspace(-8.0, 8.0, 201), np.linspace(-np.pi, np.pi, 201)
friction = INERTIA * ude.residual(np.column_stack([0.0 * omega, omega]), u=0.0 * omega)[:, 1]
load = INERTIA * ude.residual(np.column_stack([theta, 0.0 * theta]), u=0.0 * theta)[:, 1]
known = run(lambda x, held: physics.field(x, [held]), fresh[0], t, voltage)
picture(
    "dc_motor",
    ("the missing friction", "ω [rad/s]", "torque [N m]", omega, missing(0.0, omega), 0.0 * omega, friction),
    ("the missing load", "θ [rad]", "torque [N m]", theta, missing(theta, 0.0), 0.0 * theta, load),
    ("a free run", "time [s]", "θ [rad]", t, fresh[:, 0], known[:, 0], model[:, 0]),
)
