"""
A cart with a pole: four states, two of them measured
=====================================================

Known: the frictionless equations of motion. Measured: the cart's position and the pole's angle, 200 Hz, and the force.
Missing: friction of the wheels and of the pivot, which acts on both accelerations through the mass matrix. It is found
as a force and as a torque. The pivot has no motor: its torque T is stated all the same, as an input that is 0.

.. code-block:: sh

    python examples/cart_pole.py [PICTURE.png]

.. image:: /images/example_cart_pole.png
"""

# sphinx_gallery_thumbnail_path = "images/example_cart_pole.png"

import numpy as np
from _plant import free_run_error, picture, run, sensors

import tinyude as tu

CART, POLE, LENGTH, GRAVITY = 0.8, 0.2, 0.4, 9.81  # kg, kg, m, m/s²
WHEELS, PIVOT = 0.6, 0.012  # N s/m, N m s/rad
PERIOD = 0.005  # s; a new force every eighth sample


def plant(x, force):
    _, theta, v, omega = x
    sine, cosine = np.sin(theta), np.cos(theta)
    push, twist = force - WHEELS * v, -PIVOT * omega
    mass = CART + POLE * sine**2
    acceleration = (push + POLE * sine * (LENGTH * omega**2 + GRAVITY * cosine) - cosine * twist / LENGTH) / mass
    return [v, omega, acceleration, (twist / (POLE * LENGTH) - cosine * acceleration - GRAVITY * sine) / LENGTH]


def without_motor(force):
    return np.stack([force, np.zeros(len(force))], axis=1)


def push(t, *tones):
    held = t - t % (8 * PERIOD)
    return sum(newtons * np.sin(rate * held + rate) for newtons, rate in tones)


t = PERIOD * np.arange(4000)
force = push(t, (3.0, 2.2), (1.5, 6.3))
samples = sensors(run(plant, [0.0, 2.0, 0.0, 0.0], t, force)[:, :2], noise=0.001)

acceleration = "(F + m*sin(theta)*(l*omega**2 + g*cos(theta)) - cos(theta)*T/l)/(M + m*sin(theta)**2)"
physics = tu.Physics(
    states=["x", "theta", "v", "omega"],
    rhs=["v", "omega", acceleration, f"(T/(m*l) - cos(theta)*{acceleration} - g*sin(theta))/l"],
    inputs=["F", "T"],
    parameters={"M": CART, "m": POLE, "l": LENGTH, "g": GRAVITY},
)
ude = tu.UDE(physics, measured=["x", "theta"]).fit(samples, t=PERIOD, u=without_motor(force))
print(ude)

t = PERIOD * np.arange(1600)
force = push(t, (2.0, 3.4), (1.2, 5.3))
fresh = run(plant, [0.0, -0.5, 0.0, 0.0], t, force)
model = ude.simulate(fresh[0], t, without_motor(force))
print(f"free run of 8 s: RMSE / std = {free_run_error(model, fresh):.4f}")

v, omega = np.linspace(-2.0, 2.0, 101), np.linspace(-7.0, 7.0, 101)
at_rest = 0.0 * v
wheels = CART * ude.residual(np.column_stack([at_rest, at_rest, v, at_rest]), u=without_motor(at_rest))[:, 2]
pivot = ude.residual(np.column_stack([at_rest, at_rest, at_rest, omega]), u=without_motor(at_rest))[:, 3]
truth = -PIVOT * omega * (1.0 / POLE + 1.0 / CART) / LENGTH**2
known = run(lambda x, held: physics.field(x, [held, 0.0]), fresh[0], t, force)
picture(
    "cart_pole",
    ("friction of the wheels", "v [m/s]", "force on the cart [N]", v, -WHEELS * v, at_rest, wheels),
    ("friction of the pivot", "ω [rad/s]", "added to dω/dt [rad/s²]", omega, truth, at_rest, pivot),
    ("a free run", "time [s]", "θ [rad]", t, fresh[:, 1], known[:, 1], model[:, 1]),
)
