"""The documented surface: every public name has a NumPy-style docstring, and its examples run."""

import doctest
import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from numpydoc.validate import validate

import tinyude as tu
from tinyude.systems import System

# SS06: a summary may need two lines. EX01, SA01, ES01: not every method needs an example, "see also" or more text.
# GL01 is about where the text starts; RT02, PR09 about punctuation. YD01, GL08 are kept: nothing may be undocumented.
LEFT_OUT = {"SS06", "EX01", "SA01", "ES01", "GL01", "GL03", "RT02", "RT03", "RT05", "PR08", "PR09", "SS05"}
PUBLIC = ["Physics", "Parameter", "MultipleShooting", "load", "systems.pendulum", "systems.double_pendulum"]


def resolve(name: str) -> object:
    found: object = tu
    for part in name.split("."):
        found = getattr(found, part)
    return found


def surface() -> Iterator[str]:
    """Dotted names of public classes and functions, and of the methods that they define themselves."""
    for name in PUBLIC:
        item = resolve(name)
        location = f"{item.__module__}.{item.__qualname__}"  # type: ignore[attr-defined]
        yield location
        if inspect.isclass(item):
            for method, value in vars(item).items():
                if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod)):
                    yield f"{location}.{method}"
    yield from (f"{System.__module__}.System.{name}" for name in ("stream",))


@pytest.mark.parametrize("name", list(surface()))
def test_docstring_is_complete(name: str) -> None:
    errors = [f"{code}: {text}" for code, text in validate(name)["errors"] if code not in LEFT_OUT]
    assert not errors


@pytest.mark.parametrize("name", PUBLIC)
def test_examples_in_docstrings_run(name: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    item = resolve(name)
    finder, runner = doctest.DocTestFinder(recurse=True), doctest.DocTestRunner(verbose=False)
    for case in finder.find(item, name, globs={"tu": tu, "np": np}):
        runner.run(case)
    assert runner.failures == 0
