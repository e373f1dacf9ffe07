"""One-line messages for wrong command lines: what was given, what is possible, where to find help."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

# Part of typer's message about a value, and what to give instead.
_WANTED = (
    (r"valid number", "give a number"),
    (r"valid integer", "give a whole number"),
    (r"greater than or equal to (\S+)", r"give \1 or more"),
    (r"less than or equal to (\S+)", r"give \1 or less"),
)


def usage_line(error: Any, arguments: Sequence[str], commands: Sequence[str]) -> str:
    """The line for a usage error of click, as typer raises it.

    Parameters
    ----------
    error : click.UsageError
    arguments : sequence of str
        The command line, without the program.
    commands : sequence of str
        Names of the commands.
    """
    first = arguments[0] if arguments else ""
    help_of = error.ctx.command_path if error.ctx else " ".join(["tinyude", *([first] if first in commands else [])])
    if first not in commands and Path(first).is_file():
        return f"{first} is a file, not a command; to fit a log: tinyude fit {shlex.quote(first)} --physics FILE."
    told = _message(error, arguments).rstrip(".")
    return f"{told} Try `{help_of} --help`." if told.endswith("?") else f"{told}; try `{help_of} --help`."


def _message(error: Any, arguments: Sequence[str]) -> str:
    param = getattr(error, "param", None)
    if param is None:
        return str(error.format_message())
    name = max(param.opts, key=len) if param.param_type_name == "option" else param.metavar or param.name.upper()
    if type(error).__name__ == "MissingParameter":
        return f"{name} is missing: {(param.help or '').rstrip('.')}"
    for said, wanted in _WANTED:
        if found := re.search(said, str(error.message)):
            return f"{name} is {_given(param.opts, arguments)!r}; {found.expand(wanted)}"
    return str(error.format_message())


def _given(options: Sequence[str], arguments: Sequence[str]) -> str:
    """The value that an option was given last."""
    value = ""
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        for option in options:
            if argument == option:
                value = following
            elif argument.startswith(f"{option}="):
                value = argument.removeprefix(f"{option}=")
    return value
