"""Results of earlier runs: which are taken over, and which are computed again."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tinyude.fleet.paths import Unit
from tinyude.fleet.run import _unchanged
from tinyude.fleet.store import Store

UNIT = Unit("arm-1", "2026-03-01", ("a.csv", "b.csv"), stamps=("10 1.5", "20 2.5"))
ROW: dict[str, Any] = {
    "machine": "arm-1", "period": "2026-03-01", "labels": {"site": "Lyon"}, "files": ["a.csv", "b.csv"],
    "stamps": ["10 1.5", "20 2.5"], "key": "k", "recipe": "r", "status": "ok", "lasting": True, "error": "",
    "model": "", "terms": [],
}  # fmt: skip


def test_store_gives_back_lasting_results_of_the_same_recipe(tmp_path: Path) -> None:
    store = Store(str(tmp_path))
    store.write(UNIT, "k", ROW)
    store.write(UNIT, "other", ROW | {"key": "other", "recipe": "s"})
    store.write(UNIT, "lost", ROW | {"key": "lost", "lasting": False})
    assert [row["key"] for row in store.kept("r")] == ["k"] and [row["key"] for row in store.kept("s")] == ["other"]
    found = store.read(UNIT, "k")
    assert found is not None and {name: found[name] for name in ROW} == ROW
    assert store.read(UNIT, "lost") is None and store.read(UNIT, "none") is None
    assert Store("").read(UNIT, "k") is None and Store("").kept("r") == []


@pytest.mark.parametrize(
    ("changes", "taken"),
    [
        ({}, True),
        ({"stamps": ("10 1.5", "20 2.6")}, False),
        ({"files": ("a.csv",), "stamps": ("10 1.5",)}, False),
        ({"period": "2026-03-02"}, False),
        ({"content": b"a frame, which may differ"}, False),
    ],
)
def test_unchanged_are_results_of_the_same_files(changes: dict[str, Any], taken: bool) -> None:
    assert _unchanged([replace(UNIT, **changes)], [ROW]) == ([ROW] if taken else [])
