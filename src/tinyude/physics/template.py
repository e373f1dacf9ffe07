"""A physics file to begin with, from the columns of a log: time, rate pairs and units guessed, to be corrected."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError, printable
from tinyude.physics.file import MAX_COLUMN, MAX_UNIT
from tinyude.physics.parsing import RESERVED_NAMES
from tinyude.physics.syntax import check_name

TIMES = ("time", "t", "timestamp", "stamp", "seconds", "sec", "time_s", "t_s", "time_ms", "t_ms", "ms")
INPUTS = (
    "u", "input", "cmd", "command", "torque", "tau", "force", "voltage", "volts", "volt", "current", "duty", "pwm",
    "throttle", "heater", "power", "valve", "inflow",
)  # fmt: skip
ROWS_USED = 5000  # rows
EQUAL = 1e-3  # spread of a clock's steps over their mean
HELD = 0.8  # share of rows that repeat the row before them
SPARSE = 0.01  # share of rows with a value: a column with fewer is no signal
PERIODS = ("ts", "dt", "period", "sample_period", "sampling_period", "sample_time", "sampling_time")
STEP = 0.1  # a usual step over the column's range: far more than one code or one update of a sensor
CLOCKS = {"s": 1.0, "sec": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0}


def physics_template(table: Mapping[str, Any], log: str, time: str | None = None, others: Sequence[str] = ()) -> str:
    """The file as text; every line that is a guess says so.

    Parameters
    ----------
    table : mapping of str to array
        Columns that become states and inputs.
    log : str
        The log's name.
    time : str, optional
        What the times of a recording are those of; found by name or steps in a table.
    others : sequence of str
        Further columns of the log, listed in comments.
    """
    period = _only_period(table)
    left_out = [n for n in table if not _nameable(n) or _sparse(table[n]) or (period and n == period[0])]
    table, others = {n: table[n] for n in table if n not in left_out}, [*others, *left_out]
    names, stamped = list(table), time is not None
    time = time or next((n for n in names if re.sub(r"[^a-z_]", "", _bare(n).lower()) in TIMES), None) or _steady(table)
    signals = [n for n in names if n != time]
    if not signals:
        raise TinyUDEError(f"{log} has no column of a signal that a physics file can name; rename its columns.")
    named = [n for n in signals if any(word in INPUTS for word in _words(n))]
    stepped = [n for n in signals if n not in named and _stepped(table[n])]
    inputs = [n for n in signals if n in named or n in stepped]
    states = [n for n in signals if n not in inputs] or signals
    inputs = [n for n in inputs if n not in states]
    called = _identifiers(signals)
    rates = _rate_pairs(table, time, states)
    lines = [
        f"# Physics of {printable(log)}: write what you know; TinyUDE learns what is missing.",
        "",
        "[states]  # dx/dt of each",
    ]
    for n in states:
        rate = rates.get(n)
        known = f'"{called[rate]}"' if rate else '"0"'
        note = f"# guess: {rate} is the rate of {n}" if rate else "# nothing known yet: write what you know"
        lines.append(f"{_key(called[n])} = {known}  {note}")
    lines += ["", "[measured]  # the column of each state"]
    lines += [f"{_key(called[n])} = {_column(n)}" for n in states]
    if inputs:
        lines += ["", "[inputs]  # what drives the system; where you know how, use it in an equation above"]
        note = "  # guess: it holds its value and jumps, as a command does"
        lines += [f"{_key(called[n])} = {_column(n)}{note if n in stepped else ''}" for n in inputs]
    lines += [
        "",
        "[parameters]  # constants of the equations",
        "# L = 0.5",
        "# k = { value = 1.0, learn = true, min = 0.0 }",
    ]
    lines += ["", "[time]", *_time_lines(table, time, stamped, period)]
    lines += [
        "",
        "# [fit]",
        '# library = "auto"  # "rich", "none", or a list of terms',
        '# network = "auto"  # "kernel", "mlp", "none"',
    ]
    if others:
        lines += ["", "# Further columns of the log:", *(f"#   {printable(name)}" for name in others)]
    return "\n".join(lines) + "\n"


def _sparse(values: Any) -> bool:
    """Whether a column is nearly empty."""
    return bool(np.mean(np.isfinite(np.asarray(values, dtype=np.float64))) < SPARSE)


def _only_period(table: Mapping[str, Any]) -> tuple[str, float] | None:
    """A column of a single value that is named as a sample period, and that value."""
    for name, values in table.items():
        column = np.asarray(values, dtype=np.float64)
        alone = column[np.isfinite(column)]
        if _bare(name).strip().lower() in PERIODS and len(alone) and np.ptp(alone) == 0.0 < alone[0]:
            return name, float(alone[0])
    return None


def _words(name: str) -> list[str]:
    """The words of a column's name, also of one as uEst or motorTorque."""
    return [word.lower() for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name)]


def _bare(name: str) -> str:
    """A column's name without its unit; the place in an array, as in xyz[0], is no unit."""
    return re.split(r"[\[(](?!\d+\])", name)[0]


