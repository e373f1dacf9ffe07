"""The control engineer's panels: residual analysis, and poles with and without what was learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.dynamics import known_dynamics
from tinyude.model.program import model_program
from tinyude.model.quantities import times
from tinyude.model.run_findings import COLOURED, CROSSED
from tinyude.physics.programs import program_numpy
from tinyude.report.displays import centred_correlation
from tinyude.report.slices import inputs_at_windows
from tinyude.report.svg import Chart

Array = NDArray[Any]
Data = dict[str, Any]
SHOWN = 2  # channels and inputs whose correlations are drawn
DRAWS = 60  # models drawn for the spread of the poles
RAYS = (0.2, 0.4, 0.7)  # damping
ROUNDED = 1e-12  # of the largest pole: smaller ones are 0
MOST_SQUARE = 10_000.0
FEWEST = 40  # windows whose remainders are correlated
FEWEST_A_STATE = 5  # windows for each number of a linear fit
WHITE_WORDS = {"good": "✓ white", "caution": "nearly white", "bad": "✕ not white"}
CROSSED_WORDS = {"good": "✓ nothing left", "caution": "little left", "bad": "✕ left over"}
WHITE = 1.45  # times the 99 % bound of one lag: 99 % of the largest of 51 lags of white noise


def correlation_panels(ude: Any) -> list[Data]:
    """Autocorrelation of the one-step innovations and their correlation with every input.

    Of a model that was not refined: of what stays unexplained in single windows, beside the known physics alone.
    """
    found = ude.diagnostics_.get("innovations")
    return _innovation_panels(found) if found else _remainder_panels(ude)


def _innovation_panels(found: Mapping[str, Any]) -> list[Data]:
    lags, bound, alone = np.array(found["lags"]), float(found["bound"]), found.get("known")
    both = np.concatenate([-lags[:0:-1], lags])
    panels = []
    for name in list(found["auto"])[:SHOWN]:
        title = f"Innovations of {name}: autocorrelation"
        note = "Inside the band beyond lag 0 if the model explains all but white noise"
        rows = [np.array(f["auto"][name]) for f in (found, alone) if f]
        squares = [f["mean_square"][name] for f in (found, alone) if f and "mean_square" in f]
        panels.append(_correlation_panel(title, note, lags, rows, bound, squares))
    for name, crossed in list(found["cross"].items())[:SHOWN]:
        for used in list(crossed)[:SHOWN]:
            note = f"Inside the band if nothing of {used}'s effect is left over"
            rows = [np.array(f["cross"][name][used]) for f in (found, alone) if f]
            panels.append(_correlation_panel(f"Innovations of {name} against {used}", note, both, rows, bound))
    return panels


def _remainder_panels(ude: Any) -> list[Data]:
    record = ude.record_
    inputs = inputs_at_windows(ude.record_, ude.model_.physics.n_inputs)
    physics, index = ude.model_.physics.stated, ude.model_.on[0]
    step = float(np.median(np.diff(record["window_t"]))) if len(record["x"]) >= FEWEST and "dx" in record else 0.0
    if not step > 0.0:
        return []
    left = (record["dx"] - ude.predict(record["x"], inputs))[:, index]
    alone = (record["dx"] - physics.field(record["x"], inputs))[:, index]
    count = min(30, len(left) // 4)
    bound = 2.58 / np.sqrt(len(left))
    lags = step * np.arange(count + 1)
    panels = [
        _correlation_panel(
            "Unexplained remainder: autocorrelation", "Near 0 beyond one window if only noise is left", lags,
            [centred_correlation(v, v, range(count + 1)) for v in (left, alone)], bound,
        )
    ]  # fmt: skip
    both = range(-count, count + 1)
    for column, name in enumerate(physics.inputs[:3]):
        assert inputs is not None
        crossed = [centred_correlation(v, inputs[:, column], both) for v in (left, alone)]
        title, note = f"Unexplained remainder against {name}", f"Zero if nothing of {name}'s effect is left over"
        panels.append(_correlation_panel(title, note, step * np.array(both), crossed, bound))
    return panels


def _correlation_panel(
    title: str, note: str, lags: Array, rows: list[Array], bound: float, squares: Sequence[float] = ()
) -> Data:
    """rows: of the model, then perhaps of the known physics alone; squares: their mean squares over the expected."""
    largest = [float(np.max(np.abs(np.asarray(row)[lags != 0.0]))) for row in rows]
    ends = (float(lags[0]), float(lags[-1]))

    def draw(size: tuple[float, float]) -> str:
        chart = Chart(
            ends, (-1.05, 1.05), x_label="lag, s", y_label="correlation", size=size,
            alt=f"{title}: largest beyond lag 0 {largest[0]:.2f}, 99 % of white noise is within {bound:.2g}.",
        )  # fmt: skip
        chart.box(ends, (-bound, bound), "interval")
        for row, kind in reversed(list(zip(rows, ("model", "known"), strict=False))):
            chart.line(lags, row, kind)
        return chart.draw()

    crossed = lags[0] < 0.0
    words = CROSSED_WORDS if crossed else WHITE_WORDS
    far = CROSSED if crossed else COLOURED  # beyond it the verdict doubts
    rows_told = []
    for k, (who, value) in enumerate(zip(("model", "known alone"), largest, strict=False)):
        status = "good" if value <= WHITE * bound else "caution" if value <= far else "bad"
        cells = [f"{value:.2f}", *[_square(square) for square in squares[k : k + 1]]]
        rows_told.append({"who": who, "cells": cells, "status": status, "word": words[status]})
    table = {"head": ["largest", *["square / expected" for _ in squares[:1]]], "rows": rows_told}
    return {"title": title, "note": f"{note}; shaded: 99 % of white noise", "draw": draw, "table": table}


def _square(value: float) -> str:
    return times(value) if value <= MOST_SQUARE else f"over {MOST_SQUARE:,.0f}"


def poles_panel(ude: Any) -> Data | None:
    """Poles of the mean slopes of the field over the visited windows, with and without the learned part."""
    record, physics = ude.record_, ude.model_.physics
    inputs = inputs_at_windows(record, physics.n_inputs)
    x, u = record["x"], np.zeros((len(record["x"]), 0)) if inputs is None else inputs
    if len(x) < FEWEST_A_STATE * (1 + x.shape[1] + u.shape[1]):
        return None
    points = _exchanged(x, u)
    states, held = points[:, : x.shape[1]], None if inputs is None else points[:, x.shape[1] :]
    known, model = (_slopes(x, field(states, held)) for field in (known_dynamics(ude.physics).field, ude.predict))
    drawn = _drawn_poles(ude.model_, x, points)
    rows: list[Data] = []
    for name, matrix in (("known", known), ("model", model)):
        if not np.all(np.isfinite(matrix)):
            continue
        poles = np.linalg.eigvals(matrix)
        poles = np.where(np.abs(poles) > ROUNDED * np.abs(poles).max(), poles, 0.0)  # an integrator has its pole at 0
        for pole in sorted(poles, key=lambda p: (-abs(p.imag), p.real)):
            if pole.imag >= 0.0:
                spread = None if name == "known" or drawn is None else _nearest(pole, drawn)
                rows.append({
                    "who": name, "real": float(pole.real), "imag": float(pole.imag),
                    "hertz": _with_spread(_hertz, pole, spread), "damping": _with_spread(_damping, pole, spread),
                    "decay": -1.0 / float(pole.real) if pole.real < 0.0 else None,
                })  # fmt: skip
    if not rows:
        return None
    values = np.array([[r["real"], r["imag"]] for r in rows] + [[r["real"], -r["imag"]] for r in rows] + [[0.0, 0.0]])
    low, high = values.min(axis=0), values.max(axis=0)
    margin = 0.15 * np.maximum(high - low, np.array([1e-9, 0.5]))
    chart = Chart((low[0] - margin[0], high[0] + margin[0]), (low[1] - margin[1] - 1e-9, high[1] + margin[1] + 1e-9),
                  x_label="real, 1/s", y_label="imaginary, rad/s", alt="Poles: " + "; ".join(
                      f"{r['who']} {r['real']:.3g} ± {r['imag']:.3g}i" for r in rows))  # fmt: skip
    chart.box((0.0, high[0] + margin[0]), (low[1] - margin[1], high[1] + margin[1]), "unstable")
    chart.line([0.0, 0.0], [low[1] - margin[1], high[1] + margin[1]], "axis")
    if values[:, 1].any():  # real poles alone need no lines of damping
        _damping_rays(chart, low[0] - margin[0], high[1] + margin[1])
    for row in rows:
        for sign in (1.0, -1.0):
            chart.crosses([row["real"]], [sign * row["imag"]], f"{row['who']} cross")
    where = ", ".join(f"{n} {v:.3g} ± {w:.2g}" for n, v, w in zip(physics.states, x.mean(0), x.std(0), strict=True))
    return {"svg": chart.draw(), "rows": rows, "at": where}


def _damping_rays(chart: Chart, left: float, top: float) -> None:
    """Lines of equal damping from the origin to the edge of the chart; labels that would overlap are left out."""
    labelled: list[tuple[float, float]] = []
    for damping in RAYS:
        slope = np.sqrt(1.0 / damping**2 - 1.0)
        reach = min(-left, top / slope)
        for sign in (1.0, -1.0):
            chart.line([0.0, -reach], [0.0, sign * slope * reach], "ray")
        at = (-0.9 * reach, 0.9 * slope * reach)
        if all(abs(at[1] - other) > 0.16 * top or abs(at[0] - own) > -0.12 * left for own, other in labelled):
            chart.text(*at, f"ζ {damping:g}", "", "start")
            labelled.append(at)


def _elsewhere(x: Array) -> Array:
    """The states at another moment of the record, drawn anew for every row."""
    return np.asarray(x[np.random.default_rng(0).permutation(len(x))])


def _exchanged(x: Array, u: Array) -> Array:
    """The visited points, then for every state all of them with its value of another moment."""
    points = np.tile(np.hstack([x, u]), (1 + x.shape[1], 1, 1))
    for state, values in enumerate(_elsewhere(x).T):
        points[1 + state, :, state] = values
    return points.reshape(-1, points.shape[-1])


def _slopes(x: Array, rates: Array) -> Array:
    """Least squares of what rates at `_exchanged` points change with each state, all other signals as they are.

    The slope of dry friction at rest is nearly infinite; this is its mean damping over the recorded motion. A plane
    fitted to the rates would count what is correlated with a state (heat with speed) as an effect of that state.
    """
    steps = (_elsewhere(x) - x).T
    changes = rates.reshape(1 + len(steps), len(x), -1)
    weights = steps / np.maximum(np.sum(steps**2, axis=1, keepdims=True), 1e-300)
    return np.asarray(np.einsum("jr,jri->ij", weights, changes[1:] - changes[0]))


def _drawn_poles(model: Any, x: Array, points: Array) -> Array | None:
    """Poles of models drawn from the covariance of what was learned (draws, states); None where there is none."""
    if model.covariance is None or not len(model.unknowns):
        return None
    values, vectors = np.linalg.eigh(model.covariance)
    normal = np.random.default_rng(0).normal(size=(DRAWS, len(values)))
    drawn = model.unknowns + normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    program = model_program(model, unknowns=True)
    with np.errstate(all="ignore"):
        slopes = np.stack([
            _slopes(x, program_numpy(program, np.hstack([points, np.tile(one, (len(points), 1))]))) for one in drawn
        ])  # fmt: skip
    found = slopes[np.isfinite(slopes).all(axis=(1, 2))]
    return np.asarray(np.linalg.eigvals(found)) if len(found) > 1 else None


def _nearest(pole: complex, drawn: Array) -> Array:
    """Of every draw, the pole nearest to this one."""
    return np.asarray(np.take_along_axis(drawn, np.argmin(np.abs(drawn - pole), axis=1)[:, None], axis=1)[:, 0])


def _hertz(pole: Any) -> Any:
    return np.abs(pole) / (2.0 * np.pi)


def _damping(pole: Any) -> Any:
    size = np.abs(pole)
    return np.where(size > 0.0, -np.real(pole) / np.where(size > 0.0, size, 1.0), 0.0) + 0.0


def _with_spread(figure: Callable[[Any], Any], pole: complex, drawn: Array | None) -> tuple[float, float | None]:
    """A figure of a pole, and its standard deviation over the drawn ones."""
    return round(float(figure(pole)), 9) + 0.0, None if drawn is None else float(np.std(figure(drawn)))
