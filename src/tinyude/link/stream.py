"""A history as JSON for the page: news since the last message, and the current state."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, TypeVar

import numpy as np

from tinyude.link.board import BoardLink
from tinyude.link.history import WATCH, WRONG, History
from tinyude.link.messages import Row

T = TypeVar("T")
_MOST_ROWS = 4_000  # of one message
_TREND_POINTS = 300
_EVENTS = 60


def introduction(link: BoardLink) -> dict[str, Any]:
    """Data sent to a page once, and again when the description of the board changes."""
    history = link.history
    hello = history.hello
    return {
        "kind": "hello",
        "board": history.board,
        "source": link.source,
        "channels": history.channels,
        "states": history.states,
        "inputs": history.inputs,
        "rate": 1.0 / hello.sample_period if hello else None,
        "row_rate": 1.0 / (hello.sample_period * hello.row_ticks) if hello else None,
        "watch": WATCH,
        "wrong": WRONG,
    }


def fresh_rows(history: History, seen: int) -> dict[str, Any]:
    """Rows after the first `seen`, by column; innovations in units of their expected size."""
    rows = history.rows_since(seen)[-_MOST_ROWS:]
    return {
        "kind": "rows",
        "t": [history.seconds(row.tick) for row in rows],
        "measured": _columns([row.measured for row in rows]),
        "predicted": _columns([row.predicted for row in rows]),
        "innovation": _columns([_innovation(row) for row in rows]),
        "inputs": _columns([row.inputs for row in rows]),
    }


def status(link: BoardLink) -> dict[str, Any]:
    """The current state: link, health, counters, equation, events."""
    history = link.history
    level, word = history.level()
    newest = history.health[-1][1] if history.health else None
    flags = dict(zip(history.channels, newest.flags, strict=False)) if newest else {}
    return {
        "kind": "status",
        "connected": link.connected,
        "recording": link.recorder.rows if link.recorder else None,
        "damaged": link.reader.damaged,
        "lost_frames": link.reader.lost,
        "level": level,
        "word": word,
        "ratio": _number(newest.ratio) if newest else None,
        "worst": _number(newest.worst) if newest else None,
        "sensors": {name: flag for name, flag in flags.items() if flag},
        "counters": history.counters.values if history.counters else {},
        "rejected": history.counters.rejected if history.counters else {},
        "equation": [
            {**term, "value": _number(term["value"]), "half": _number(term["half"])} for term in history.equation()
        ],
        "events": [asdict(event) for event in list(history.events)[-_EVENTS:]],
    }


def trends(history: History) -> dict[str, Any]:
    """Health and coefficients over all the time that was watched, thinned."""
    health = _thin(list(history.health))
    terms = _thin(list(history.terms))
    columns = sorted({term.column for _, message in terms for term in message.terms})
    coefficients = []
    for column in columns:
        own = [next((term for term in message.terms if term.column == column), None) for _, message in terms]
        coefficients.append(
            {
                "name": history.term(column),
                "value": [_number(term.value) if term else None for term in own],
                "low": [_number(term.value - term.half_width) if term else None for term in own],
                "high": [_number(term.value + term.half_width) if term else None for term in own],
            }
        )
    return {
        "kind": "trends",
        "health_at": [at for at, _ in health],
        "health": [_number(report.worst) for _, report in health],
        "terms_at": [at for at, _ in terms],
        "coefficients": coefficients,
    }


def _innovation(row: Row) -> np.ndarray:
    with np.errstate(invalid="ignore", divide="ignore"):
        return (row.measured - row.predicted) / np.sqrt(row.variance)


def _columns(rows: Sequence[np.ndarray]) -> list[list[float | None]]:
    if not rows:
        return []
    return [[_number(value) for value in column] for column in np.stack(rows).T.tolist()]


def _number(value: float) -> float | None:
    """JSON knows no NaN."""
    return round(value, 9) if math.isfinite(value) else None


def _thin(values: list[T]) -> list[T]:
    step = -(-len(values) // _TREND_POINTS) or 1
    return values[::-1][::step][::-1]
