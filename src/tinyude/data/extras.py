"""Packages that only some users need, imported when they are asked for."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tinyude.errors import TinyUDEError


def needed(module: str, extra: str) -> Any:
    """A module that one of our extras installs.

    Raises
    ------
    TinyUDEError
        When it is not installed; says how to install it.
    """
    try:
        return import_module(module)
    except ImportError as error:
        if error.name is None or error.name.split(".")[0] != module.split(".")[0]:
            raise
        raise TinyUDEError(f"This needs {module}, which is not installed; pip install 'tinyude[{extra}]'.") from None
