"""What a fleet takes from a fitted UDE: its coefficients and its figures, as plain rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import sympy as sp

from tinyude.physics import Physics
from tinyude.physics.parsing import parse_expression
from tinyude.ude import UDE

TERM, PARAMETER = "term", "parameter"


def coefficient_rows(ude: UDE) -> list[dict[str, Any]]:
    """Every term and learned parameter with its value and interval.

    Returns
    -------
    list of dict
        kind, state, term, coefficient, error, low, high and known: the coefficient of the same term in the known
        physics (0 where it has none), so that `known + coefficient` is the machine's net coefficient.
    """
    physics = ude.physics
    rows = [
        {
            "kind": TERM,
            **{name: entry[name] for name in ("state", "term", "coefficient", "low", "high")},
            "error": float(entry.get("error", 0.0)) or _error(entry["low"], entry["high"]),
            "known": known_coefficient(physics, entry["state"], entry["term"]),
        }
        for entry in ude.diagnostics_["terms"]
    ]
    for name, value, low, high in ude.diagnostics_["parameters"]:
        rows.append(
            {
                "kind": PARAMETER, "state": "", "term": name, "coefficient": value, "low": low, "high": high,
                "error": _error(low, high), "known": 0.0,
            }
        )  # fmt: skip
    return rows


def _error(low: float, high: float) -> float:
    """Standard error behind a 90 % interval."""
    return (high - low) / 2.0 / 1.7531  # Student's t with 15 degrees of freedom


def known_coefficient(physics: Physics, state: str, term: str) -> float:
    """The number that multiplies a term in the known right-hand side of a state.

    Examples
    --------
    >>> physics = Physics(["x", "v"], ["v", "-k*x - 0.1*v"], parameters={"k": 4.0})
    >>> known_coefficient(physics, "v", "v"), known_coefficient(physics, "v", "x**3")
    (-0.1, 0.0)
    """
    symbols = {name: sp.Symbol(name) for name in (*physics.states, *physics.inputs)}
    values = {sp.Symbol(name): sp.Float(parameter.value) for name, parameter in physics.parameters.items()}
    rhs = sp.expand(physics.rhs[physics.states.index(state)].xreplace(values))
    wanted = parse_expression(term, symbols, smooth=False)
    if wanted.is_number:
        found = sum((part for part in sp.Add.make_args(rhs) if part.is_number), sp.Integer(0))
    else:
        found = rhs.coeff(wanted)
    return float(found) if found.is_number else 0.0


def unit_figures(ude: UDE) -> dict[str, Any]:
    """Noise, windows, the unexplained share of the rate, and warnings."""
    figures = ude.diagnostics_
    return {
        "samples": int(figures["samples"]),
        "windows": int(figures["windows"]),
        "accepted": int(figures["accepted"]),
        "noise": [float(value) for value in figures["noise"]],
        "channels": list(ude.measured or ude.physics.states),
        "health": unexplained(ude),
        "warnings": [str(text) for text in figures["warnings"]],
    }


def unexplained(ude: UDE) -> float:
    """RMS of estimated rate minus model over the RMS of what the known physics leaves, mean over the residual states.

    Near 0: the model explains the machine. The noise has a share in it, so it is compared between machines only.
    """
    record = ude.record_
    x = np.asarray(record["x"])
    if len(x) < 2:
        return float("nan")
    latest = np.searchsorted(record["t"], record["window_t"], side="right") - 1
    u = np.asarray(record["u"])[latest] if ude.physics.n_inputs else None
    left = np.asarray(record["dx"]) - ude.predict(x, u)
    target = left + ude.residual(x, u)
    on = list(ude.model_.on)
    ratio = np.sqrt(np.mean(left[:, on] ** 2, axis=0) / np.maximum(np.mean(target[:, on] ** 2, axis=0), 1e-300))
    return float(np.mean(ratio))
