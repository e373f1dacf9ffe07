"""The control engineer's panels: residual analysis, and poles with and without what was learned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model.dynamics import known_dynamics
from tinyude.model.program import model_program
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.programs import program_numpy
from tinyude.report.displays import correlation
from tinyude.report.slices import inputs_at_windows
from tinyude.report.svg import Chart

Array = NDArray[Any]
Data = dict[str, Any]
SHOWN = 2  # channels and inputs whose correlations are drawn
DRAWS = 60  # models drawn for the spread of the poles


def correlation_panels(ude: Any) -> list[Data]:
    """Autocorrelation of the one-step innovations and their correlation with every input.

    Of a model that was not refined: of what stays unexplained in single windows, beside the known physics alone.
    """
    found = ude.diagnostics_.get("innovations")
    return _innovation_panels(found) if found else _remainder_panels(ude)


def _innovation_panels(found: Mapping[str, Any]) -> list[Data]:
    lags, bound = np.array(found["lags"]), float(found["bound"])
    both = np.concatenate([-lags[:0:-1], lags])
    panels = []
    for name, auto in list(found["auto"].items())[:SHOWN]:
        title = f"Innovations of {name}: autocorrelation"
        note = "Inside the band beyond lag 0 if the model explains all but white noise"
        panels.append(_correlation_panel(title, note, lags, [np.array(auto)], bound))
    for name, crossed in list(found["cross"].items())[:SHOWN]:
        for used, values in list(crossed.items())[:SHOWN]:
            note = f"Inside the band if nothing of {used}'s effect is left over"
            panels.append(_correlation_panel(f"Innovations of {name} against {used}", note, both, [values], bound))
    return panels


def _remainder_panels(ude: Any) -> list[Data]:
    record = ude.record_
    inputs = inputs_at_windows(ude.record_, ude.model_.physics.n_inputs)
    physics, index = ude.model_.physics, ude.model_.on[0]
    if len(record["x"]) < 40:
        return []
    left = (record["dx"] - ude.predict(record["x"], inputs))[:, index]
    alone = (record["dx"] - physics.field(record["x"], inputs))[:, index]
    step = float(np.median(np.diff(record["window_t"])))
    count = min(30, len(left) // 4)
    bound = 2.58 / np.sqrt(len(left))
    lags = step * np.arange(count + 1)
    panels = [
        _correlation_panel(
            "Unexplained remainder: autocorrelation", "Near 0 beyond one window if only noise is left", lags,
            [correlation(v, v, range(count + 1)) for v in (left, alone)], bound,
        )
    ]  # fmt: skip
    both = range(-count, count + 1)
    for column, name in enumerate(physics.inputs[:3]):
        assert inputs is not None
        crossed = [correlation(v, inputs[:, column], both) for v in (left, alone)]
        title, note = f"Unexplained remainder against {name}", f"Zero if nothing of {name}'s effect is left over"
        panels.append(_correlation_panel(title, note, step * np.array(both), crossed, bound))
    return panels


def _correlation_panel(title: str, note: str, lags: Array, rows: list[Array], bound: float) -> Data:
    """rows: of the model, then perhaps of the known physics alone."""
    beyond = np.abs(np.asarray(rows[0])[lags != 0.0])
    ends = (float(lags[0]), float(lags[-1]))

    def draw(size: tuple[float, float]) -> str:
        chart = Chart(
            ends, (-1.05, 1.05), x_label="lag, s", y_label="correlation", size=size,
            alt=f"{title}: largest beyond lag 0 {np.max(beyond):.2f}, 99 % of white noise is within {bound:.2g}.",
        )  # fmt: skip
        chart.box(ends, (-bound, bound), "interval")
        for row, kind in reversed(list(zip(rows, ("model", "known"), strict=False))):
            chart.line(lags, row, kind)
        return chart.draw()

    return {"title": title, "note": f"{note}; shaded: 99 % of white noise", "draw": draw}


def poles_panel(ude: Any) -> Data | None:
    """Poles of the linear fit at the visited states' middle, with and without the learned part."""
    record, physics = ude.record_, ude.model_.physics
    at = np.median(record["x"], axis=0)
    inputs = inputs_at_windows(ude.record_, ude.model_.physics.n_inputs)
    held = None if inputs is None else np.median(inputs, axis=0)
    try:
        A, _ = ude.linearize(at, held)
    except TinyUDEError:
        return None
    known = _slope(known_dynamics(ude.physics).field, at, held)
    spreads = _pole_spreads(ude.model_, at if held is None else np.concatenate([at, held]))
    rows: list[Data] = []
    for name, matrix in (("known", known), ("model", A)):
        if not np.all(np.isfinite(matrix)):
            continue
        for pole in sorted(np.linalg.eigvals(matrix), key=lambda p: (-abs(p.imag), p.real)):
            if pole.imag >= 0.0:
                size = abs(pole)
                rows.append({
                    "who": name, "real": float(pole.real), "imag": float(pole.imag), "hertz": size / (2.0 * np.pi),
                    "damping": float(-pole.real / size) + 0.0 if size else 0.0,
                    "spread": _nearest_spread(pole, spreads) if name == "model" else None,
                })  # fmt: skip
    values = np.array([[r["real"], r["imag"]] for r in rows] + [[r["real"], -r["imag"]] for r in rows] + [[0.0, 0.0]])
    low, high = values.min(axis=0), values.max(axis=0)
    margin = 0.15 * np.maximum(high - low, np.array([1e-9, 0.5]))
    chart = Chart((low[0] - margin[0], high[0] + margin[0]), (low[1] - margin[1] - 1e-9, high[1] + margin[1] + 1e-9),
                  x_label="real, 1/s", y_label="imaginary, rad/s", alt="Poles: " + "; ".join(
                      f"{r['who']} {r['real']:.3g} ± {r['imag']:.3g}i" for r in rows))  # fmt: skip
    chart.line([0.0, 0.0], [low[1] - margin[1], high[1] + margin[1]], "axis")
    for row in rows:
        for sign in (1.0, -1.0):
            chart.crosses([row["real"]], [sign * row["imag"]], f"{row['who']} cross")
    where = ", ".join(f"{n} = {v:.3g}" for n, v in zip(physics.states, at, strict=True))
    return {"svg": chart.draw(), "rows": rows, "at": where}


