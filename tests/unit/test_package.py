"""One version, and extras that can be installed as pinned."""

import re
import runpy
import tomllib
from pathlib import Path

import pytest

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


def test_check_release_asks_for_tag_version_and_date() -> None:
    wrong = runpy.run_path(str(ROOT / "tools" / "check_release.py"))["wrong"]
    package = '__version__ = "1.2.0"\n'
    assert wrong("v1.2.0", package, "## [1.2.0] - 2026-03-01\n") == []
    assert wrong("v1.2.1", package, "## [1.2.0] - 2026-03-01\n") == ["the tag is v1.2.1, the package's version 1.2.0"]
    assert len(wrong("v1.2.0", package, "## [1.1.0] - unreleased\n")) == 2


def test_check_text_finds_what_the_editorconfig_forbids() -> None:
    faults = runpy.run_path(str(ROOT / "tools" / "check_text.py"))["faults"]
    assert faults(b"a\n", False) == faults(b"", False) == faults(b"\tall:\n", True) == faults(b"\0 \r\n", False) == []
    assert faults(b"a\nb \n", False) == ["line 2: white space at the end"]
    assert faults(b"a\r\nb\r\n", False) == ["line 1: carriage return"]
    assert faults(b"\tb", False) == ["line 1: tab as indentation", "no newline at the end"]
    assert faults(b"\xff", False) == ["not UTF-8"]


def test_workflows_are_yaml_with_jobs() -> None:
    yaml = pytest.importorskip("yaml")
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        jobs = yaml.safe_load(path.read_text())["jobs"]
        assert all(job["runs-on"] and job["steps"] for job in jobs.values()), path


def test_constraints_pin_every_dependency() -> None:
    pinned = names((ROOT / "constraints.txt").read_text().split())
    extras = PROJECT["project"]["optional-dependencies"]
    wanted = names(PROJECT["project"]["dependencies"]).union(*map(names, extras.values()))
    assert wanted <= pinned


def test_constraints_name_each_package_once() -> None:
    lines = (ROOT / "constraints.txt").read_text().split()
    assert len(names(lines)) == len(lines)
    assert all(re.fullmatch(r"[\w.\-]+==[\w.+!]+", line) for line in lines)
