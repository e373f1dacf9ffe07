"""One self-contained HTML page of a fleet: plain data first, then the page that draws itself from them."""

from __future__ import annotations

import json
import math
from datetime import UTC, datetime
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
from markupsafe import Markup

import tinyude
from tinyude.fleet.flags import ACT, LEAST, UNEXPLAINED, WATCH, Quantity
from tinyude.fleet.store import report_path
from tinyude.fleet.watch import Findings
from tinyude.fleet.work import OK
from tinyude.report.environment import page_environment

if TYPE_CHECKING:
    from tinyude.fleet.result import FleetResult

DIGITS = 5
BAND = (0.05, 0.95)
FAILURES_SHOWN = 200
_NOTHING = {  # what is shown of a fleet without a single fit
    "name": "no figure", "log": False, "relative": True, "scale": 1.0, "mean": 0.0, "spread": 0.0,
    "low": [], "median": [], "high": [],
}  # fmt: skip


def render(found: FleetResult) -> str:
    """The page as text."""
    failed = [row for row in found.rows if row["status"] != OK]
    data = collect(found)
    return (
        page_environment()
        .from_string(_read("page.html.jinja"))
        .render(
            title=f"{len(data['machines']):,} machines",
            subtitle=_subtitle(found),
            command=found.plan.get("command", ""),
            failed=failed[:FAILURES_SHOWN],
            failed_count=f"{len(failed):,}",
            unit_count=f"{len(found.rows):,}",
            false_alarms=f"{100.0 * found.false_alarms:g} %",
            least=f"{100.0 * LEAST:g} %",
            version=tinyude.__version__,
            terms=", ".join(found.plan.get("terms", ())),
            style=Markup(_theme() + _read("page.css")),
            script=Markup(_read("page.js")),
            data=Markup(json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")),
        )
    )


def collect(found: FleetResult) -> dict[str, Any]:
    """Everything the page shows, as plain data for JSON; values rounded to what a picture needs."""
    quantities = [_quantity(q, f) for q, f in zip(found.quantities, found.findings, strict=True)]
    labels = sorted({label for row in found.rows for label in row["labels"]})
    coefficients = [n for n, quantity in enumerate(found.quantities) if not quantity.logarithm]
    flagged = [flag.quantity for flag in found.raised]
    names = [quantity.name for quantity in found.quantities]
    shown = max(coefficients, key=lambda n: (flagged.count(names[n]), -n), default=0)
    ordered = sorted(coefficients, key=lambda n: (-flagged.count(names[n]), n))
    plane = [shown, *(n for n in ordered if n != shown), *(n for n in range(len(quantities)) if n not in coefficients)]
    reports = set(found.store.names("reports"))
    return {
        "quantities": quantities or [_NOTHING],
        "periods": list(found.clock.periods),
        "unit": found.clock.unit,
        "labels": labels,
        "shown": shown,
        "plane": plane[:3],
        "folder": f"{found.store.address}/" if found.store.keeps and "://" not in found.store.address else "",
        "machines": [_machine(found, name, rank, reports) for rank, name in enumerate(found.states)],
    }


def _quantity(quantity: Quantity, found: Findings) -> dict[str, Any]:
    """The fleet's band over time, from the machines that belong to it."""
    values = quantity.panel.values
    low: list[float | None] = []
    median: list[float | None] = []
    high: list[float | None] = []
    for column in values.T:
        inside = column[np.isfinite(column) & found.fleet.inside]
        inside = inside if len(inside) else column[np.isfinite(column)]
        ends = np.quantile(inside, [BAND[0], 0.5, BAND[1]]) if len(inside) else np.full(3, found.fleet.mean)
        for part, value in zip((low, median, high), ends, strict=True):
            part.append(_number(value))
    relative = quantity.logarithm or abs(found.fleet.mean) > 2.0 * found.fleet.spread
    return {
        "name": quantity.name.removeprefix("the "),
        "log": quantity.logarithm,
        "relative": relative,
        "scale": _number(found.fleet.mean if relative else max(found.fleet.spread, found.variation) or 1.0),
        "mean": _number(found.fleet.mean),
        "spread": _number(found.fleet.spread),
        "low": low,
        "median": median,
        "high": high,
    }


def _machine(found: FleetResult, name: str, rank: int, reports: set[str]) -> dict[str, Any]:
    state, reasons = found.states[name]
    rows = found.rows_of(name)
    entry: dict[str, Any] = {
        "name": name, "rank": rank, "state": state, "reasons": reasons, "labels": rows[-1]["labels"],
        "flag": -1, "unexplained": False, "values": [], "levels": None, "drift": None, "against": None,
        "health": None, "model": "", "report": "",
    }  # fmt: skip
    good = [row for row in rows if row["status"] == OK]
    if not good:
        return entry
    i = found.machine_number[name]
    pairs = list(zip(found.quantities, found.findings, strict=True))
    quantity_names = [quantity.name for quantity, _ in pairs]
    if state in (ACT, WATCH) or reasons:
        entry["flag"] = next((quantity_names.index(flag.quantity) for flag in found.raised if flag.machine == name), -1)
    entry["unexplained"] = any(flag.machine == name and flag.quantity == UNEXPLAINED for flag in found.raised)
    entry["values"] = [[_number(value) for value in quantity.panel.values[i]] for quantity, _ in pairs]
    entry["levels"] = [_number(findings.level[i]) for _, findings in pairs]
    entry["drift"] = [_number(_drift(quantity, findings, i)) for quantity, findings in pairs]
    entry["against"] = [_number(_deviation(findings, i)) for _, findings in pairs]
    entry["health"] = _number(good[-1]["health"])
    entry["model"] = good[-1]["model"]
    report = report_path(good[-1]["model"])
    entry["report"] = report if report in reports else ""
    return entry


def _drift(quantity: Quantity, found: Findings, i: int) -> float:
    """Slope in per cent of the fleet's mean, or of its spread where the mean is about 0."""
    if quantity.logarithm:
        return 100.0 * float(found.slope[i])
    relative = abs(found.fleet.mean) > 2.0 * found.fleet.spread
    scale = found.fleet.mean if relative else max(found.fleet.spread, found.variation)
    return 100.0 * float(found.slope[i]) / scale if scale else 0.0


def _deviation(found: Findings, i: int) -> float:
    """Deviation from the fleet's mean in units of its spread; the size counts, not the sign of the coefficient."""
    spread = max(found.fleet.spread, found.fleet.mean_error)
    sign = -1.0 if found.fleet.mean < -2.0 * found.fleet.spread else 1.0
    return sign * float(found.level[i] - found.fleet.mean) / spread if spread else 0.0


def _subtitle(found: FleetResult) -> str:
    periods = found.clock.periods
    span = f"{periods[0]} to {periods[-1]}" if len(periods) > 1 else periods[0] if periods else "no usable log"
    good = sum(row["status"] == OK for row in found.rows)
    count = "1 period" if len(periods) == 1 else f"{len(periods)} periods"
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"{good:,} of {len(found.rows):,} logs fitted · {count}, {span} · written {now}"


def _number(value: Any) -> float | None:
    number = float(value) if value is not None else math.nan
    return float(f"{number:.{DIGITS}g}") if math.isfinite(number) else None


def _theme() -> str:
    """The colours of the report page, light and dark: the rules before its first other one."""
    return files("tinyude.report").joinpath("page.css").read_text(encoding="utf-8").partition("* {")[0]


def _read(name: str) -> str:
    return files("tinyude.fleet").joinpath(name).read_text(encoding="utf-8")
