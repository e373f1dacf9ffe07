"""The one family of errors a user meets, and the filter that makes any text safe to show in one line.

An error says the value, the limit and the remedy. Values come from files: what is shown of them holds no line break,
no terminal escape sequence and no invisible or reordering character.
"""

from __future__ import annotations

from collections.abc import Sequence
from os import PathLike
from pathlib import Path

LONGEST_MESSAGE = 2_000  # characters
_ENDS = (1_400, 500)  # of a longer message, kept from its beginning and from its end, which has the remedy


class TinyUDEError(ValueError):
    """Base of every error raised on purpose by this package; its message is one line of printable text."""

    def __init__(self, message: object = "") -> None:
        super().__init__(one_line(str(message)))


class TinyUDEWarning(UserWarning):
    """Base of every warning issued by this package."""


def no_such_file(path: str | PathLike[str]) -> TinyUDEError:
    """The error for a missing file: names one in the same folder with a similar name."""
    from difflib import get_close_matches

    wanted = Path(path)
    try:
        if wanted.is_symlink():
            return TinyUDEError(f"{path} is a link to {wanted.readlink()}, which is not there; correct the link.")
        beside = {f.stem: f.name for f in wanted.absolute().parent.iterdir() if f.suffix == wanted.suffix}
        near = get_close_matches(wanted.stem, list(beside), 1)
    except OSError:
        return TinyUDEError(f"There is no file {path}: its folder does not exist; check the path.")
    folder = wanted.absolute().parent
    remedy = f"did you mean {wanted.with_name(beside[near[0]])}?" if near else f"check its name in {folder}."
    return TinyUDEError(f"There is no file {path}; {remedy}")


def printable(text: str) -> str:
    """The text with every control, format and line-breaking character as an escape such as \\x1b.

    Examples
    --------
    >>> printable("a\\x1b[31mb")
    'a\\\\x1b[31mb'
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


def one_line(text: str) -> str:
    """The text on one line, printable, and cut in its middle where it is too long to read."""
    line = printable(" ".join(text.split()))
    if len(line) <= LONGEST_MESSAGE:
        return line
    first, last = _ENDS
    return f"{line[:first]} ... {line[-last:]}"


def listed(names: Sequence[str], most: int = 20) -> str:
    """The names, and how many more there are when they are too many to read."""
    shown = ", ".join(names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most:,} more"
