"""Measured records for the tests here, which are skipped where the records are not at hand."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tinyude import native

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder() -> Path:
    path = Path(os.environ.get("TINYUDE_DATA", ROOT.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"no measured records at {path}; set TINYUDE_DATA to their folder")
    if not native.available():
        pytest.skip("needs the compiled core")
    return path


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """An example by its name, importable as when it is run as a script."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module
