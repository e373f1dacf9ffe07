"""A fleet's results without fits: rows as the workers return them, with known coefficients."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

import numpy as np
import pytest

from tinyude.fleet.result import FleetResult

TERMS = {"omega": -0.8, "tanh(20*omega)": -1.5, "1": 0.05}
SPREAD, VARIATION, ERROR = 0.05, 0.01, 0.01


def fleet_rows(machines: int, weeks: int, seed: int = 0, sites: bool = True) -> list[dict[str, Any]]:
    """Healthy machines whose coefficients spread by 5 % and vary by 1 % a week."""
    rng = np.random.default_rng(seed)
    base = {term: value * (1.0 + SPREAD * rng.standard_normal((machines, 1))) for term, value in TERMS.items()}
    values = {
        term: base[term] + abs(TERMS[term]) * np.hypot(VARIATION, ERROR) * rng.standard_normal((machines, weeks))
        for term in TERMS
    }
    errors = ERROR * np.sqrt(rng.chisquare(15, (len(TERMS), machines, weeks)) / 15)
    rows = []
    for machine in range(machines):
        for week in range(weeks):
            terms = [
                {
                    "kind": "term", "state": "omega", "term": term, "coefficient": float(values[term][machine, week]),
                    "error": float(abs(TERMS[term]) * errors[n, machine, week]), "known": 0.0,
                }
                for n, term in enumerate(TERMS)
            ]  # fmt: skip
            for entry in terms:
                half = 1.7531 * entry["error"]
                entry["low"], entry["high"] = entry["coefficient"] - half, entry["coefficient"] + half
            rows.append(
                {
                    "machine": f"arm-{machine:04d}", "period": (date(2026, 1, 5) + timedelta(weeks=week)).isoformat(),
                    "labels": {"site": ("Brno", "Lyon", "Porto")[machine % 3]} if sites else {}, "status": "ok",
                    "error": "", "key": f"{machine}-{week}", "recipe": "r", "lasting": True, "terms": terms,
                    "model": f"models/arm-{machine:04d}/{week}.tinyude", "samples": 4000, "windows": 3996,
                    "accepted": 3900, "health": float(0.2 * np.exp(0.1 * rng.standard_normal())),
                    "seconds": 0.2, "cpu_seconds": 0.2, "channels": ["theta"], "warnings": [], "files": [],
                    "stamps": [], "noise": [float(0.002 * np.exp(0.02 * rng.standard_normal()))],
                }
            )  # fmt: skip
    return rows


def scale_term(rows: list[dict[str, Any]], machine: int, term: str, factors: np.ndarray) -> None:
    """Multiply a machine's coefficient by a factor a week."""
    own = [row for row in rows if row["machine"] == f"arm-{machine:04d}"]
    for row, factor in zip(own, factors, strict=True):
        for entry in row["terms"]:
            if entry["term"] == term:
                for name in ("coefficient", "low", "high"):
                    entry[name] *= float(factor)


@pytest.fixture(scope="session")
def changed_fleet() -> FleetResult:
    """A thousand machines; four of them unlike the others or changing, one silent, one broken."""
    weeks = 12
    rows = fleet_rows(1000, weeks, seed=3)
    scale_term(rows, 87, "tanh(20*omega)", np.where(np.arange(weeks) < 8, 1.0, 1.38))
    scale_term(rows, 214, "omega", np.full(weeks, 1.6))
    scale_term(rows, 158, "tanh(20*omega)", 1.0 + 0.02 * np.arange(weeks))
    scale_term(rows, 62, "omega", 1.0 - 0.03 * np.arange(weeks))
    rows = [row for row in rows if not (row["machine"] == "arm-0375" and row["period"] > "2026-02-20")]
    broken = {"status": "failed", "error": "file is <empty>", "terms": [], "noise": [], "model": ""}
    rows.append({**rows[0], "machine": "arm-1000", "period": "2026-01-05", **broken})
    plan = {"terms": list(TERMS), "command": "tinyude fleet 'logs/{machine}/{date}.parquet'"}
    return FleetResult(rows, plan=plan)


CHANGED = {"arm-0087", "arm-0214", "arm-0158", "arm-0062"}  # of `changed_fleet`
