"""CSV files: lines are cut into blocks here, so that memory stays bounded, and each block is parsed by polars."""

from __future__ import annotations

import csv
import gzip
import io
import re
import sys
import warnings
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any

import polars as pl

from tinyude.data.cut_row import COMPARED, is_cut
from tinyude.data.declared_size import check_declared_size
from tinyude.data.extras import needed
from tinyude.errors import TinyUDEError, TinyUDEWarning

MISSING = ["", "NA", "N/A", "na", "null", "None", "-"]
MAX_COLUMNS = 10_000
MAX_LINE = 1_000_000  # characters
MAX_PREAMBLE = 100_000  # lines before the names of the columns, such as remarks
BLOCK = 50_000_000  # characters that are parsed at once
_COMMENTS = ("#", "%")
_SEPARATOR_LINE = re.compile(r'"?sep=.?"?', re.IGNORECASE)  # a hint for Excel, which is not used here
_SEPARATORS = (";", "\t", ",")  # in this order: a decimal comma is no separator
# The start of a number or a date; 1/s is a unit.
_LIKE_A_VALUE = re.compile(r"[-+]?[.,]?\d(?!/\D)|[-+]?(nan|inf|infinity)$|true$|false$", re.IGNORECASE)
_NO_UNIT = ("", "-")
_DECIMAL_COMMA = r"^([^.,]*),([^.,]*)$"
_POINT = r"^[-+]?\d*\.\d+([eE][-+]?\d+)?$"
_NUL, _LONGEST_TAIL = "\x00", 100  # reads of MAX_LINE characters


@dataclass(frozen=True)
class Layout:
    """How a file is written: its columns, their separator, and the number of the first data line."""

    names: list[str]
    separator: str
    first_line: int


def iter_csv_frames(
    path: Path, chosen: Callable[[list[str]], list[str]], rows: int
) -> Iterator[tuple[pl.DataFrame, int]]:
    """The chosen columns in blocks of at most `rows` rows, each with the number of its first line."""
    with _opened(path) as file:
        lines = _lines(file, path)
        layout, early = _layout(lines, path)
        columns = chosen(layout.names)
        number = layout.first_line
        before: list[str] = []
        become = 0
        for block in _blocks(chain(early, lines), rows):
            data = [line for line in block if line.strip() and not line.startswith(_COMMENTS)]
            become += len(data) * len(columns) + len(block)
            check_declared_size(path, become)
            if data and not data[-1].endswith("\n"):
                data = _whole_rows(data, before, layout.separator, path)
            if data:
                yield _frame(data, layout, columns, f"{path}, near line {number}"), number
            number, before = number + len(block), data[-COMPARED:]


def _whole_rows(data: list[str], before: list[str], separator: str, path: Path) -> list[str]:
    """The rows at the end of a file, but for a last one that was cut while it was written."""
    *whole, last = data
    rows = [_fields(line, separator) for line in (before + whole)[-COMPARED:]]
    if not is_cut(_fields(last, separator), rows):
        return [*whole, last + "\n"]
    warnings.warn(
        f"{path} ends in the middle of a row, {last[-40:]!r}; the row is left out: if the log should be longer, copy "
        "it again.", TinyUDEWarning, stacklevel=2,
    )  # fmt: skip
    return whole


@contextmanager
def _opened(path: Path) -> Iterator[IO[str]]:
    """A text file, unpacked on the way if it is compressed."""
    ending = path.suffix.lower()
    try:
        if ending == ".gz":
            with gzip.open(path, "rt", encoding="utf-8-sig", errors="replace") as file:
                yield file
        elif ending == ".zst":
            zstd = needed("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd", "zstd")
            try:
                with zstd.open(path, "rt", encoding="utf-8-sig", errors="replace") as file:
                    yield file
            except zstd.ZstdError as error:
                raise TinyUDEError(f"{path} is not a zstd file, or it is damaged ({error}); copy it again.") from None
        else:
            with path.open(encoding="utf-8-sig", errors="replace") as file:
                yield file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise TinyUDEError(f"{path} is cut short or damaged ({str(error).rstrip('.')}); copy it again.") from None


def _lines(file: IO[str], path: Path) -> Iterator[str]:
    """The lines of a file, none of which may be so long that it exhausts the memory; a last one may lack its end."""
    number = 0
    while line := file.readline(MAX_LINE):
        number += 1
        if _NUL in line:
            yield _before_padding(line, number, file, path)
            return
        if len(line) == MAX_LINE and not line.endswith("\n"):
            raise TinyUDEError(f"{path} has a line of more than {MAX_LINE:,} characters; put each row on its own line.")
        yield line.rstrip("\r\n") + "\n" if line.endswith("\n") else line


def _before_padding(line: str, number: int, file: IO[str], path: Path) -> str:
    """The line without the zero bytes at the end of a file: left by a power failure, or space reserved by a logger."""
    head, _, rest = line.partition(_NUL)
    for _ in range(_LONGEST_TAIL):
        if rest.strip(_NUL) or number == 1:
            break
        if not (rest := file.read(MAX_LINE)):
            return head
    raise TinyUDEError(f"{path} holds a zero byte in line {number}: it is not UTF-8 text; save it as CSV in UTF-8.")


def _blocks(lines: Iterator[str], rows: int) -> Iterator[list[str]]:
    block: list[str] = []
    size = 0
    for line in lines:
        block.append(line)
        size += len(line)
        if len(block) == rows or size >= BLOCK:
            yield block
            block, size = [], 0
    if block:
        yield block


