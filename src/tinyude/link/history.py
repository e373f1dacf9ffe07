"""Data received from a board so far: names, the last rows, trends and events, for a terminal or a page."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tinyude.link.messages import (
    SENSOR_FLAGS,
    Counters,
    Event,
    EventKind,
    Health,
    Hello,
    Message,
    Name,
    Row,
    Terms,
)

ROWS = 12_000  # two minutes at 100 Hz
TRENDS = 20_000  # a week at one in 30 s
EVENTS = 500
WATCH, WRONG = 1.3, 2.0  # health ratios
_LEARNER, _STATES, _INPUTS, _PARAMETERS, _TERMS = range(5)


@dataclass(frozen=True)
class LoggedEvent:
    """Something that happened: when (seconds since the epoch here), how bad, in words."""

    at: float
    level: str  # "note", "good", "watch", "bad"
    title: str
    detail: str = ""


@dataclass
class History:
    """Everything that a monitor shows of one board."""

    clock: Callable[[], float] = time.time
    hello: Hello | None = None
    names: dict[tuple[int, int], Name] = field(default_factory=dict)
    rows: deque[Row] = field(default_factory=lambda: deque(maxlen=ROWS))
    rows_seen: int = 0
    health: deque[tuple[float, Health]] = field(default_factory=lambda: deque(maxlen=TRENDS))
    terms: deque[tuple[float, Terms]] = field(default_factory=lambda: deque(maxlen=TRENDS))
    counters: Counters | None = None
    events: deque[LoggedEvent] = field(default_factory=lambda: deque(maxlen=EVENTS))

    def take(self, message: Message) -> None:
        now = self.clock()
        match message:
            case Hello():
                if self.hello is not None and message != self.hello:
                    self._forget()
                self.hello = message
            case Name():
                self.names[message.group, message.index] = message
            case Row():
                self.rows.append(message)
                self.rows_seen += 1
            case Health():
                self.health.append((now, message))
            case Terms():
                self.terms.append((now, message))
            case Counters():
                self.counters = message
            case Event():
                self.events.append(self._logged(now, message))
            case _:
                pass

    def note(self, level: str, title: str, detail: str = "") -> None:
        """Something that this side noticed."""
        self.events.append(LoggedEvent(self.clock(), level, title, detail))

    def name(self, group: int, index: int, otherwise: str) -> str:
        found = self.names.get((group, index))
        return found.text if found is not None and found.text else otherwise

    @property
    def board(self) -> str:
        return self.name(_LEARNER, 0, "board")

    @property
    def states(self) -> list[str]:
        count = self.hello.states if self.hello else 0
        return [self.name(_STATES, i, f"x{i}") for i in range(count)]

    @property
    def inputs(self) -> list[str]:
        count = self.hello.inputs if self.hello else 0
        return [self.name(_INPUTS, i, f"u{i}") for i in range(count)]

    @property
    def channels(self) -> list[str]:
        """What each sensor channel measures: its state of derivative order 0."""
        if self.hello is None:
            return []
        kinds = list(zip(self.hello.channel, self.hello.order, strict=True))
        return [self.states[kinds.index((c, 0))] if (c, 0) in kinds else f"y{c}" for c in range(self.hello.channels)]

    def term(self, column: int) -> str:
        """A coefficient's name: a parameter, or its term in the equation of its state."""
        if self.hello is None:
            return f"coefficient {column}"
        if column < self.hello.parameters:
            return self.name(_PARAMETERS, column, f"parameter {column}")
        output, place = divmod(column - self.hello.parameters, max(self.hello.terms, 1))
        text = self.name(_TERMS, place, f"term {place}")
        return text if len(self.hello.on) < 2 else f"{text} in d({self.states[self.hello.on[output]]})/dt"

    def complete(self) -> bool:
        """Whether the board has sent all of its names."""
        if self.hello is None:
            return False
        return len(self.names) >= sum(self.hello.names)

    def seconds(self, tick: int) -> float:
        return tick * self.hello.sample_period if self.hello else float(tick)

    def level(self) -> tuple[str, str]:
        """The state of the machine: a level and a word."""
        if not self.health:
            return "note", "no report yet"
        worst = self.health[-1][1].worst
        if any(self.health[-1][1].flags):
            return "bad", "sensor"
        return ("bad", "wrong") if worst > WRONG else ("watch", "watch") if worst > WATCH else ("good", "healthy")

    def equation(self) -> list[dict[str, Any]]:
        """The currently selected terms with their values."""
        if not self.terms:
            return []
        return [
            {"column": term.column, "name": self.term(term.column), "value": term.value, "half": term.half_width}
            for term in self.terms[-1][1].terms
        ]

    def rows_since(self, seen: int) -> list[Row]:
        """The rows after the first `seen` of all, as far as they are still kept."""
        fresh = min(self.rows_seen - seen, len(self.rows))
        return [self.rows[len(self.rows) - fresh + i] for i in range(fresh)] if fresh > 0 else []

    def _forget(self) -> None:
        self.note("watch", "Another model", "the board runs another model than before")
        self.names.clear()
        self.rows.clear()
        self.health.clear()
        self.terms.clear()

    def _logged(self, now: float, event: Event) -> LoggedEvent:
        value = event.value
        where = f"tick {event.tick:,}"
        match event.kind:
            case EventKind.CALIBRATED:
                return LoggedEvent(now, "good", "Calibrated", f"window of ±{value:.0f} samples")
            case EventKind.RECALIBRATED:
                return LoggedEvent(now, "watch", "Recalibrated", f"window of ±{value:.0f} samples")
            case EventKind.CHANGED:
                return LoggedEvent(now, "watch", "Change detected", f"learning restarted at {where}")
            case EventKind.GAP:
                return LoggedEvent(now, "watch", "Gap in the stream", f"{value:.0f} samples lost so far; {where}")
            case EventKind.SENSOR:
                return self._sensor(now, int(value), where)
            case EventKind.HEALTH:
                if value > WRONG:
                    return LoggedEvent(now, "bad", f"Health above {WRONG:g}", "predictions worse than the noise allows")
                if value > WATCH:
                    return LoggedEvent(now, "watch", f"Health above {WATCH:g}", f"{value:.2f} times the expected noise")
                return LoggedEvent(now, "good", "Healthy again", f"{value:.2f} times the expected noise")
            case EventKind.SAVED:
                return LoggedEvent(now, "note", f"State {value:.0f} saved", where)
            case EventKind.NOT_SAVED:
                return LoggedEvent(now, "bad", "State not saved", "the board's storage rejected a write")
            case EventKind.RESTARTED:
                return LoggedEvent(now, "note", "Learner started over", where)

    def _sensor(self, now: float, value: int, where: str) -> LoggedEvent:
        channel, flags = value % 16, value // 16
        name = self.channels[channel] if channel < len(self.channels) else f"channel {channel}"
        words = [word for flag, word in SENSOR_FLAGS.items() if flags & flag]
        if words:
            return LoggedEvent(now, "bad", f"{name} {' and '.join(words)}", where)
        return LoggedEvent(now, "good", f"{name} back", where)


def row_columns(history: History) -> list[str]:
    """Names of a recording's columns: time, what was measured, inputs, predictions, their standard deviations."""
    channels = history.channels
    derived = [f"{name}_{what}" for what in ("predicted", "sd") for name in channels]
    columns = ["tick", "t"]
    for name in (*channels, *history.inputs, *derived):
        columns.append(name if name not in columns else f"{name}_{len(columns)}")
    return columns


def row_values(history: History, row: Row) -> list[float]:
    with np.errstate(invalid="ignore"):
        deviation = np.sqrt(row.variance)
    numbers = np.concatenate([row.measured, row.inputs, row.predicted, deviation]).tolist()
    return [row.tick, history.seconds(row.tick), *numbers]
