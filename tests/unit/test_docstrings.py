"""The documented surface: every public name has a NumPy-style docstring, and its examples run."""

import doctest
import inspect
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from numpydoc.docscrape import ClassDoc
from numpydoc.validate import validate

import tinyude as tu
from tinyude.systems import System

# SS06: a summary may need two lines. EX01, SA01, ES01: not every method needs an example, "see also" or more text.
# GL01 is about where the text starts; RT02, PR09 about punctuation. YD01, GL08 are kept: nothing may be undocumented.
LEFT_OUT = {"SS06", "EX01", "SA01", "ES01", "GL01", "GL03", "RT02", "RT03", "RT05", "PR08", "PR09", "SS05"}
PUBLIC = ["UDE", "Physics", "Parameter", "MultipleShooting", "load", "systems.pendulum", "systems.double_pendulum"]


def resolve(name: str) -> object:
    found: object = tu
    for part in name.split("."):
        found = getattr(found, part)
    return found


def surface() -> Iterator[str]:
    """Dotted names of public classes and functions, and of the methods that they define themselves."""
    for name in PUBLIC:
        item = resolve(name)
        location = f"{item.__module__}.{item.__qualname__}"
        yield location
        if inspect.isclass(item):
            for base in (b for b in item.__mro__ if b.__module__.startswith("tinyude")):
                for method, value in vars(base).items():
                    if not method.startswith("_") and (inspect.isfunction(value) or isinstance(value, classmethod)):
                        yield f"{base.__module__}.{base.__qualname__}.{method}"
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
    bases = [b for b in getattr(item, "__mro__", [item]) if b.__module__.startswith("tinyude")]
    known: dict[str, object] = {"tu": tu, "np": np}
    for case in [c for base in bases for c in finder.find(base, name, globs=known)]:
        case.globs.update(known)  # a method's example goes on from its class's
        runner.run(case, clear_globs=False)
        known |= case.globs if case.name == name else {}
    assert runner.failures == 0


def test_ude_explains_every_fitted_attribute() -> None:
    told = {parameter.name for parameter in ClassDoc(tu.UDE)["Attributes"]}
    fitted = {name for name in dir(tu.UDE) if name.endswith("_") and not name.startswith("_")}
    assert fitted and fitted | {"result_"} <= told


def test_header_explains_every_field_of_the_configuration() -> None:
    """A comment each, with its range; a flag says what 0 does."""
    header = (Path(__file__).parents[2] / "core" / "include" / "tinyude.h").read_text()
    body = re.search(r"typedef struct tu_config \{(.*?)\} tu_config;", header, re.DOTALL)
    assert body is not None
    fields = re.findall(r"^    \w+ (\w+)(?:\[\w+\])?;[^\n]*?(?:/\*(.*?)\*/)?$", body[1], re.MULTILINE | re.DOTALL)
    declared = re.findall(r"(\w+)(?:\[\w+\])?;", re.sub(r"/\*.*?\*/", "", body[1], flags=re.DOTALL))
    assert [name for name, _ in fields] == declared and len(declared) > 40
    assert not [name for name, comment in fields if not re.search(r"\bflag\b|\.\.|>=|\bany\b", comment)]
    assert not [name for name, comment in fields if not comment]
    assert not [name for name, comment in fields if "flag" in comment and not re.search(r"\b0:|\[0\]", comment)]
