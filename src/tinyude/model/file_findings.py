"""The schema of the findings and plots stored in a model file, from which pages and tables are written.

A type is written as an example: float for a finite number, int for a whole one, str for text, COUNT for one that is
not negative, FIGURE for one that may be infinite or not a number (the error of a run that diverged), a tuple of texts
for one of them, [float] for a list of numbers of any length, {...: float} for numbers by any name, {STATES: float} by
names of states, {"a": float} for a number under that name, {"a?": float} for one that may be absent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.model.file_checks import LARGEST
from tinyude.model.reason import SEVERITIES
from tinyude.model.verdict import STATUSES
from tinyude.physics import Physics
from tinyude.physics.syntax import short
from tinyude.reference.signal.gates import REASONS

COUNT, FIGURE, OR_NONE = "a count", "a figure", "a figure or none"
STATES, INPUTS, REJECTED = "the states", "the inputs", "the reasons"  # groups of names
_COUNTS = (
    "static_bytes", "chip_bytes", "samples", "runs", "windows", "accepted", "filled", "outliers", "not_finite",
    "repeated_times", "jitter", "second_order", "snr2", "updates", "rolled_back", "recalibrations", "seconds",
)  # fmt: skip
_NEEDED_COUNTS = ("samples", "windows", "accepted", "updates", "seconds")
_WINDOW = ("half_width_samples", "half_width_seconds", "samples", "spacing", "order")
_TERM = {"state": str, "term": str, "coefficient": float, "error": COUNT, "low": float, "high": float}
_CURVES: dict[Any, Any] = {
    "mean_square?": {STATES: FIGURE},
    "auto": {STATES: [float]},
    "cross": {STATES: {INPUTS: [float]}},
}
_RUN = {"starts?": COUNT, **dict.fromkeys(("seconds", "error", "known", "expected", "noise", "diverged"), FIGURE)}
_FIGURES: dict[Any, Any] = {
    "judged_on": str,
    "unexplained?": {STATES: {"share": FIGURE, "known": FIGURE, "noise": FIGURE}},
    "windows_passed": FIGURE,
    "outside": FIGURE,
    "held_back?": {...: OR_NONE},
    "explained?": {STATES: bool},
    "free_run?": _RUN,
    "horizons?": {"seconds": [COUNT], "model": [FIGURE], "known": [FIGURE], "hold": [FIGURE], "expected": [FIGURE]},
}
_FIGURES["fitted?"] = dict(_FIGURES)
_VERDICT = {
    "status": STATUSES,
    "summary": str,
    "reasons": [{"severity": SEVERITIES, "text": str, "remedy": str, "kind": str}],
    "figures": _FIGURES,
}
_CANDIDATE = {
    "name": str, "evidence": OR_NONE, "error": OR_NONE, "free_runs?": COUNT, "unknowns": COUNT, "best": bool,
    "note": str,
}  # fmt: skip
_FINDINGS: dict[Any, Any] = {
    **dict.fromkeys(("preset", "engine", "precision"), str),
    **{name if name in _NEEDED_COUNTS else f"{name}?": COUNT for name in _COUNTS},
    "noise": [COUNT],
    "noise_relative": [COUNT],
    "changes?": [float],
    "memory?": {...: int},
    "rejected": {REJECTED: int},
    "term_shares?": {...: FIGURE},
    "network": {STATES: float},
    **dict.fromkeys(("verdict?", "fitted_verdict?"), _VERDICT),
    "window": dict.fromkeys(_WINDOW, COUNT),
    "visited": {...: [float]},
    "terms": [_TERM],
    "warnings": [str],
    "units?": {...: str},
    "collinear?": {STATES: {"terms": [str], "of": [str]}},
    "refinement?": {
        "best": str,
        "following": [str],
        "candidates": [_CANDIDATE],
        "held_back_runs": COUNT,
        "chosen_by": str,
        "noise": [COUNT],
        "converged": bool,
        **dict.fromkeys(("process_noise", "stretches", "rows", "rejected", "mean_square"), FIGURE),
    },
    "innovations?": {"lags": [COUNT], "bound": COUNT, "shifts?": {STATES: [FIGURE]}, "known?": _CURVES, **_CURVES},
}
_LARGEST = 2**63  # of whole numbers
_THINNED = 10  # of a picture's rows, at most one in so many of the inputs'


def check_kinds(found: Mapping[str, Any], physics: Physics) -> None:
    """Raise an error that names the first finding of a type that no fit writes."""
    _check(found, _FINDINGS, "diagnostics", {STATES: physics.states, INPUTS: physics.inputs, REJECTED: tuple(REASONS)})
    if not 1 <= len(found["noise"]) == len(found["noise_relative"]) <= physics.n_states:
        raise TinyUDEError(f"it has the noise of {len(found['noise'])} channels for {physics.n_states} states")
    _check_lengths(found)


def _check(value: Any, kind: Any, where: str, names: Mapping[str, tuple[str, ...]]) -> None:
    if isinstance(kind, dict) and isinstance(value, dict):
        _check_entries(value, kind, where, names)
    elif isinstance(kind, list) and isinstance(value, list):
        for item in value:
            _check(item, kind[0], where, names)
    elif not _is(value, kind):
        raise TinyUDEError(f"{where} is {short(repr(value), 40)}, which no fit writes there")


def _check_entries(value: dict[Any, Any], kind: dict[Any, Any], where: str, names: Mapping[str, Any]) -> None:
    group = next((one for one in (..., STATES, INPUTS, REJECTED) if one in kind), None)
    allowed = None if group is None or group is ... else names[group]
    for name, item in value.items():
        if allowed is not None and name not in allowed:
            raise TinyUDEError(f"{where} names {short(repr(name), 40)}, which is none of {group}")
        inner = kind.get(name, kind.get(f"{name}?", kind.get(group)))
        if inner is not None:
            _check(item, inner, f"{where}.{name}", names)
    needed = (name for name in kind if name is not group and not name.endswith("?"))
    if missing := [name for name in needed if name not in value]:
        raise TinyUDEError(f"{where} lacks {missing[0]}")


def _is(value: Any, kind: Any) -> bool:
    if isinstance(kind, tuple):
        return isinstance(value, str) and value in kind
    if kind in (str, bool):
        return isinstance(value, kind)
    if value is None:
        return bool(kind == OR_NONE)
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST
    if kind is int or not isinstance(value, float):
        return whole and (kind != COUNT or value >= 0) and not isinstance(kind, dict | list)
    return kind in (FIGURE, OR_NONE) or (np.isfinite(value) and (kind is float or (kind == COUNT and value >= 0.0)))


def _check_lengths(found: Mapping[str, Any]) -> None:
    """Check that curves over one axis have as many points as the axis, and that they are of the same channels."""
    for verdict in (found.get("verdict", {}), found.get("fitted_verdict", {})):
        curves = verdict.get("figures", {}).get("horizons", {})
        if len({len(curve) for curve in curves.values()}) > 1:
            raise TinyUDEError("its free runs have curves of different lengths")
    analysis = found.get("innovations")
    if not analysis:
        return
    lags, channels = len(analysis["lags"]), set(analysis["auto"])
    if lags < 2 or not channels:
        raise TinyUDEError("its innovations have no lags or no channels")
    inputs = {name: set(by_input) for name, by_input in analysis["cross"].items()}
    for part in (analysis, analysis.get("known", analysis)):
        auto = [len(curve) for curve in part["auto"].values()]
        cross = [len(curve) for by_input in part["cross"].values() for curve in by_input.values()]
        if any(length != lags for length in auto) or any(length != 2 * lags - 1 for length in cross):
            raise TinyUDEError("its innovations have curves of different lengths")
        same = {name: set(by_input) for name, by_input in part["cross"].items()} == inputs
        if not same or not set(part["auto"]) == set(part.get("mean_square", channels)) == set(inputs) == channels:
            raise TinyUDEError("its innovations are of different channels or inputs")


def check_pictures(record: Mapping[str, Any] | None, history: Mapping[str, Any], physics: Physics) -> None:
    """Check that the arrays for plots fit together: shapes, times in order, finite states."""
    if len({values.shape for values in history.values()}) > 1 or any(v.ndim != 1 for v in history.values()):
        raise TinyUDEError("its history has curves of different lengths")
    if record is None:
        return
    rows, windows, states, inputs = len(record["t"]), len(record["window_t"]), physics.n_states, physics.n_inputs
    wanted = {
        "t": (rows,), "window_t": (windows,), "steady": (windows,), "x": (windows, states), "dx": (windows, states),
        "left": (windows, states), "window_u": (windows, inputs),
    }  # fmt: skip
    for name, shape in wanted.items():
        if name in record and record[name].shape != shape:
            raise TinyUDEError(f"record.{name} has shape {record[name].shape} where {shape} belongs")
    for name, least, columns in (("Y", rows, range(1, states + 1)), ("u", 0, [inputs]), ("rejected", 0, [2])):
        values = record.get(name, np.zeros((rows, columns[0])))
        if values.ndim != 2 or values.shape[1] not in columns or (least and len(values) != least):
            raise TinyUDEError(f"record.{name} has shape {values.shape}, which does not belong to the model")
    if any(values.dtype != np.float64 for values in (*record.values(), *history.values())):
        raise TinyUDEError("its record or history holds other numbers than float64")
    _check_numbers(record, rows)


def _check_numbers(record: Mapping[str, Any], rows: int) -> None:
    for name, values in record.items():
        if not np.all((np.abs(values) <= LARGEST) | (np.isnan(values) & (name == "Y"))):
            raise TinyUDEError(f"record.{name} holds numbers that are not finite or beyond {LARGEST:g}")
    if not (np.all(np.diff(record["t"]) > 0.0) and np.all(np.diff(record["window_t"]) >= 0.0)):
        raise TinyUDEError("its record has times that do not rise")
    thin = -(-len(record["u"]) // max(rows, 1))
    if not thin * (rows - 1) < len(record["u"]) <= 2 * _THINNED * rows:
        raise TinyUDEError(f"record.u has {len(record['u']):,} rows beside {rows:,} samples")