def _pole_spreads(model: Any, point: Array) -> Array | None:
    """Poles of models drawn from the covariance of what was learned (draws, states); None where there is none."""
    if model.covariance is None or not len(model.unknowns):
        return None
    values, vectors = np.linalg.eigh(model.covariance)
    normal = np.random.default_rng(0).normal(size=(DRAWS, len(values)))
    drawn = model.unknowns + normal * np.sqrt(np.maximum(values, 0.0)) @ vectors.T
    states = model.physics.n_states
    slopes = program_derivative(model_program(model, unknowns=True), range(states))
    with np.errstate(all="ignore"):
        found = program_numpy(slopes, np.concatenate([np.tile(point, (DRAWS, 1)), drawn], axis=1))
    found = found.reshape(DRAWS, states, states)
    return np.asarray(np.linalg.eigvals(found[np.isfinite(found).all(axis=(1, 2))]))


def _nearest_spread(pole: complex, drawn: Array | None) -> float | None:
    """Standard deviation of the drawn poles nearest to this one, in 1/s."""
    if drawn is None or len(drawn) < 2:
        return None
    nearest = np.take_along_axis(drawn, np.argmin(np.abs(drawn - pole), axis=1)[:, None], axis=1)[:, 0]
    return float(np.sqrt(np.mean(np.abs(nearest - nearest.mean()) ** 2)))


def _slope(field: Any, at: Array, held: Array | None) -> Array:
    steps = 1e-6 * np.maximum(np.abs(at), 1.0)
    columns = []
    for index, step in enumerate(steps):
        moved = np.zeros(len(at))
        moved[index] = step
        columns.append((field(at + moved, held) - field(at - moved, held)) / (2.0 * step))
    return np.stack(columns, axis=-1)
