"""ARCHITECTURE.md names functions and folders that are there, in walks of at most twelve hops."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
REFERENCE, CORE = ROOT / "src" / "tinyude" / "reference", ROOT / "core" / "src"
MOST_HOPS = 12


def walk(heading: str) -> list[list[str]]:
    """Cells of the table below a heading, without the number of the hop."""
    part = TEXT[TEXT.index(heading) :].partition("\n## ")[0]
    return [[cell.strip(" `") for cell in row.split("|")[2:-1]] for row in re.findall(r"^\| \d+ \|.*$", part, re.M)]


@pytest.mark.parametrize("heading", ["The walk of one sample", "The walk of one CSV"])
def test_walk_has_few_hops(heading: str) -> None:
    assert 8 <= len(walk(heading)) <= MOST_HOPS


def test_walk_of_a_sample_names_functions_of_both_engines() -> None:
    for function, file, _ in walk("The walk of one sample"):
        source = (REFERENCE / f"{file}.py").read_text()
        assert f"def {function}(" in source, f"{file}.py has no {function}"
        twin = "".join(path.read_text() for path in (CORE / file).parent.glob(f"{Path(file).name}*.c"))
        assert re.search(rf"^\w[\w ]* \*?tu_{function}(_slice)?\(", twin, re.M), (
            f"core/src/{file}*.c has no tu_{function}"
        )


def test_walk_of_a_log_names_what_is_there() -> None:
    for name, _ in walk("The walk of one CSV"):
        module, _, attribute = name.rpartition(".")
        try:
            importlib.import_module(f"tinyude.{name}")
        except ModuleNotFoundError:
            assert hasattr(importlib.import_module(f"tinyude.{module}"), attribute), name


def test_rooms_are_those_that_stand_there() -> None:
    """Every folder of the package and of the core has its line."""
    rooms = TEXT[TEXT.index("## Rooms") :].partition("\n## ")[0]
    for parent in (ROOT / "src" / "tinyude", CORE):
        for folder in (path for path in parent.iterdir() if path.is_dir() and path.name != "__pycache__"):
            assert re.search(rf"\b{folder.name}/", rooms), folder.name