def _steady(table: Mapping[str, Any]) -> str | None:
    """A column that rises in equal steps."""
    for name, values in table.items():
        try:
            steps = np.diff(np.asarray(values, dtype=np.float64)[:ROWS_USED])
        except (TypeError, ValueError):
            continue
        if len(steps) > 2 and np.all(steps > 0.0) and np.std(steps) < EQUAL * np.mean(steps):
            return name
    return None


def _stepped(values: Any) -> bool:
    """Whether a column mostly repeats itself and otherwise jumps, as a command does and no state."""
    column = np.asarray(values, dtype=np.float64)[:ROWS_USED]
    column = column[np.isfinite(column)]
    steps = np.abs(np.diff(column))
    moves = steps[steps > 0.0]
    return len(moves) > 1 and len(moves) < (1.0 - HELD) * len(steps) and np.median(moves) > STEP * np.ptp(column)


def _identifiers(names: Sequence[str]) -> dict[str, str]:
    """A name for every column: what follows its last dot or slash, all of it where that is not enough."""
    short = {n: _identifier(re.split(r"[./]", _bare(n))[-1]) for n in names}
    found: dict[str, str] = {}
    for place, name in enumerate(names):
        alone = list(short.values()).count(short[name]) == 1
        word = short[name] if alone else _identifier(_bare(name))
        found[name] = word if word and word not in found.values() else f"x{place}"
    return found


def _identifier(name: str) -> str:
    word = re.sub(r"\W+", "_", name).strip("_")
    try:
        return check_name(word, "state", RESERVED_NAMES)
    except TinyUDEError:
        return ""


def _nameable(column: str) -> bool:
    """Whether a physics file accepts it as the name of a column."""
    return bool(column.strip()) and column.isprintable() and len(column) <= MAX_COLUMN


def _key(name: str) -> str:
    """A name as a key of TOML, whose bare keys have plain letters only."""
    return name if name.isascii() else f'"{name}"'


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _column(name: str) -> str:
    """The column, with the scale that its unit asks for."""
    quoted = _quoted(name)
    unit = re.search(r"[\[(]\s*(?!\d+\])([^\])]+)\s*[\])]|_(deg|mm|ms|rpm|mV|mA)$", name)
    found = (unit[1] or unit[2]) if unit else ""
    scale = {
        "deg": "0.017453293",
        "deg/s": "0.017453293",
        "°": "0.017453293",
        "mm": "0.001",
        "mm/s": "0.001",
        "mA": "0.001",
        "mV": "0.001",
        "rpm": "0.10471976",
    }.get(found)
    if scale:
        return f"{{ column = {quoted}, scale = {scale} }}  # guess: {found} to SI"
    return f"{{ column = {quoted}, unit = {_quoted(found)} }}" if 0 < len(found) <= MAX_UNIT else quoted


def _time_lines(
    table: Mapping[str, Any], time: str | None, stamped: bool, period: tuple[str, float] | None
) -> list[str]:
    """stamped: the log's reader gives that column's times in seconds. period: a column with the sample period."""
    if time is None and period is not None:
        return [f"period = {period[1]:g}  # guess: the value of the column {period[0]}"]
    if time is None:
        return ["period = 0.01  # no column of times was found: seconds between two rows"]
    steps = np.diff(np.asarray(table[time], dtype=np.float64)[:ROWS_USED])
    steps = steps[np.isfinite(steps) & (steps > 0.0)]
    usual = float(np.median(steps)) if len(steps) else 0.01
    lines = [f"column = {_quoted(time)}"]
    unit = re.search(r"(?:[\[(]\s*|_)([a-zµ]+)\s*[\])]?$", time.lower())
    scale = CLOCKS.get(unit[1]) if unit else None
    if scale is None and usual > 1.0 and usual == round(usual):
        scale = 1e-3
    if stamped:
        return [f"{lines[0]}  # its stamps make the rows"]
    if scale not in (None, 1.0):
        lines.append(f"scale = {scale:g}  # guess: {usual:g} between two rows are {usual * scale:g} s")
    return lines


def _rate_pairs(table: Mapping[str, Any], time: str | None, states: list[str]) -> dict[str, str]:
    """State to the column that is its derivative, by correlation of differences."""
    columns = {n: np.asarray(table[n], dtype=np.float64)[:ROWS_USED] for n in states}
    t = np.arange(len(next(iter(columns.values())))) if time is None else np.asarray(table[time], float)[:ROWS_USED]
    found: dict[str, str] = {}
    lag = max(1, len(t) // 500)
    for n, values in columns.items():
        slope, best = (values[lag:] - values[:-lag]) / (t[lag:] - t[:-lag] + 1e-300), ("", 0.9)
        for other, rate in columns.items():
            middle = 0.5 * (rate[lag:] + rate[:-lag])
            good = np.isfinite(slope) & np.isfinite(middle)
            if other != n and good.sum() > 20 and np.std(slope[good]) > 0.0 and np.std(middle[good]) > 0.0:
                r = float(np.corrcoef(slope[good], middle[good])[0, 1])
                best = max(best, (other, r), key=lambda pair: pair[1])
        if best[0] and found.get(best[0]) != n:
            found[n] = best[0]
    return found
