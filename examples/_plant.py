"""Common parts of the examples: a simulated plant, its sensors, the score of a free run, and the figure."""

import sys
from itertools import pairwise
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from scipy.integrate import solve_ivp

BLUE, ORANGE, INK = "#0072B2", "#D55E00", "#1b1f24"  # from Okabe and Ito's palette for colour-blind readers


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
    """Sensor readings: the states with white noise, `noise` in the units of each state."""
    return states + noise * np.random.default_rng(seed).standard_normal(states.shape)


def free_run_error(model, truth):
    """RMSE / standard deviation, over all states."""
    return float(np.sqrt(np.mean(((model - truth) / truth.std(axis=0)) ** 2)))


def picture(name, *panels):
    """Panels side by side, each (title, x label, y label, x, truth, known physics alone, learned), the last one wider.

    Written to the path given on the command line, or to NAME.png in the current folder.
    """
    widths = [1.0] * (len(panels) - 1) + [1.6]
    figure = Figure(figsize=(11, 3.6), layout="constrained")
    axes = figure.subplots(1, len(panels), width_ratios=widths)
    figure.get_layout_engine().set(w_pad=0.12)
    for axis, (title, x_label, y_label, x, truth, known, learned) in zip(axes, panels, strict=True):
        axis.plot(x, truth, color=INK, lw=4, alpha=0.25, label="truth")
        axis.plot(x, known, color=ORANGE, lw=1.2, label="known physics alone")
        axis.plot(x, learned, color=BLUE, lw=1.6, dashes=(5, 1.5), label="learned")
        low, high, span = np.min(truth), np.max(truth), np.ptp(truth)
        shown = np.clip(known, low - span, high + span)  # an incomplete model may diverge
        axis.set_ylim(min(low, shown.min()) - 0.08 * span, max(high, shown.max()) + 0.08 * span)
        axis.set(title=title, xlabel=x_label, ylabel=y_label)
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(color="#e8eaed")
    figure.legend(*axes[-1].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else f"{name}.png")
    figure.savefig(path, dpi=120)
    print(f"wrote {path}")
