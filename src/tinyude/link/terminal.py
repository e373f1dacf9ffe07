"""The monitor in a terminal: the state of the machine, what was learned, the last samples, events."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tinyude.link.board import BoardLink
from tinyude.link.history import History

_SPARKS = "▁▂▃▄▅▆▇█"
_STYLES = {"good": "green", "watch": "yellow", "bad": "red", "note": "dim"}
_ICONS = {"good": "✓", "watch": "▲", "bad": "✖", "note": "•"}
_WIDTH = 60


def watch(link: BoardLink, console: Console, seconds: float | None = None) -> None:
    """Show a board until its recording ends, so many seconds are over, or Ctrl-C; raises what ended the link."""
    until = None if seconds is None else time.monotonic() + seconds
    with Live(console=console, refresh_per_second=4, transient=False) as live:
        try:
            while not link.ended and (until is None or time.monotonic() < until):
                time.sleep(0.2)
                with link.lock:
                    live.update(render(link))
        except KeyboardInterrupt:
            pass
        with link.lock:
            live.update(render(link))
    if link.failure is not None:
        raise link.failure


def render(link: BoardLink) -> RenderableType:
    history = link.history
    return Group(_head(link), _samples(history), _learned(history), _events(history))


def _head(link: BoardLink) -> RenderableType:
    history = link.history
    level, word = history.level()
    newest = history.health[-1][1] if history.health else None
    state = Text("connected" if link.connected else "link lost", style="green" if link.connected else "red")
    line = Text.assemble((history.board, "bold"), "  ", (link.source, "dim"), "  ", state)
    ratio = f"{newest.worst:.2f} x the expected noise" if newest else "no report yet"
    health = Text.assemble("health  ", (f"{_ICONS[level]} {word}", _STYLES[level]), "  ", ratio)
    counters = history.counters.values if history.counters else {}
    facts = (
        f"samples {counters.get('samples', 0):,}   lost {counters.get('lost', 0):,}   windows accepted "
        f"{counters.get('accepted', 0):,} of {counters.get('windows', 0):,}   frames damaged {link.reader.damaged:,}"
    )
    if link.recorder is not None:
        facts += f"   recorded {link.recorder.rows:,}"
    return Panel(Group(line, health, Text(facts, style="dim")))


def _samples(history: History) -> RenderableType:
    table = Table("sensor", "now", "one step ahead", "last 20 s", expand=True, box=None)
    if history.rows:
        newest = history.rows[-1]
        for c, name in enumerate(history.channels):
            past = np.array([row.measured[c] for row in history.rows], np.float64)
            table.add_row(Text(name), f"{newest.measured[c]:.4g}", f"{newest.predicted[c]:.4g}", _spark(past))
        for c, name in enumerate(history.inputs):
            past = np.array([row.inputs[c] for row in history.rows], np.float64)
            table.add_row(Text(f"{name} (input)"), f"{newest.inputs[c]:.4g}", "", _spark(past))
    return table


def _learned(history: History) -> RenderableType:
    table = Table("learned", "value", "± 90 %", expand=True, box=None)
    for term in history.equation():
        table.add_row(Text(term["name"]), f"{term['value']:.5g}", f"{term['half']:.2g}")
    return table


def _events(history: History) -> RenderableType:
    lines: list[Any] = []
    for event in list(history.events)[-6:]:
        clock = time.strftime("%H:%M:%S", time.localtime(event.at))
        icon = (_ICONS[event.level], _STYLES[event.level])
        lines.append(Text.assemble((clock, "dim"), "  ", icon, "  ", event.title, "  ", (event.detail, "dim")))
    return Group(*lines)


def _spark(values: np.ndarray) -> str:
    """The last values as bars; a gap where there is no number."""
    shown = values[-2000:]
    if not len(shown):
        return ""
    edges = np.linspace(0, len(shown), min(_WIDTH, len(shown)) + 1).astype(int)
    with np.errstate(invalid="ignore"):
        means = np.array([shown[a:b].mean() for a, b in pairwise(edges)])
    usable = means[np.isfinite(means)]
    low, high = (usable.min(), usable.max()) if len(usable) else (0.0, 1.0)
    places = np.nan_to_num((means - low) / (high - low or 1.0) * (len(_SPARKS) - 1))
    return "".join(_SPARKS[int(p)] if np.isfinite(m) else " " for p, m in zip(places, means, strict=True))
