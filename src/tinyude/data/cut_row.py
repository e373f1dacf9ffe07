"""Whether the last row of a text file was cut off: the program or the power went while it was written.

A last line without its line end may be whole: some programs write none. It counts as cut only where it differs from
every row before it: fewer values, a last value that is no number, or one with fewer digits.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

COMPARED = 10_000  # rows before it; fewer say less about how short a complete value may be
_NUMBER = re.compile(r"[-+]?(\d*)(?:[.,](\d*))?(?:[eE][-+]?(\d+))?")


def is_cut(fields: Sequence[str], before: Sequence[Sequence[str]]) -> bool:
    """Whether a row that has no line end is only the beginning of one like those before it.

    Parameters
    ----------
    fields : sequence of str
        The values of the last row.
    before : sequence of sequences of str
        Those of whole rows.
    """
    if not before:
        return False
    widths = {len(row) for row in before}
    if len(fields) < min(widths):
        return True
    if len(widths) > 1 or len(fields) > max(widths):
        return False
    digits, whole = _digits(fields[-1]), [_digits(row[-1]) for row in before]
    known = [each for each in whole if each is not None]
    if len(known) < len(whole):
        return False  # empty or text now and then: anything may end such a row
    return digits is None or any(
        own < min(others) for own, others in zip(digits, zip(*known, strict=True), strict=True)
    )


def _digits(value: str) -> tuple[int, int, int] | None:
    """Digits after the point, of the exponent, and all characters; None for what is no number."""
    text = value.strip().strip('"').strip()
    found = _NUMBER.fullmatch(text)
    if found is None or not (found[1] or found[2]):
        return None
    return len(found[2] or ""), len(found[3] or ""), len(text)
