"""
A pendulum's forgotten damping
==============================

Known: gravity. Measured: angle and rate, 1 % noise, 20 seconds. Missing: -0.4 omega.

.. code-block:: sh

    python examples/pendulum.py [PICTURE.png]

.. image:: /images/example_pendulum.png
"""

# sphinx_gallery_thumbnail_path = "images/example_pendulum.png"

import numpy as np
from _plant import free_run_error, picture, run, sensors

import tinyude as tu

GRAVITY, LENGTH, DAMPING = 9.81, 1.0, 0.4


def plant(x):
    theta, omega = x
    return [omega, -GRAVITY / LENGTH * np.sin(theta) - DAMPING * omega]


# Sensor data: two swings from different initial states.
t = np.arange(0.0, 10.0, 0.005)
swings = [run(plant, start, t) for start in ([2.5, 0.0], [-1.2, 4.0])]
samples = [sensors(swing, noise=[0.01, 0.03], seed=k) for k, swing in enumerate(swings)]

# The known physics, and the fit to a list of records with their time stamps or sample period.
physics = tu.Physics(
    states=["theta", "omega"],
    rhs=["omega", "-(g/L)*sin(theta)"],
    parameters={"g": GRAVITY, "L": LENGTH},
)
ude = tu.UDE(physics).fit(samples, t=0.005)
print(ude)

# A motion that is not in the record, predicted from its initial state alone.
fresh = run(plant, [1.8, -2.0], t)
model = ude.simulate(fresh[0], t)
print(f"free run of 10 s: RMSE / std = {free_run_error(model, fresh):.4f}")

omega = np.linspace(-6.0, 6.0, 101)
learned = ude.residual(np.column_stack([0.0 * omega, omega]))[:, 1]
picture(
    "pendulum",
    ("the missing damping", "ω [rad/s]", "added to dω/dt [rad/s²]", omega, -DAMPING * omega, 0.0 * omega, learned),
    ("a free run", "time [s]", "θ [rad]", t, fresh[:, 0], run(physics.field, fresh[0], t)[:, 0], model[:, 0]),
)
