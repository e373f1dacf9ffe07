"""What the examples share: a simulated plant, its sensors, the score of a free run, and the picture."""

import sys
from itertools import pairwise
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from scipy.integrate import solve_ivp

BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#1b1f24"  # of Okabe and Ito's colours, which colour-blind readers tell apart


def run(field, start, times, u=None):
    """States of dx/dt = field(x) or field(x, u) at the given times; u[k] is held from times[k] to the next."""
    if u is None:
        return _solve(field, start, times)
    states = np.empty((len(times), len(start)))
    states[0] = start
    jumps = np.flatnonzero(np.diff(u)) + 1
    for first, last in pairwise(np.unique([0, *jumps, len(times) - 1])):
        part = slice(first, last + 1)
        states[part] = _solve(lambda x, held=u[first]: field(x, held), states[first], times[part])
    return states


def _solve(field, start, times):
    solution = solve_ivp(lambda _, x: field(x), times[[0, -1]], start, t_eval=times, rtol=1e-8, atol=1e-10)
    return solution.y.T


def sensors(states, noise, seed=0):
    """What sensors give: the states with white noise, `noise` in the units of each."""
    return states + noise * np.random.default_rng(seed).standard_normal(states.shape)


def free_run_error(model, truth):
    """RMSE over the standard deviation, over all states."""
    return float(np.sqrt(np.mean(((model - truth) / truth.std(axis=0)) ** 2)))


def picture(name, missing, free_run):
    """One panel for each (title, x label, y label, x, learned, truth) of `missing`, then one for the free run:
    (y label, times, truth, known physics alone, model). Goes to the path given on the command line, or to NAME.png."""
    widths = [1.0] * len(missing) + [1.6]
    figure, axes = plt.subplots(1, len(widths), figsize=(11, 3.6), width_ratios=widths, layout="constrained")
    for axis, (title, x_label, y_label, x, learned, truth) in zip(axes, missing, strict=False):
        axis.plot(x, truth, color=INK, lw=4, alpha=0.25, label="truth")
        axis.plot(x, learned, color=BLUE, lw=1.6, dashes=(5, 1.5), label="learned")
        axis.set(title=title, xlabel=x_label, ylabel=y_label)
    y_label, times, truth, known, model = free_run
    axes[-1].plot(times, truth, color=INK, lw=4, alpha=0.25, label="truth")
    axes[-1].plot(times, known, color=ORANGE, lw=1.2, label="known physics alone")
    axes[-1].plot(times, model, color=BLUE, lw=1.6, dashes=(5, 1.5), label="learned")
    axes[-1].set(title="a free run, never seen", xlabel="time", ylabel=y_label)
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#e8eaed")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else f"{name}.png")
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")
