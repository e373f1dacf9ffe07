"""The figures of docs/tools.md: one fitted pendulum in SymPy, python-control, JAX and an FMU.

python tools/tool_pictures.py    (requires tinyude[control,jax] and fmpy)
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import control
import jax
import matplotlib
import numpy as np
import sympy as sp
from fmpy import simulate_fmu

import tinyude as tu
from tinyude.export.fmu import write_fmu

matplotlib.use("Agg")
from matplotlib import pyplot as plt

IMAGES = Path(__file__).parents[1] / "docs" / "images"
LEARNED, KNOWN, OTHER = "#2b6cb0", "#9b2c2c", "#1b1f24"
START = [2.0, 0.0]


def main() -> None:
    """Fit once, draw four times."""
    physics = tu.Physics(["theta", "omega"], ["omega", "-(g/L)*sin(theta)"], parameters={"g": 9.81, "L": 1.0})
    t, Y = tu.systems.pendulum("A").stream(noise=0.01)
    ude = tu.UDE(physics).fit(Y, t=t)
    for name, draw in (("sympy", phase_portrait), ("control", linear_response), ("jax", slopes), ("fmu", fmu_run)):
        figure, axes = plt.subplots(figsize=(6.0, 2.8), layout="constrained")
        draw(ude, axes)
        axes.legend(fontsize=8, loc="upper center" if name == "jax" else "upper right")
        figure.savefig(IMAGES / f"tools_{name}.png", dpi=110, metadata={"Software": None})
        print(f"wrote tools_{name}.png")


def phase_portrait(ude: tu.UDE, axes: plt.Axes) -> None:
    """The field of `to_sympy`, compiled by `sympy.lambdify`, and one trajectory of the model."""
    field = ude.to_sympy()
    compiled = sp.lambdify(sp.symbols("theta omega", real=True), list(field.values()))
    theta, omega = np.meshgrid(np.linspace(-3.0, 3.0, 60), np.linspace(-7.0, 7.0, 60))
    rates = [np.broadcast_to(rate, theta.shape) for rate in compiled(theta, omega)]
    axes.streamplot(theta, omega, *rates, color="0.75", density=0.8, linewidth=0.6, arrowsize=0.7)
    states = ude.simulate(START, np.arange(0.0, 12.0, 0.01))
    axes.plot(states[:, 0], states[:, 1], color=LEARNED, label="simulate, from 2 rad at rest")
    axes.set(xlabel="theta, rad", ylabel="omega, rad/s")


def linear_response(ude: tu.UDE, axes: plt.Axes) -> None:
    """The linear system of `to_control` at the lower equilibrium, and the model."""
    times = np.arange(0.0, 8.0, 0.01)
    linear = control.initial_response(ude.to_control(at=[0.0, 0.0]), times, START)
    axes.plot(times, ude.simulate(START, times)[:, 0], color=LEARNED, label="the model")
    axes.plot(times, linear.outputs[0], "--", color=KNOWN, label="linearised at rest")
    axes.set(xlabel="time, s", ylabel="theta, rad")


def slopes(ude: tu.UDE, axes: plt.Axes) -> None:
    """A loss over the learned coefficient, with the slope of `jax.grad` at each point."""
    jax.config.update("jax_enable_x64", True)
    model = ude.to_jax()
    states = np.random.default_rng(0).normal(size=(200, 2)) * [1.0, 3.0]
    rates = jax.vmap(lambda x: model(x))(states)

    def loss(unknowns: jax.Array) -> jax.Array:
        return ((jax.vmap(lambda x: model(x, unknowns=unknowns))(states) - rates) ** 2).mean()

    values = model.unknowns[0] + np.linspace(-0.3, 0.3, 61)
    axes.plot(values, [loss(np.array([v])) for v in values], color=LEARNED, label="squared difference of the rates")
    for v in values[6::12]:
        slope, height = jax.grad(loss)(np.array([v]))[0], loss(np.array([v]))
        ends = np.array([v - 0.04, v + 0.04])
        axes.plot(ends, height + slope * (ends - v), color=KNOWN, label="slope by jax.grad" if v == values[6] else None)
    axes.set(xlabel="coefficient of omega, 1/s", ylabel="loss")


def fmu_run(ude: tu.UDE, axes: plt.Axes) -> None:
    """Co-simulation of the exported FMU in fmpy, and `simulate`."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pendulum.fmu"
        write_fmu(ude.model_, str(path), "pendulum")
        run = simulate_fmu(str(path), start_values={"theta": START[0]}, stop_time=8.0, output_interval=0.02)
    axes.plot(run["time"], ude.simulate(START, run["time"])[:, 0], color=LEARNED, linewidth=3.0, label="simulate")
    axes.plot(run["time"], run["theta"], "--", color=OTHER, label="the FMU in fmpy")
    axes.set(xlabel="time, s", ylabel="theta, rad")


if __name__ == "__main__":
    main()