def _layout(lines: Iterator[str], path: Path) -> tuple[Layout, list[str]]:
    """The layout, and the data line that was read to find it (if any)."""
    comment = ""
    for number, line in enumerate(lines, start=1):
        if number > MAX_PREAMBLE:
            raise TinyUDEError(
                f"{path} has no line of column names within {MAX_PREAMBLE:,} lines; leave out what precedes it."
            )
        if _SEPARATOR_LINE.fullmatch(line.strip()):
            continue
        if line.startswith(_COMMENTS):
            comment = line.lstrip("#% ").rstrip("\n")
        elif line.strip():
            if line.count('"') % 2:
                raise TinyUDEError(f"{path}: a quote in line {number} is not closed; write each name on that one line.")
            following = next(lines, "")
            separator = _separator(line, following)
            fields = _fields(line, separator)
            if not all(_LIKE_A_VALUE.match(field.strip()) or field.strip() in MISSING for field in fields):
                names = _checked_names([field.strip() for field in fields], path)
                if _are_units(_fields(following, separator)):
                    return Layout(names, separator, number + 2), []
                return Layout(names, separator, number + 1), [following] if following else []
            # Some programs write the names as a comment.
            names = [name.strip() for name in comment.replace(",", separator).split(separator) if name.strip()]
            if len(names) != len(fields):
                raise TinyUDEError(f"{path} begins with numbers; make its first line the names of the columns.")
            return Layout(_checked_names(names, path), separator, number), [line, following] if following else [line]
    raise TinyUDEError(f"{path} is empty; give a file with a line of column names and one row per sample.")


def _separator(header: str, following: str) -> str:
    """The one that cuts the header and the line after it into as many fields; else the most frequent, else a space."""
    found = {separator: len(_fields(header, separator)) for separator in _SEPARATORS}
    for separator, count in found.items():
        if count > 1 and following.strip() and len(_fields(following, separator)) == count:
            return separator
    best = max(_SEPARATORS, key=lambda separator: found[separator])
    return best if found[best] > 1 else " "


def _fields(line: str, separator: str) -> list[str]:
    """The fields of a line; a separator in quotes belongs to its field."""
    if separator == " ":
        return line.split()
    try:
        return next(csv.reader([line.rstrip("\n")], delimiter=separator, skipinitialspace=True), [])
    except csv.Error:
        return line.rstrip("\n").split(separator)


def _are_units(fields: list[str]) -> bool:
    """Whether a line holds words throughout, as the units of the columns."""
    words = [word for field in fields if (word := field.strip()) not in _NO_UNIT]
    return bool(words) and not any(_LIKE_A_VALUE.match(word) or word in MISSING for word in words)


def _checked_names(names: list[str], path: Path) -> list[str]:
    if len(names) > MAX_COLUMNS:
        raise TinyUDEError(f"{path} has {len(names):,} columns, more than {MAX_COLUMNS:,}; keep those that are needed.")
    names = [name or f"column {position}" for position, name in enumerate(names, start=1)]
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise TinyUDEError(f"{path} has two columns {name!r}; rename one of them.")
    return names


def _frame(lines: list[str], layout: Layout, chosen: list[str], where: str) -> pl.DataFrame:
    names, separator = layout.names, layout.separator
    if separator == " ":
        lines = [" ".join(line.split()) + "\n" for line in lines]
    short = len(names) - len(_fields(lines[0], separator))  # polars counts the columns in the first line
    text = "".join([lines[0].rstrip("\n") + separator * short + "\n", *lines[1:]])
    if '"' in text and (open_line := next((line for line in lines if line.count('"') % 2), None)):
        raise TinyUDEError(
            f"{where}: a quote in the row {open_line[:60].strip()!r} is not closed; keep each row on one line, and "
            "write a quote within text twice."
        )
    source = io.BytesIO(text.encode())
    options: dict[str, Any] = {"has_header": False, "separator": separator, "null_values": MISSING}
    options["columns"] = sorted(names.index(name) for name in chosen)
    try:
        return pl.read_csv(source, schema=dict.fromkeys(names, pl.Float64), **options)
    except pl.exceptions.PolarsError:
        source.seek(0)  # not all numbers: take it as text, and let the caller say which value is none
    try:
        frame = pl.read_csv(source, schema=dict.fromkeys(names, pl.String), **options)
    except pl.exceptions.PolarsError:
        longer = next((line for line in lines if len(_fields(line, separator)) > len(names)), "").strip()
        raise TinyUDEError(
            f"{where}: the row {longer[:60]!r} has more values than the {len(names)} columns named in the header; "
            f"check the separator (taken to be {separator!r})."
        ) from None
    trimmed = frame.select(pl.all().str.strip_chars())
    return trimmed if separator == "," else _with_points(trimmed, where)


def _with_points(frame: pl.DataFrame, where: str) -> pl.DataFrame:
    """Decimal commas as points: 1,5;2,5 are two numbers. Beside numbers with points, 1,500 could be 1500."""
    found = {sign: _first_match(frame, pattern) for sign, pattern in (("comma", _DECIMAL_COMMA), ("point", _POINT))}
    if found["comma"] and found["point"]:
        raise TinyUDEError(
            f"{where}: {found['point']!r} has a decimal point and {found['comma']!r} a comma; write all numbers with a "
            "point, and thousands without a separator."
        )
    return frame.select(pl.all().str.replace(_DECIMAL_COMMA, "${1}.${2}"))


def _first_match(frame: pl.DataFrame, pattern: str) -> str | None:
    """A value of the frame that the pattern describes, if there is one."""
    for column in frame.iter_columns():
        if (matches := column.filter(column.str.contains(pattern).fill_null(False))).len():
            return str(matches[0])
    return None
