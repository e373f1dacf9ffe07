"""What a fleet takes from a fitted UDE: its coefficients, its verdict and its figures, as plain rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from tinyude.estimator.ude import UDE

TERM, PARAMETER = "term", "parameter"


def coefficient_rows(ude: UDE) -> list[dict[str, Any]]:
    """Every term and learned parameter with its value and interval.

    Returns
    -------
    list of dict
        kind, state, term, coefficient, error, low, high and known: the coefficient of the same term in the known
        physics (0 where it has none), so that `known + coefficient` is the machine's net coefficient.
    """
    rows = [
        {
            "kind": TERM, "state": entry["state"], "term": entry["term"], "coefficient": entry["learned"],
            "error": entry["error"], "low": entry["low"], "high": entry["high"], "known": entry["yours"],
        }
        for entry in ude.terms_
    ]  # fmt: skip
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


def unit_figures(ude: UDE) -> dict[str, Any]:
    """Noise, windows, the verdict with its doubts, and the share of the rates that stays unexplained."""
    figures, verdict = ude.diagnostics_, ude.verdict_
    shares = [entry["share"] for entry in verdict.figures["unexplained"].values()]
    return {
        "samples": int(figures["samples"]),
        "windows": int(figures["windows"]),
        "accepted": int(figures["accepted"]),
        "noise": [float(value) for value in figures["noise"]],
        "channels": list(ude.measured or ude.physics.states),
        "verdict": verdict.status,
        "health": float(np.mean(shares)) if shares else float("nan"),
        "warnings": [str(text) for text in figures["warnings"]],
    }
