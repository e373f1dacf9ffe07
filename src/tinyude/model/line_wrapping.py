"""Wraps sentences and equations to lines that fit a terminal."""

from __future__ import annotations

import re
from collections.abc import Iterable

WIDTH = 80
HANG = "    "
_SPACE = re.compile(r"(?<![+*=-]) (?!\* |%)(?![^\[]*\])")  # no break after an operator or inside an interval
_OPERATOR = re.compile(r"(?<=[^*/+(,e-])(?=[*/+-])")  # possible breaks in an expression without spaces


def wrapped(lines: Iterable[str], width: int = WIDTH) -> list[str]:
    """The lines, broken where they exceed the width; continuation lines are indented.

    Examples
    --------
    >>> wrapped(["dv/dt = (F - k*x)/m - 0.4 * v [-0.41, -0.39]; and no more"], 30)
    ['dv/dt = (F - k*x)/m - 0.4 * v', '    [-0.41, -0.39]; and no more']
    """
    return [piece for line in lines for piece in _broken(line, width)]


def _broken(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    indent = line[: len(line) - len(line.lstrip())]
    done, now = [], indent
    for word in _SPACE.split(line.lstrip()):
        joined = f"{now} {word}" if now.strip() else now + word
        if len(joined) > width and now.strip():
            done.append(now)
            joined = indent + HANG + word
        while len(joined) > width:
            able = [m.start() for m in _OPERATOR.finditer(joined) if len(indent) + 2 * len(HANG) < m.start() <= width]
            if not able:
                break
            done.append(joined[: able[-1]])
            joined = indent + HANG + joined[able[-1] :]
        now = joined
    return [*done, now]
