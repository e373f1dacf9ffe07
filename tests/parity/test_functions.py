"""Every inner function of the core against its twin in the reference: float64 to the last digits, float32 as stored.

A case is computed three times from the same inputs, which float32 holds exactly.
"""

import json
from pathlib import Path

import learning_cases
import pytest
import stream_cases
from cases import CASES, error
from compiled_core import Core

CLOSE = 1e-12
BOUNDS = Path(__file__).parent / "float32_bounds.json"  # about three times what was measured


def test_cases_come_from_both_files() -> None:
    modules = {reference.__module__ for _, reference in CASES.values()}
    assert modules == {learning_cases.__name__, stream_cases.__name__}


def test_bounds_name_the_cases() -> None:
    assert json.loads(BOUNDS.read_text()).keys() == CASES.keys()


@pytest.mark.parametrize("name", CASES)
def test_core_float64_equals_the_reference(name: str, cores: dict[str, Core]) -> None:
    native, reference = CASES[name]
    assert error(native(cores["float64"]), reference()) <= CLOSE


@pytest.mark.parametrize("name", CASES)
def test_core_float32_is_as_near_as_stored(name: str, cores: dict[str, Core]) -> None:
    native, _ = CASES[name]
    found = error(native(cores["float32"]), native(cores["float64"]))
    bound = json.loads(BOUNDS.read_text())[name]
    assert found <= bound, f"{name}: float32 is off by {found:.2g}, above the stored {bound:.2g}"
