"""Measured records for the tests here, which are skipped without the records."""

import importlib
import os
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tinyude import datasets, native

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def folder() -> Path:
    path = Path(os.environ.get("TINYUDE_DATA", ROOT.parent / "shared" / "data"))
    for file in (datasets.SINGLE, datasets.DOUBLE, *datasets.MOTOR.values(), datasets.TORQUE_DOUBLE):
        if not (path / file.local).exists():
            pytest.skip(f"no measured record at {path / file.local}; set TINYUDE_DATA to the folder of the records")
    if not native.available():
        pytest.skip("needs the compiled core")
    return path


@pytest.fixture
def example(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], ModuleType]:
    """An example by its name, importable as when it is run as a script."""
    monkeypatch.syspath_prepend(ROOT / "examples")
    return importlib.import_module
