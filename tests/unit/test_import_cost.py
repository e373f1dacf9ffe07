"""Importing the package and asking for help must not load what only a fit needs."""

import subprocess
import sys

import pytest

HEAVY = ("sympy", "sklearn", "scipy", "matplotlib", "polars", "jinja2", "pandas", "dask")


@pytest.mark.parametrize(
    "script", ["import tinyude", "import sys; sys.argv = ['tinyude', '--help']; import tinyude.__main__"]
)
def test_import_loads_nothing_heavy(script: str) -> None:
    report = f"import sys\ntry:\n    exec({script!r})\nexcept SystemExit:\n    pass\nprint(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True).stdout.split()
    assert not set(HEAVY) & set(loaded)
