"""Plots of a fitted UDE as display objects in scikit-learn's manner: made from an estimator, drawn on given axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.model.correlation import correlation
from tinyude.model.validation import free_run, validate
from tinyude.report.slices import inputs_at_windows, slice_of

Array = NDArray[Any]
MEASURED, MODEL, KNOWN = "#8a9099", "#0b63b5", "#c85200"
LAGS = 40


def _axes(ax: Any, count: int, height: float = 2.6) -> tuple[Any, list[Any]]:
    """The figure and the axes to draw on: those given, or new ones."""
    if ax is None:
        import matplotlib.pyplot as plt

        figure, made = plt.subplots(count, 1, squeeze=False, layout="constrained", figsize=(7.0, height * count))
        return figure, list(made[:, 0])
    axes = list(np.atleast_1d(np.asarray(ax, dtype=object)).ravel())
    if len(axes) < count:
        raise TinyUDEError(f"ax holds {len(axes)} axes; this plot needs {count}.")
    if not all(hasattr(one, "plot") for one in axes):
        raise TinyUDEError(f"ax is {ax!r}; give axes of Matplotlib, or leave it out for a new figure.")
    return axes[0].figure, axes[:count]


@dataclass(repr=False)
class ResidualDisplay:
    """What was learned along one signal.

    Attributes
    ----------
    data : dict
        `axis`, `learned`, and with an interval `low` and `high`; `at` and `data` are the estimates of single windows.
    figure_, axes_
        Set by `plot`.
    """

    data: dict[str, Any]
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(
        cls, ude: Any, *, state: str | None = None, against: str | None = None, ax: Any = None
    ) -> ResidualDisplay:
        """From a fitted UDE; see `UDE.plot_residual`."""
        return cls(slice_of(ude, state, against)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ResidualDisplay:
        """Draw on `ax`, or on a new figure."""
        self.figure_, (axes,) = _axes(ax, 1, 3.6)
        self.axes_ = axes
        part = self.data
        axes.plot(part["at"], part["data"], ".", color=MEASURED, markersize=3, alpha=0.6, label="single windows")
        if "low" in part:
            axes.fill_between(part["axis"], part["low"], part["high"], color=MODEL, alpha=0.2, label="90 % interval")
        axes.plot(part["axis"], part["learned"], color=MODEL, label="learned")
        axes.axhline(0.0, color=MEASURED, linewidth=0.6)
        axes.set(xlabel=part["against"], ylabel=f"added to d({part['state']})/dt")
        axes.legend()
        return self


@dataclass(repr=False)
class FreeRunDisplay:
    """A free run and the measured signals.

    Attributes
    ----------
    run : dict
        `t`, `names`, `reference`, `model`, `known` (columns in the order of `names`), `total_error`.
    figure_, axes_
        Set by `plot`; one axes for each name.
    """

    run: dict[str, Any]
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(
        cls, ude: Any, Y: Any = None, t: Any = None, u: Any = None, *, start: float | None = None, ax: Any = None
    ) -> FreeRunDisplay:
        """From a fitted UDE and a record; see `UDE.plot_free_run`."""
        return cls(record_run(ude, Y, t, u, start)).plot(ax=ax)

    def plot(self, *, ax: Any = None) -> FreeRunDisplay:
        """Draw on `ax`, one axes a signal, or on a new figure."""
        run = self.run
        self.figure_, self.axes_ = _axes(ax, len(run["names"]))
        for column, (axes, name) in enumerate(zip(self.axes_, run["names"], strict=True)):
            axes.plot(run["t"], run["reference"][:, column], color=MEASURED, linewidth=3, alpha=0.6, label="measured")
            axes.plot(run["t"], run["known"][:, column], "--", color=KNOWN, linewidth=1.2, label="known physics alone")
            axes.plot(run["t"], run["model"][:, column], color=MODEL, linewidth=1.4, label="model")
            axes.set_ylabel(name)
            low, high = np.nanmin(run["reference"][:, column]), np.nanmax(run["reference"][:, column])
            room = (high - low) or 1.0
            axes.set_ylim(low - 0.5 * room, high + 0.5 * room)
        self.axes_[-1].set_xlabel("time since the start of the run [s]")
        self.axes_[0].legend()
        return self


@dataclass(repr=False)
class ResidualAnalysisDisplay:
    """Correlations of what stays unexplained of one rate.

    Attributes
    ----------
    state : str
    lags : ndarray
        Seconds.
    auto : ndarray
        Autocorrelation of the one-step innovations; without refinement, of what single windows leave unexplained.
    cross : dict of str to ndarray
        With every input, at lags of either sign.
    bound : float
        99 % bound of white noise.
    figure_, axes_
        Set by `plot`.
    """

    state: str
    lags: Array
    auto: Array
    cross: dict[str, Array] = field(default_factory=dict)
    bound: float = 0.0
    figure_: Any = None
    axes_: Any = None

    @classmethod
    def from_estimator(cls, ude: Any, *, ax: Any = None) -> ResidualAnalysisDisplay:
        """From a fitted UDE; see `UDE.plot_residual_analysis`."""
        found = getattr(ude, "diagnostics_", {}).get("innovations")
        if found:
            name = next(iter(found["auto"]))
            cross = {used: np.array(values) for used, values in found["cross"][name].items()}
            shown = cls(name, np.array(found["lags"]), np.array(found["auto"][name]), cross, float(found["bound"]))
            return shown.plot(ax=ax)
        record = getattr(ude, "record_", None)
        if record is None or len(record["x"]) < 3:
            raise TinyUDEError("There is no record to analyse; residual analysis is available after fit().")
        physics = ude.model_.physics
        inputs = inputs_at_windows(record, physics.n_inputs)
        state = ude.model_.on[0]
        left = (record["dx"] - ude.predict(record["x"], inputs))[:, state]
        step = float(np.median(np.diff(record["window_t"])))
        count = min(LAGS, len(left) // 4)
        auto = centred_correlation(left, left, range(count + 1))
        cross = {
            name: centred_correlation(left, inputs[:, k], range(-count, count + 1))
            for k, name in enumerate(physics.inputs)
            if inputs is not None
        }
        display = cls(physics.states[state], step * np.arange(count + 1), auto, cross, 2.58 / np.sqrt(len(left)))
        return display.plot(ax=ax)

    def plot(self, *, ax: Any = None) -> ResidualAnalysisDisplay:
        """Draw on `ax`: the first for the autocorrelation, one more for each input."""
        self.figure_, self.axes_ = _axes(ax, 1 + len(self.cross))
        panels = [("autocorrelation", self.lags, self.auto)]
        both = np.concatenate([-self.lags[:0:-1], self.lags])
        panels += [(f"against {name}", both, values) for name, values in self.cross.items()]
        for axes, (title, lags, values) in zip(self.axes_, panels, strict=True):
            axes.axhspan(-self.bound, self.bound, color=MODEL, alpha=0.15, label="99 % bound of white noise")
            axes.plot(lags, values, color=MODEL, marker=".", markersize=3)
            axes.set(title=f"unexplained in {self.state}: {title}", xlabel="lag [s]", ylim=(-1.05, 1.05))
        self.axes_[0].legend()
        return self


def centred_correlation(a: Array, b: Array, lags: Sequence[int]) -> Array:
    """Correlation of a(t) with b(t - lag)."""
    return correlation(a - np.mean(a), b - np.mean(b), lags)


def record_run(
    ude: Any, Y: Any = None, t: Any = None, u: Any = None, start: float | None = None, most: float = np.inf
) -> dict[str, Any]:
    """A free run over a record, or at most `most` seconds of the excerpt of the fitted one, from the first window after
    `start`.

    Without `start`, the excerpt's longest stretch in which the state does not jump: a model cannot follow a kick
    that is not among its inputs.
    """
    if Y is None:
        return _excerpt_run(ude, start, most)
    stream = ude._options.stream(Y, t, u)
    run = stream.longest
    times = run.start + np.arange(len(run.samples)) * stream.period
    rows = times >= times[0] + (start or 0.0)
    log = Log(times[rows], run.samples[rows], run.inputs[rows] if ude.model_.physics.n_inputs else None)
    return validate(ude, log)


def _excerpt_run(ude: Any, start: float | None, most: float) -> dict[str, Any]:
    record = getattr(ude, "record_", None)
    if record is None or len(record["x"]) < 2:
        raise TinyUDEError("There is no record for a free run; give Y, t and u.")
    times, begins, seconds = record["t"], record["window_t"], record.get("steady")
    if start is None and seconds is not None:
        first = int(np.argmax(np.minimum(seconds, times[-1] - begins)))
        end = begins[first] + seconds[first]
    else:
        first = min(int(np.searchsorted(begins, times[0] + (start or 0.0))), len(begins) - 2)
        end = times[-1]
    end = min(end, begins[first] + most)
    thin = -(-len(record["u"]) // len(times))  # inputs have a row for every sample, the rest one in so many
    samples = times[0] + (times[-1] - times[0]) / (thin * (len(times) - 1)) * np.arange(thin * (len(times) - 1) + 1)
    measured = np.full((len(samples), record["Y"].shape[1]), np.nan)
    measured[::thin] = record["Y"]
    middle = 0.5 * (samples[1] - samples[0])
    rows = np.flatnonzero((samples > begins[first] - middle) & (samples < end + middle))
    held = record["u"][rows] if ude.model_.physics.n_inputs else None
    run = free_run(ude, samples[rows], measured[rows], name="measured", x0=record["x"][first], u=held)
    shown = rows % thin == 0
    series = ("t", "reference", "model", "known", "states", "inputs")
    return run | {name: run[name][shown] for name in series if run[name] is not None}
