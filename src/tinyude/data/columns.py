"""Columns of a file by name: each requested one must exist, and all must have one length."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinyude.errors import TinyUDEError, listed


def chosen_columns(names: Sequence[str], columns: Sequence[str] | None, path: Path, kind: str = "column") -> list[str]:
    """The columns to read, each of which must be there; all by default."""
    for name in columns or ():
        if name not in names:
            close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f" (did you mean {close[0]!r}?)" if close else ""
            raise TinyUDEError(f"{path} has no {kind} {name!r}{hint}; its {kind}s are {listed(names)}.")
    return list(names) if columns is None else list(columns)


def same_length(lengths: Mapping[str, int], longest_only: bool, path: Path) -> tuple[list[str], int]:
    """The columns and their length; with `longest_only` scalars and other odds and ends are left out."""
    longest = max(lengths.values(), default=0)
    if not longest_only and len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name} {length}" for name, length in lengths.items())
        raise TinyUDEError(f"{path}: the columns differ in length ({listed}); take columns of one length, or resample.")
    return [name for name, length in lengths.items() if length == longest], longest
