"""From a fitted model to the plain data of its report; every part that the model has no data for is left out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.report.panels import page_panels
from tinyude.report.sentences import data_sentence, diagnostics_table, found_sentences
from tinyude.report.slices import SLICE_POINTS, inputs_at_windows, line_through, strongest, typical

Array = NDArray[Any]
Data = dict[str, Any]

WINDOWS_SHOWN = 100  # of those in the record's excerpt
PLANE_POINTS = 41
RUN_POINTS = 1000


def collect(
    ude: Any,
    *,
    title: str = "TinyUDE fit",
    headline: list[str] | None = None,
    truth: Callable[[Array], Array] | None = None,
    run: Data | None = None,
    units: Mapping[str, str] | None = None,
    command: str = "",
    sources: Mapping[str, str] | None = None,
    subtitle: str = "",
) -> Data:
    """The report of a fitted UDE as a dictionary of arrays and text for `page.render`.

    `headline` are sentences to put beside the verdict, `truth` is the true field where it is known, `run` a free run
    (tinyude.model.validation), `units` the unit of each signal, `command` what made the page and
    `sources` the files that it read, with their SHA-256.
    """
    physics = ude.model_.physics
    channels = list(ude.measured or physics.states)
    diagnostics = ude.diagnostics_
    record = getattr(ude, "record_", None)
    data: Data = {
        "title": title,
        "headline": list(headline or []),
        "found": found_sentences(diagnostics, physics.states),
        "windows": data_sentence(diagnostics),
        "equations": ude.equations(),
        "terms": list(diagnostics.get("terms", ())),
        "diagnostics": diagnostics_table(diagnostics, channels),
        "memory": {str(part): int(size) for part, size in diagnostics.get("memory", {}).items()},
        "warnings": list(diagnostics.get("warnings", ())),
        "units": dict(units or {}),
    }
    history = getattr(ude, "history_", None)
    if history is not None and len(history["loss"]) > 1:
        data["history"] = history
    if record is not None and len(record["x"]) > 1 and "dx" in record:
        inputs = inputs_at_windows(record, len(physics.inputs))
        data["signals"] = _signals(ude, record, inputs, channels)
        data["residuals"] = _residuals(ude, record, inputs, truth)
        data["portrait"] = _portrait(ude, record, inputs)
    if run is not None:
        data["rollout"] = _thinned(run)
    made = {"command": command, "sources": dict(sources or {}), "subtitle": subtitle}
    return data | {"page": page_panels(ude, run, dict(units or {})), **made}


def _thinned(run: Mapping[str, Any]) -> Data:
    """The free run with no more rows than a picture can show."""
    stride = max(1, len(run["t"]) // RUN_POINTS)
    rows = {name: run[name][::stride] for name in ("t", "model", "reference", "known") if name in run}
    return {**run, **rows}


def _signals(ude: Any, record: Mapping[str, Any], inputs: Array | None, channels: list[str]) -> Data:
    """The beginning of the record's excerpt, with its first windows."""
    t, window_t = np.asarray(record["t"]), np.asarray(record["window_t"])
    end = window_t[WINDOWS_SHOWN] if len(window_t) > WINDOWS_SHOWN else t[-1]
    rows, inside = t <= end, (window_t >= t[0]) & (window_t <= end)
    x = record["x"][inside]
    return {
        "states": ude.model_.physics.states,
        "channels": channels,
        "t": t[rows],
        "Y": record["Y"][rows],
        "window_t": window_t[inside],
        "x": x,
        "dx": record["dx"][inside],
        "model": ude.predict(x, None if inputs is None else inputs[inside]) if len(x) else x,
    }


def _residuals(
    ude: Any, record: Mapping[str, Any], inputs: Array | None, truth: Callable[[Array], Array] | None
) -> list[Data]:
    """For every state whose rate the model corrects: the correction along the state that it depends on most."""
    states = ude.model_.physics.states
    x, dx = record["x"], record["dx"]
    learned = ude.residual(x, inputs)
    cloud = learned + dx - ude.predict(x, inputs)  # derivatives minus the known physics
    parts = []
    for index in [i for i in range(len(states)) if np.any(learned[:, i] != 0.0)]:
        axis = strongest(x, learned[:, index])
        line = line_through(x, axis, SLICE_POINTS)
        held = typical(inputs, SLICE_POINTS)
        part = {
            "state": states[index],
            "against": states[axis],
            "at": x[:, axis],
            "data": cloud[:, index],
            "axis": line[:, axis],
            "learned": ude.residual(line, held)[:, index],
        }
        if hasattr(ude, "spread_"):
            part["low"], part["high"] = (end[:, index] for end in ude.residual_interval(line, held))
        if truth is not None:
            part["truth"] = (truth(line) - ude.predict(line, held) + ude.residual(line, held))[:, index]
        parts.append(part)
    return parts


def _portrait(ude: Any, record: Mapping[str, Any], inputs: Array | None) -> Data:
    """The learned field over a plane of two states, a state and its rate where there are such."""
    physics = ude.model_.physics
    x = record["x"]
    if physics.n_states == 1:
        line = line_through(x, 0, SLICE_POINTS)
        held = typical(inputs, SLICE_POINTS)
        field = ude.predict(line, held)
        return {
            "names": list(physics.states),
            "x": line[:, 0],
            "u": field[:, 0],
            "known": (field - ude.residual(line, held))[:, 0],
            "path": x,
            "rates": record["dx"],
        }
    pairs = [(state, rate) for state, rate in enumerate(physics.kinematic) if rate is not None and rate != state]
    first, second = pairs[0] if pairs else (0, 1)
    axes = [_widened(x[:, column]) for column in (first, second)]
    plane = np.tile(np.median(x, axis=0), (PLANE_POINTS, PLANE_POINTS, 1))
    plane[..., first], plane[..., second] = np.meshgrid(*axes)
    flat = plane.reshape(-1, physics.n_states)
    field = ude.predict(flat, typical(inputs, len(flat))).reshape(plane.shape)
    return {
        "names": [physics.states[first], physics.states[second]],
        "x": axes[0],
        "y": axes[1],
        "u": field[..., first],
        "v": field[..., second],
        "path": x[:, [first, second]],
    }


def _widened(values: Array) -> Array:
    low, high = float(values.min()), float(values.max())
    margin = 0.08 * (high - low) or 1.0
    return np.linspace(low - margin, high + margin, PLANE_POINTS)
