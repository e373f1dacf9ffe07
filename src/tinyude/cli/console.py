"""What the commands share: the terminal, a progress bar, tables, and files written whole."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TextIO, cast

import numpy as np
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn
from rich.table import Table

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError, printable
from tinyude.model.line_wrapping import WIDTH, wrapped

STDOUT = Path("-")  # as a file to write: the figures go there, and all else to stderr
NARROWEST = 20  # characters
COLOURS = {"good": "bold green", "caution": "bold yellow", "bad": "bold red"}
written: list[str] = []  # files of this run of the program


class Output:
    """The standard output as it is when something is printed.

    Where it fails (a reader that has closed its end, a full disk), the command goes on: its results belong in files.
    `failure` says why; `main` reports it at the end.
    """

    def __init__(self) -> None:
        self.failure: OSError | None = None

    def __getattr__(self, name: str) -> Any:
        return getattr(sys.stdout, name)

    def write(self, text: str) -> int:
        self._try(lambda stream: stream.write(text))
        return len(text)

    def flush(self) -> None:
        self._try(lambda stream: stream.flush())

    def _try(self, action: Callable[[TextIO], Any]) -> None:
        if sys.stdout is None or self.failure is not None:
            return
        try:
            action(sys.stdout)
        except OSError as error:
            self.failure = error
            drop_output()


def drop_output() -> None:
    """Discard what the standard output still holds: otherwise it fails once more when Python ends."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _console(**options: Any) -> Console:
    """A console that also prints where the environment gives a width that nothing fits into, as COLUMNS=0."""
    made = Console(highlight=False, **options)
    if made.width < NARROWEST:
        made.width = WIDTH
    return made


output = Output()
console = _console(file=cast(TextIO, output))
errors = _console(stderr=True, soft_wrap=True)


@contextmanager
def progress_bar(task: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on stderr, moved by calling what is given with (done, total)."""
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TaskProgressColumn(), TimeRemainingColumn())
    with Progress(*columns, console=errors, transient=True, disable=not errors.is_terminal) as bar:
        number = bar.add_task(printable(task), total=None)
        yield lambda done, total: bar.update(number, completed=done, total=total)


def say(text: str, indent: str = "") -> None:
    """A line without markup, escape sequences of a file's names made visible; a terminal gets it broken at words."""
    for line in fitting(indent + printable(text)):
        console.print(line, markup=False, soft_wrap=True)


def complain(text: str) -> None:
    """An error or a warning on stderr, as `say` prints a line."""
    for line in fitting(text, errors):
        errors.print(line, markup=False, soft_wrap=True)


def fitting(line: str, target: Console = console) -> list[str]:
    """The line as the terminal has room for it; whole in a pipe or a file, where programs look for it."""
    return wrapped([line], target.width) if target.is_terminal else [line]


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Labelled values, without markup: names of states may hold brackets."""
    table = Table(show_header=False, box=None, padding=(0, 3, 0, 2))
    table.add_column(style="dim")
    table.add_column()
    for label, value in rows:
        table.add_row(_plain(label), _plain(value))
    console.print()
    console.print(table)
    console.print()


def print_lines(lines: Sequence[str], indent: str = "  ") -> None:
    for line in lines:
        say(line, indent)


def check_writable(*paths: Path | None, read: Sequence[Path | None] = ()) -> None:
    """Fail before the work, not after it, if a requested file cannot be written or would replace one that is read."""
    taken = {os.path.realpath(path): "the command reads it" for path in read if path is not None}
    for path in paths:
        if path is None or path == STDOUT:
            continue
        if path.is_dir():
            raise TinyUDEError(f"Cannot write {path}: it is a folder; give the name of a file.")
        if not path.absolute().parent.is_dir():
            raise TinyUDEError(f"Cannot write {path}: its folder does not exist; create it or choose another file.")
        place = os.path.realpath(path)
        changed = os.path.dirname(place) if path.is_file() or not path.exists() else place  # a device is not replaced
        if not os.access(changed, os.W_OK):
            raise TinyUDEError(f"Cannot write {path}: you may not write in {changed}; choose another folder.")
        if place in taken and (path.is_file() or not path.exists()):  # not a device, as /dev/null
            raise TinyUDEError(f"Cannot write {path}: {taken[place]}; choose another file.")
        taken[place] = "another result is written to it"


def write_text(path: Path, text: str) -> None:
    write_whole(path, text)
    wrote(path)


def wrote(path: Path | str) -> None:
    """Report a written file, also for the message of an interrupted program."""
    say(f"wrote {path}")
    written.append(str(path))


def quiet_for(json_file: Path | None) -> Path | None:
    """The file of --json; when that is stdout, all else goes to stderr."""
    if json_file == STDOUT and sys.stdout is None:
        raise TinyUDEError("--json - writes to the standard output, which is closed; give a file.")
    console.file = sys.stderr if json_file == STDOUT else cast(TextIO, output)
    return json_file


def print_verdict(verdict: Any) -> None:
    """The last lines of a command: the other doubts, then the status in its colour with the first of them."""
    from rich.text import Text

    remedy = ""
    for reason in verdict.reasons:
        if reason.text == verdict.summary:
            remedy = f" {reason.remedy}".rstrip()
        elif reason.severity != "note":
            say(f"{reason.severity}: {reason}", "  ")
    status = f"verdict: {verdict.status}."
    first, *more = fitting(f"{status} {printable(verdict.summary + remedy)}")
    line = Text(status, style=COLOURS.get(verdict.status, "")).append(first.removeprefix(status), style="default")
    console.print(line, soft_wrap=True)
    for rest in more:
        console.print(rest, markup=False, soft_wrap=True)


def write_json(path: Path | None, figures: Any) -> None:
    """Write the figures of a command if a file was requested; "-" is stdout."""
    if path is None:
        return
    text = json.dumps(_as_json(figures), indent=2, allow_nan=False) + "\n"
    if path == STDOUT:
        sys.stdout.write(text)
        sys.stdout.flush()
    else:
        write_text(path, text)


def _as_json(value: Any) -> Any:
    """Plain data; JSON has no number that is not finite, so those are null."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _as_json(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_as_json(item) for item in value]
    if isinstance(value, float) and not np.isfinite(value):
        return None
    if value is None or isinstance(value, str | int | float | bool):
        return value
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")


def _plain(text: str) -> Any:
    from rich.text import Text

    return Text(printable(text))
