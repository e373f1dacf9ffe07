"""The environment of every template that becomes a source or build file: nothing passes into one unchecked."""

from __future__ import annotations

import re
from typing import Any

from jinja2 import BaseLoader, Environment, StrictUndefined

from tinyude.errors import TinyUDEError, printable

# What could end a comment or a string, continue a line, or be expanded: in C, CMake, Make, YAML, Kconfig, Markdown.
_ACTIVE = re.compile(r'\*/|/\*|//|\?\?|[\\"`$#@]')


def source_environment(loader: BaseLoader | None = None) -> Environment:
    """Templates of which every filled-in value is one line of printable text that means nothing to a compiler."""
    return Environment(
        loader=loader,
        undefined=StrictUndefined,
        finalize=checked_value,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def checked_value(value: Any) -> Any:
    """The value as it is; text that could break out of where a template puts it is rejected."""
    if isinstance(value, str) and (not value.isprintable() or _ACTIVE.search(value)):
        raise TinyUDEError(
            f"{printable(value)[:60]!r} cannot be written into generated code; use plain names and expressions."
        )
    return value
