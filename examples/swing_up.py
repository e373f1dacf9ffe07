"""
Swing-up with the learned friction
==================================

Model predictive control, once with the fitted model, once with the known physics alone. Known: gravity, inertia and the
torque, which is too small to lift the pendulum directly. Missing: friction, -1.5 omega.
do-mpc gets the model as a CasADi function. Requires ``pip install tinyude[casadi] do-mpc``.

.. code-block:: sh

    python examples/swing_up.py [PICTURE.png]

.. image:: /images/example_swing_up.png
"""

# sphinx_gallery_thumbnail_path = "images/example_swing_up.png"

import sys
import warnings
from pathlib import Path

import casadi
import numpy as np
from _plant import BLUE, INK, ORANGE, run, sensors
from matplotlib.figure import Figure

import tinyude as tu

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # about features of do-mpc that are not installed
    import do_mpc
warnings.filterwarnings("ignore", "\ncasadi", FutureWarning)  # from do-mpc's NumPy calls on CasADi numbers

GRAVITY, LENGTH, INERTIA, FRICTION = 9.81, 0.5, 0.05, 1.5
TORQUE = 0.6  # limit in N m; gravity needs up to 0.98
STEP, SECONDS, HORIZON = 0.05, 5.0, 40  # s, s, steps


def plant(x, torque):
    theta, omega = x
    return [omega, -GRAVITY / LENGTH * np.sin(theta) + torque / INERTIA - FRICTION * omega]


# A log: the pendulum driven by two sines, 20 s at 100 Hz.
t = 0.01 * np.arange(2000)
torque = 0.5 * np.sin(2.1 * t) + 0.5 * np.sin(4.3 * t)
samples = sensors(run(plant, [0.3, 0.0], t, torque), noise=[0.002, 0.02])
physics = tu.Physics(
    states=["theta", "omega"],
    rhs=["omega", "-(g/L)*sin(theta) + tau/J"],
    inputs=["tau"],
    parameters={"g": GRAVITY, "L": LENGTH, "J": INERTIA},
)
ude = tu.UDE(physics).fit(samples, t=0.01, u=torque)
print(ude)


def known_alone(x, u):
    return casadi.vertcat(x[1], -GRAVITY / LENGTH * casadi.sin(x[0]) + u / INERTIA)


def controller(field):
    """The same controller for any model: the cost is lowest upright, the torque is limited."""
    model = do_mpc.model.Model("continuous")
    x, u = model.set_variable("_x", "x", (2, 1)), model.set_variable("_u", "u", (1, 1))
    model.set_rhs("x", field(x, u))
    model.setup()
    mpc = do_mpc.controller.MPC(model)
    mpc.settings.n_horizon, mpc.settings.t_step, mpc.settings.store_full_solution = HORIZON, STEP, False
    mpc.settings.supress_ipopt_output()
    cost = 10.0 * (1.0 + casadi.cos(x[0])) + 0.05 * x[1] ** 2
    mpc.set_objective(lterm=cost, mterm=10.0 * cost)
    mpc.set_rterm(u=0.1)
    mpc.bounds["lower", "_u", "u"], mpc.bounds["upper", "_u", "u"] = -TORQUE, TORQUE
    mpc.setup()
    return mpc


def swing_up(field):
    """States of the plant at every control step."""
    mpc, states = controller(field), [np.array([0.2, 0.0])]
    mpc.x0, mpc.u0 = states[0], np.array([0.2])
    mpc.set_initial_guess()
    for _ in range(round(SECONDS / STEP)):
        action = float(mpc.make_step(states[-1][:, None])[0, 0])
        states.append(run(lambda x, held=action: plant(x, held), states[-1], np.array([0.0, STEP]))[-1])
    return np.array(states)


def time_upright(states):
    """Time in seconds from which it stays within 8 degrees of upright."""
    away = np.flatnonzero(1.0 + np.cos(states[:, 0]) > 0.01)
    return STEP * (away[-1] + 1)


figure = Figure(figsize=(9, 3.6), layout="constrained")
axis = figure.subplots()
axis.axhline(180.0, color=INK, lw=4, alpha=0.25, label="upright")
for name, field, colour in (
    ("known physics alone", known_alone, ORANGE),
    ("with the learned friction", ude.to_casadi(), BLUE),
):
    states = swing_up(field)
    print(f"{name}: upright after {time_upright(states):.2f} s")
    angle = np.degrees(states[:, 0] * np.sign(states[-1, 0]))  # both directions of rotation count
    axis.plot(STEP * np.arange(len(states)), angle, color=colour, label=name)
axis.set(title="swing-up by model predictive control", xlabel="time [s]", ylabel="angle [degrees]")
axis.spines[["top", "right"]].set_visible(False)
axis.grid(color="#e8eaed")
axis.legend(frameon=False)
path = Path(sys.argv[1] if len(sys.argv) > 1 else "swing_up.png")
figure.savefig(path, dpi=120)
print(f"wrote {path}")
