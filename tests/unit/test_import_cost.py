"""Importing the package and asking for help must not load what only a fit needs."""

import subprocess
import sys

import pytest

HEAVY = ("sympy", "sklearn", "scipy", "matplotlib", "polars", "jinja2", "pandas", "dask")
RARE = ("scipy.signal", "matplotlib", "dask")  # together slower than a fit


@pytest.mark.parametrize(
    "script", ["import tinyude", "import sys; sys.argv = ['tinyude', '--help']; import tinyude.__main__"]
)
def test_import_loads_nothing_heavy(script: str) -> None:
    assert not set(HEAVY) & loaded_by(script)


@pytest.mark.parametrize("module", ["tinyude.estimator.ude", "tinyude.cli.fit"])
def test_import_of_the_estimator_loads_nothing_that_most_fits_do_not_use(module: str) -> None:
    assert not set(RARE) & loaded_by(f"import {module}")


def loaded_by(script: str) -> set[str]:
    """Modules that a new Python has loaded after the script."""
    report = f"import sys\ntry:\n    exec({script!r})\nexcept SystemExit:\n    pass\nprint(*sys.modules)"
    found = subprocess.run([sys.executable, "-c", report], capture_output=True, text=True, check=True)
    return set(found.stdout.split())
