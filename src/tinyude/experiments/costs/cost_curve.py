"""How an update's time on this host grows with the network's width and with the number of states."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from tinyude import native
from tinyude.export.boards.memory_presets import board_config
from tinyude.physics import Physics
from tinyude.report.figures import save_figure
from tinyude.training.known import known_programs

WIDTHS = (8, 16, 32, 64, 128)  # of two hidden layers, with two states
STATES = (2, 4, 6, 8, 10, 12)  # with hidden layers of 16
STEPS, REPEATS, SAMPLES = 20, 30, 600


def cost_curve() -> dict[str, Any]:
    """Microseconds per first-order update (batch 64) by width and by states, and the exponents of fitted power laws."""
    widths = {str(width): update_microseconds(2, width) for width in WIDTHS}
    states = {str(count): update_microseconds(count, 16) for count in STATES}
    return {
        "by width": widths,
        "by states": states,
        "exponent of the width": exponent(widths),
        "exponent of the states": exponent(states),
    }


def update_microseconds(states: int, width: int) -> float:
    """The shortest of several short timings, which interruptions affect least."""
    names = [f"x{i}" for i in range(states)]
    physics = Physics(names, [f"-{i + 1}*{name}" for i, name in enumerate(names)])
    config = board_config(
        physics, "paper-v2", samples=SAMPLES, hidden=(width, width), second_order=0.0, gated=False, train_every=0,
        calibration=SAMPLES // 2, max_half=100, stride=1, reservoir=256,
    )  # fmt: skip
    learner = native.NativeLearner(config, known_programs(physics, [], config.on), "float32")
    phase = np.arange(1, states + 1) * np.arange(SAMPLES)[:, None] * 1e-3
    learner.push(np.sin(phase) + 1e-3 * np.random.default_rng(0).standard_normal(phase.shape))
    best = np.inf
    for _ in range(REPEATS):
        started = time.perf_counter()
        learner.step(STEPS)
        best = min(best, time.perf_counter() - started)
    return 1e6 * best / STEPS


def plot_cost_curve(curve: dict[str, Any], path: Path) -> None:
    """Both curves with their fitted power laws; the file's suffix selects the format (SVG, PNG, ...)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 3.2), layout="constrained")
    panels = (("by width", "units of a hidden layer", "width"), ("by states", "states", "states"))
    for axes, (name, label, size) in zip(figure.subplots(1, 2), panels, strict=True):
        x, y = np.array([float(key) for key in curve[name]]), np.array(list(curve[name].values()))
        power = curve[f"exponent of the {size}"]
        axes.loglog(x, y, "o")
        axes.loglog(x, np.exp(np.log(y).mean()) * (x / np.exp(np.log(x).mean())) ** power)
        axes.set(xlabel=label, ylabel="µs an update", title=f"grows as {label}^{power:.2f}")
    save_figure(figure, path)


def exponent(times: dict[str, float]) -> float:
    """Slope of a least-squares line in log-log coordinates."""
    return float(np.polyfit(np.log([float(size) for size in times]), np.log(list(times.values())), 1)[0])
