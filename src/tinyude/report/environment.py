"""The templates of HTML pages: values are escaped, a missing one is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from tinyude.errors import printable


def page_environment() -> Environment:
    """The Jinja environment of a page, of the report or of a fleet."""
    return Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_without_controls, trim_blocks=True, lstrip_blocks=True
    )


def _without_controls(value: Any) -> Any:
    """The value, text without control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
