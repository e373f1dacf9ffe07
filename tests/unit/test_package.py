"""One version, and extras that can be installed as pinned."""

import re
import tomllib
from pathlib import Path

import tinyude

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


def names(requirements: list[str]) -> set[str]:
    """Packages by their normalised name, without versions and without our own extras."""
    found = {re.split(r"[\[<>=; ]", requirement)[0] for requirement in requirements}
    return {re.sub(r"[-_.]+", "-", name).lower() for name in found} - {"tinyude"}


def test_version_has_one_source() -> None:
    assert "version" in PROJECT["project"]["dynamic"]
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.+)$", citation, re.MULTILINE)[1] == tinyude.__version__
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert newest[1] == tinyude.__version__


def test_constraints_pin_every_dependency() -> None:
    pinned = names((ROOT / "constraints.txt").read_text().split())
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = names(PROJECT["project"]["dependencies"]).union(*map(names, extras.values()))
    assert wanted <= pinned


def test_constraints_name_each_package_once() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert len(names(lines)) == len(lines)
    assert all(re.fullmatch(r"[\w.\-]+==[\w.+!]+", line) for line in lines)
