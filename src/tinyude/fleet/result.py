"""What a fleet's fit gives: tables, flags, trends and the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from scipy.stats import t as student

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError, listed
from tinyude.fleet.flags import UNEXPLAINED, Clock, Flag, Quantity, machine_states, raise_flags
from tinyude.fleet.periods import ordered, period_days
from tinyude.fleet.population import ERROR_FREEDOM, population, shrunk
from tinyude.fleet.store import Store, table_bytes
from tinyude.fleet.watch import FALSE_ALARMS, Findings, Panel
from tinyude.fleet.work import OK

DAYS_A_WEEK = 7.0
LOST_TERM = 3.0  # a term that a fit left out is 0 within so many times the fleet's usual error
OVERDUE = 1.5  # usual intervals between reports after which a machine is silent
_ORDER = {"act": 0, "watch": 1, "silent": 2, "healthy": 3}


@dataclass(repr=False)
class FleetResult:
    """The fits of a fleet and the results of their comparison.

    `tinyude.fleet.fit` and `tinyude.fleet.open_fleet` make it.

    Parameters
    ----------
    rows : list of dict
        A result a unit, as `work.fit_unit` gives.
    store : Store
        Where models and tables are.
    plan : mapping
        How the fits were made: terms, physics, settings.
    false_alarms : float, default 0.001
        Share of healthy machines that may be flagged, between 0 and 1.

    Attributes
    ----------
    units : polars.DataFrame
        A row a machine and period: status, verdict, noise, windows, times, model file.
    terms : polars.DataFrame
        A row a unit and coefficient, with 90 % intervals.
    flags : polars.DataFrame
        Machines that differ or change, with the reason in words.
    states : dict
        By machine: "act", "watch", "healthy" or "silent", and the reasons.
    """

    rows: list[dict[str, Any]]
    store: Store = field(default_factory=lambda: Store(""))
    plan: Mapping[str, Any] = field(default_factory=dict)
    false_alarms: float = FALSE_ALARMS

    def __repr__(self) -> str:
        fitted = f"{len(self._good)} of {len(self.rows)} logs fitted"
        return f"FleetResult({len(self.states)} machines, {fitted}, {self.outliers().height} flagged)"

    @cached_property
    def units(self) -> pl.DataFrame:
        """A row a unit: machine, period, labels, status, error, verdict, noise, windows, seconds, warnings, model."""
        names = ("machine", "period", "status", "error", "key", "model")
        numbers = ("samples", "windows", "accepted", "health", "seconds", "cpu_seconds")
        columns: dict[str, Any] = {name: [row[name] for row in self.rows] for name in names}
        columns |= {name: [row.get(name) for row in self.rows] for name in ("verdict", *numbers)}
        columns |= {name: [list(row.get(name) or ()) for row in self.rows] for name in ("noise", "warnings", "files")}
        labels = sorted({label for row in self.rows for label in row["labels"]})
        columns |= {label: [row["labels"].get(label) for row in self.rows] for label in labels}
        schema: dict[str, Any] = dict.fromkeys((*names, "verdict", *labels), pl.String)
        schema |= dict.fromkeys(("samples", "windows", "accepted"), pl.Int64)
        schema |= dict.fromkeys(("health", "seconds", "cpu_seconds"), pl.Float64)
        schema |= {"noise": pl.List(pl.Float64), "warnings": pl.List(pl.String), "files": pl.List(pl.String)}
        order = [*names[:2], *labels, *names[2:4], "verdict", *numbers, "noise", "warnings", "files", *names[4:]]
        return pl.DataFrame(columns, schema=schema).select(order)

    @cached_property
    def terms(self) -> pl.DataFrame:
        """A row a unit and coefficient: own estimate with interval, pooled with interval, known and net value."""
        parts = []
        for quantity, found in zip(self.quantities, self.findings, strict=True):
            if not quantity.logarithm:
                parts += self._term_rows(quantity, found)
        schema = dict.fromkeys(("machine", "period", "state", "term", "kind"), pl.String) | dict.fromkeys(
            ("coefficient", "low", "high", "error", "pooled", "pooled_low", "pooled_high", "known", "net", "health"),
            pl.Float64,
        )
        frame = pl.DataFrame(parts, schema=schema, orient="row")
        return frame.sort("machine", "period", "state", "term")

    def _term_rows(self, quantity: Quantity, found: Findings) -> list[dict[str, Any]]:
        panel = quantity.panel
        fleet = population((panel.values - found.common).ravel(), panel.errors.ravel())
        pooled = shrunk((panel.values - found.common).ravel(), panel.errors.ravel(), fleet)
        middle, low, high = (part.reshape(panel.values.shape) + found.common - quantity.known for part in pooled)
        own = student.isf(0.05, ERROR_FREEDOM) * panel.errors
        rows = []
        for row in self._good:
            if not row["terms"]:
                continue
            i, j = self._place(row)
            entry = next((e for e in row["terms"] if (e["state"], e["term"]) == quantity.key), None)
            value = float(panel.values[i, j]) - quantity.known
            rows.append(
                {
                    "machine": row["machine"], "period": row["period"],
                    "state": quantity.key[0], "term": quantity.key[1], "kind": entry["kind"] if entry else "left out",
                    "coefficient": value, "low": entry["low"] if entry else value - own[i, j],
                    "high": entry["high"] if entry else value + own[i, j], "error": float(panel.errors[i, j]),
                    "pooled": float(middle[i, j]), "pooled_low": float(low[i, j]), "pooled_high": float(high[i, j]),
                    "known": quantity.known, "net": quantity.known + value, "health": row["health"],
                }
            )  # fmt: skip
        return rows

    @cached_property
    def flags(self) -> pl.DataFrame:
        """A row a flag, the most serious first: machine, state, quantity, kind, effect, p, since, reason."""
        names = ("machine", "state", "quantity", "kind", "effect", "p", "since", "reason")
        schema = {name: pl.Float64 if name in ("effect", "p") else pl.String for name in names}
        rows = [{name: getattr(flag, name) for name in names} for flag in self.raised]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def outliers(self) -> pl.DataFrame:
        """Machines that are unlike the fleet or change, ranked, with the reason in words.

        Returns
        -------
        polars.DataFrame
            rank, machine, state ("act" or "watch"), reason, and the flag that is clearest.
        """
        first = self.flags.unique("machine", keep="first", maintain_order=True)
        return first.with_row_index("rank", offset=1)

    def trend(self, machine: str) -> pl.DataFrame:
        """Slope of each coefficient of a machine with its 90 % interval, and its clearest step.

        Parameters
        ----------
        machine : str
            Its name.

        Returns
        -------
        polars.DataFrame
            quantity, slope, low, high (a week where periods are dates, else a period), p, step, step_after, step_p.

        Raises
        ------
        TinyUDEError
            If the fleet has no such machine.
        """
        if machine not in self.machines:
            raise TinyUDEError(
                f"There is no machine {machine!r} with a fit; there are {listed(self.machines) or 'none'}."
            )
        i = self.machines.index(machine)
        rows = []
        for quantity, found in zip(self.quantities, self.findings, strict=True):
            after = int(found.step_at[i])
            rows.append(
                {
                    "quantity": quantity.name, "slope": float(found.slope[i]), "low": float(found.slope_low[i]),
                    "high": float(found.slope_high[i]), "p": float(found.slope_p[i]), "step": float(found.step[i]),
                    "step_after": self.clock.periods[after - 1] if after > 0 else "", "step_p": float(found.step_p[i]),
                }
            )  # fmt: skip
        return pl.DataFrame(rows)

    @cached_property
    def states(self) -> dict[str, tuple[str, list[str]]]:
        """State ("act", "watch", "healthy" or "silent") and reasons of every machine, the most urgent first."""
        names = sorted({row["machine"] for row in self.rows})
        states = machine_states(names, self.raised, self._silent())
        rank = {flag.machine: number for number, flag in reversed(list(enumerate(self.raised)))}
        return dict(sorted(states.items(), key=lambda item: (_ORDER[item[1][0]], rank.get(item[0], 10**9), item[0])))

    def to_html(self, path: str | Path | None = None) -> str:
        """The fleet's page as text, also written to a file where a path is given."""
        from tinyude.fleet.page import render

        text = render(self)
        if path is not None:
            write_whole(Path(path), text)
        return text

    def write(self) -> None:
        """Tables and page into the store."""
        for name, frame in (("units", self.units), ("terms", self.terms), ("flags", self.flags)):
            self.store.put(f"{name}.parquet", table_bytes(frame.to_arrow(compat_level=pl.CompatLevel.oldest())))
        self.store.put("fleet.html", self.to_html().encode())

    def rows_of(self, machine: str) -> list[dict[str, Any]]:
        """The results of a machine in the order of its periods."""
        return self._rows_of.get(machine, [])

    @cached_property
    def _rows_of(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {}
        for row in self.rows:
            found.setdefault(row["machine"], []).append(row)
        return found

    # How rows become quantities over machines and periods.

    @cached_property
    def _good(self) -> list[dict[str, Any]]:
        return [row for row in self.rows if row["status"] == OK]

    @cached_property
    def machines(self) -> list[str]:
        """Machines with at least one fit."""
        return sorted({row["machine"] for row in self._good})

    @cached_property
    def clock(self) -> Clock:
        periods = tuple(ordered(row["period"] for row in self._good))
        days = period_days(periods)
        if days is None or len(periods) < 2:
            return Clock(periods, np.arange(len(periods), dtype=np.float64), "period")
        return Clock(periods, np.array([days[period] for period in periods]) / DAYS_A_WEEK, "week")

    def _place(self, row: Mapping[str, Any]) -> tuple[int, int]:
        return self.machine_number[row["machine"]], self._period_number[row["period"]]

    @cached_property
    def machine_number(self) -> dict[str, int]:
        """Row of each machine in the panels of quantities."""
        return {name: number for number, name in enumerate(self.machines)}

    @cached_property
    def _period_number(self) -> dict[str, int]:
        return {name: number for number, name in enumerate(self.clock.periods)}

    @cached_property
    def quantities(self) -> list[Quantity]:
        """Coefficients first, then noise of each channel and the unexplained share of the rate, as logs."""
        keys = sorted({(entry["state"], entry["term"]) for row in self._good for entry in row["terms"]})
        several = len({state for state, _ in keys if state}) > 1
        made = [self._coefficient(key, several) for key in keys]
        channels: list[str] = max((row["channels"] for row in self._good), key=len, default=[])
        for number, channel in enumerate(channels):
            values = {self._place(row): row["noise"][number] for row in self._good if len(row["noise"]) > number}
            made.append(self._positive(f"the noise of {channel}", values))
        made.append(self._positive(UNEXPLAINED, {self._place(row): row["health"] for row in self._good}))
        return [quantity for quantity in made if np.isfinite(quantity.panel.values).any()]

    def _empty(self) -> tuple[Any, Any]:
        shape = len(self.machines), len(self.clock.periods)
        return np.full(shape, np.nan), np.full(shape, np.nan)

    def _coefficient(self, key: tuple[str, str], several: bool) -> Quantity:
        """Net values are compared: what the known physics says of a term and what was learned beside it."""
        values, errors = self._empty()
        known = 0.0
        for row in self._good:
            for entry in row["terms"]:
                if (entry["state"], entry["term"]) == key:
                    known = float(entry["known"])
                    values[self._place(row)], errors[self._place(row)] = known + entry["coefficient"], entry["error"]
        usual = np.nanmedian(errors)
        for row in self._good:  # a fit without any term contains no information about terms
            if row["terms"] and not np.isfinite(values[self._place(row)]):
                values[self._place(row)], errors[self._place(row)] = known, LOST_TERM * usual
        term = "the constant" if key[1] == "1" else f"the coefficient of {key[1].replace('**', '^')}"
        name = (f"{term} in d({key[0]})/dt" if several else term) if key[0] else f"the parameter {key[1]}"
        return Quantity(name, Panel(values, errors, self.clock.times), key, known)

    def _positive(self, name: str, entries: Mapping[tuple[int, int], float]) -> Quantity:
        values, errors = self._empty()
        for place, value in entries.items():
            if value is not None and np.isfinite(value) and value > 0.0:
                values[place], errors[place] = np.log(value), 0.0
        return Quantity(name, Panel(values, errors, self.clock.times), logarithm=True)

    @cached_property
    def _comparison(self) -> tuple[list[Flag], list[Findings]]:
        if not self.machines:
            return [], []
        return raise_flags(self.machines, self.quantities, self.clock, self.false_alarms)

    @property
    def raised(self) -> list[Flag]:
        """The flags, the most serious first."""
        return self._comparison[0]

    @property
    def findings(self) -> list[Findings]:
        """The tests of each quantity."""
        return self._comparison[1]

    def _silent(self) -> dict[str, str]:
        """Machines whose logs all failed, or that stopped reporting before the others."""
        reasons = {}
        times = dict(zip(self.clock.periods, self.clock.times, strict=True))
        usual = float(np.median(np.diff(self.clock.times))) if len(self.clock.times) > 1 else np.inf
        last: dict[str, str] = {}
        for row in sorted(self._good, key=lambda row: times[row["period"]]):
            last[row["machine"]] = row["period"]
        failed = {row["machine"]: row["error"] for row in self.rows if row["status"] != OK}
        for machine, error in failed.items():
            if machine not in last:
                reasons[machine] = f"no usable log: {error}"
        for machine, period in last.items():
            if self.clock.times[-1] - times[period] > OVERDUE * usual:
                why = f": {failed[machine]}" if machine in failed else ""
                reasons[machine] = f"no usable log since {period}{why}"
        return reasons


def merge_rows(*parts: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Results in the order of machine and period, one for each; a later part wins."""
    found = {(row["machine"], row["period"]): row for part in parts for row in part}
    place = {period: number for number, period in enumerate(ordered(period for _, period in found))}
    return [found[key] for key in sorted(found, key=lambda key: (key[0], place[key[1]]))]
