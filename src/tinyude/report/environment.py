"""The templates of HTML pages: values are escaped, a missing one is an error."""

from __future__ import annotations

from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

from tinyude.errors import printable


def page_environment() -> Environment:
    """The Jinja environment of a page, of the report or of a fleet."""
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, finalize=_without_controls, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["unbroken"] = _unbroken
    return environment


def _unbroken(text: str) -> Markup:
    """The text with every number and its per cent sign on one line."""
    return escape(printable(text)).replace(" %", "\u00a0%")


def _without_controls(value: Any) -> Any:
    """The value, text without control characters."""
    return printable(value) if isinstance(value, str) and not isinstance(value, Markup) else value
