"""The schema of the findings and plots stored in a model file, from which pages and tables are written.

Types are written as examples: float for a number, int for a whole one, str for text, [float] for a list of
numbers of any length, {...: float} for numbers by any name, {"a": float} for an optional entry of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.syntax import short
from tinyude.reference.signal.gates import REASONS

_COUNTS = (
    "static_bytes", "chip_bytes", "samples", "runs", "windows", "accepted", "filled", "outliers", "not_finite",
    "repeated_times", "jitter", "second_order", "snr2", "updates", "rolled_back", "recalibrations", "seconds",
)  # fmt: skip
_WINDOW = ("half_width_samples", "half_width_seconds", "samples", "spacing", "order")
_BY_NAME, _COUNTED, _ROW = {...: float}, {...: int}, [float]
_TERM = {"state": str, "term": str, "coefficient": float, "error": float, "low": float, "high": float}
_WHITE: dict[Any, Any] = {"mean_square": _BY_NAME, "auto": {...: [float]}, "cross": {...: {...: [float]}}}
_FIGURES: dict[Any, Any] = {
    "judged_on": str,
    "unexplained": {...: {"share": float, "known": float, "noise": float}},
    "windows_passed": float,
    "outside": float,
    "held_back": _BY_NAME,
    "explained": {...: bool},
    "free_run": _BY_NAME,
    "horizons": {...: [float]},
}
_FIGURES["fitted"] = dict(_FIGURES)
_VERDICT = {
    "status": str,
    "summary": str,
    "reasons": [{"severity": str, "text": str, "remedy": str}],
    "figures": _FIGURES,
}
_FINDINGS: dict[Any, Any] = {
    **dict.fromkeys(("preset", "engine", "precision"), str),
    **dict.fromkeys(_COUNTS, float),
    **dict.fromkeys(("noise", "noise_relative", "changes"), _ROW),
    **dict.fromkeys(("memory", "rejected"), _COUNTED),
    **dict.fromkeys(("term_shares", "network"), _BY_NAME),
    **dict.fromkeys(("verdict", "fitted_verdict"), _VERDICT),
    "window": dict.fromkeys(_WINDOW, float),
    "visited": {...: [float]},
    "terms": [_TERM],
    "warnings": [str],
    "units": {...: str},
    "collinear": {...: {"terms": [str], "of": [str]}},
    "refinement": {
        "best": str,
        "following": [str],
        "candidates": [{"name": str, "evidence": float, "error": float}],
        "held_back_runs": float,
        "chosen_by": str,
        "noise": [float],
        "converged": bool,
        **dict.fromkeys(("process_noise", "stretches", "rows", "rejected", "mean_square"), float),
    },
    "innovations": {"lags": [float], "bound": float, "shifts": {...: [float]}, "known": _WHITE, **_WHITE},
}
_NEEDED = (
    "preset", "engine", "precision", "noise", "noise_relative", "window", "windows", "accepted", "rejected", "samples",
    "updates", "visited",
)  # fmt: skip
_LARGEST = 2**63  # of whole numbers


def check_kinds(found: Mapping[str, Any], states: int) -> None:
    """Raise an error that names the first finding of a type that no fit writes."""
    _check(found, _FINDINGS, "diagnostics")
    missing = [name for name in _NEEDED if name not in found] + [n for n in _WINDOW if n not in found["window"]]
    if missing:
        raise TinyUDEError(f"its diagnostics lack {missing[0]}")
    if strange := set(found["rejected"]) - set(REASONS):
        raise TinyUDEError(f"it rejects windows for {sorted(strange)[0]!r}")
    if not 1 <= len(found["noise"]) == len(found["noise_relative"]) <= states:
        raise TinyUDEError(f"it has the noise of {len(found['noise'])} channels for {states} states")
    _check_lengths(found)


def _check(value: Any, kind: Any, where: str) -> None:
    if isinstance(kind, dict) and isinstance(value, dict):
        for name, item in value.items():
            inner = kind.get(name, kind.get(...))
            if inner is not None:
                _check(item, inner, f"{where}.{name}")
    elif isinstance(kind, list) and isinstance(value, list):
        for item in value:
            _check(item, kind[0], where)
    elif not _is(value, kind):
        raise TinyUDEError(f"{where} is {short(repr(value), 40)}, which no fit writes there")


def _is(value: Any, kind: Any) -> bool:
    whole = isinstance(value, int) and not isinstance(value, bool) and abs(value) < _LARGEST
    if kind in (int, float):
        return whole or (kind is float and isinstance(value, float))
    return isinstance(kind, type) and isinstance(value, kind)


def _check_lengths(found: Mapping[str, Any]) -> None:
    """Check that curves over one axis have as many points as the axis."""
    for verdict in (found.get("verdict", {}), found.get("fitted_verdict", {})):
        curves = verdict.get("figures", {}).get("horizons", {})
        if len({len(curve) for curve in curves.values()}) > 1:
            raise TinyUDEError("its free runs have curves of different lengths")
    analysis = found.get("innovations", {})
    lags = len(analysis.get("lags", ()))
    for part in (analysis, analysis.get("known", {})):
        auto = [len(curve) for curve in part.get("auto", {}).values()]
        cross = [len(curve) for by_input in part.get("cross", {}).values() for curve in by_input.values()]
        if any(length != lags for length in auto) or any(length != 2 * lags - 1 for length in cross):
            raise TinyUDEError("its innovations have curves of different lengths")


def check_pictures(record: Mapping[str, Any] | None, history: Mapping[str, Any], physics: Physics) -> None:
    """Check that the shapes of arrays for plots agree."""
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
    if any(values.dtype != np.float64 for values in record.values()):
        raise TinyUDEError("its record holds other numbers than float64")
