"""The table of learned terms: your value, learned value, net value, interval, and share of the rate."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tinyude.model.collinear import is_collinear
from tinyude.model.model import Model
from tinyude.model.wrong_values import net_values


def term_rows(model: Model, diagnostics: Mapping[str, Any]) -> list[dict[str, Any]]:
    """One row for every learned term, the largest share of the rate first."""
    yours = {(net.state, net.term): net.yours for net in net_values(model)}
    shares = diagnostics.get("term_shares", {})
    rows = []
    for entry in diagnostics["terms"]:
        key = (entry["state"], entry["term"])
        known = yours.get(key, 0.0)
        rows.append({
            "state": entry["state"],
            "term": entry["term"],
            "yours": known,
            "learned": entry["coefficient"],
            "net": known + entry["coefficient"],
            "error": entry["error"],
            "low": entry["low"],
            "high": entry["high"],
            "collinear": is_collinear(diagnostics, entry),
            "share": float(shares.get(f"{key[0]}: {key[1]}", float("nan"))),
        })  # fmt: skip
    return sorted(rows, key=lambda row: -(row["share"] if row["share"] == row["share"] else 0.0))
