"""A program that is killed at any call to the disk, or in the middle of a write: the old content or the new one.

Each write is tried in child processes that end without a word before the first call, before the second, and so on,
until one comes through.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.cli.console import write_json, write_text
from tinyude.export.folder import write_folder
from tinyude.fleet.store import Store

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

CALLS = ("open", "fsync", "chmod", "replace", "unlink", "mkdir", "rmdir")
KILLED = 9


class HalfWritten:
    """A file whose power goes in the middle of the first write."""

    def __init__(self, file: Any) -> None:
        self.file = file

    def __enter__(self) -> HalfWritten:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()

    def write(self, data: bytes) -> None:
        self.file.write(data[: len(data) // 2])
        self.file.flush()
        os._exit(KILLED)


def killed_at(number: int, write: Callable[[], object]) -> bool:
    """Run a write in a child that ends before call `number` to the disk, or half through a file; whether it was."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == KILLED
    count = [0]

    def counted(real: Callable[..., Any], end: Callable[..., Any] | None = None) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            count[0] += 1
            if count[0] == number and end is None:
                os._exit(KILLED)
            given = real(*args, **kwargs)
            return end(given) if end is not None and count[0] == number else given

        return call

    try:
        for name in CALLS:
            setattr(os, name, counted(getattr(os, name)))
        os.fdopen = counted(os.fdopen, HalfWritten)
        write()
    except BaseException:
        os._exit(1)
    os._exit(0)


def check_every_kill(write: Callable[[str], object], read: Callable[[], str]) -> int:
    """Kill the write of "new" over "old" at every call; how many there were."""
    for number in range(1, 200):
        write("old")
        assert read() == "old"
        killed = killed_at(number, lambda: write("new"))
        found = read()
        assert found in ("old", "new")
        write("new")
        assert read() == "new"
        if not killed:
            assert found == "new", "the child failed by itself"
            return number - 1
    raise AssertionError("no end of calls")


@pytest.fixture(scope="module")
def models() -> dict[str, tu.UDE]:
    """Two models that can be told apart."""
    t = np.arange(300) * 0.02
    samples = np.stack([np.cos(3 * t), -3 * np.sin(3 * t)], axis=1)
    samples += 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    physics = tu.Physics(["x", "v"], ["v", "-k*x"], parameters={"k": 9.0})
    made = {}
    for name, gain in (("old", 1.0), ("new", 2.0)):
        made[name] = tu.UDE(physics, refine=False, network=None).fit(gain * samples, t=0.02)
    return made


@pytest.mark.filterwarnings("ignore::tinyude.errors.TinyUDEWarning")
def test_model_is_the_old_or_the_new_one(models: dict[str, tu.UDE], tmp_path: Path) -> None:
    path = tmp_path / "a.tinyude"

    def read() -> str:
        return "new" if tu.load(path).result_.model.x_scale[0] > 1.0 else "old"  # the checksum is checked there

    assert check_every_kill(lambda name: models[name].save(path), read) >= 4


@pytest.mark.parametrize("kind", ["report", "json", "fleet"])
def test_file_is_the_old_or_the_new_one(kind: str, tmp_path: Path) -> None:
    path, store = tmp_path / "results" / "a", Store(str(tmp_path / "results"))
    path.parent.mkdir()
    writes: dict[str, Callable[[str], object]] = {
        "report": lambda text: write_text(path, text * 5000),
        "json": lambda text: write_json(path, {"text": text * 5000}),
        "fleet": lambda text: store.put("a", (text * 5000).encode()),
    }

    def read() -> str:
        text = path.read_text()
        assert text.count("old") % 5000 == text.count("new") % 5000 == 0
        return "new" if "new" in text else "old"

    assert check_every_kill(writes[kind], read) >= 4


def test_export_can_be_repeated_after_every_kill(tmp_path: Path) -> None:
    """An export is several files: each is whole, and the next attempt mends the rest."""

    def files(text: str) -> dict[str, str]:
        return {"README.md": text * 5000, "src/a.c": text * 5000, "src/b.c": text * 5000}

    for number in range(1, 200):
        folder = tmp_path / str(number)
        write_folder(folder, files("old"), {})
        killed = killed_at(number, lambda folder=folder: write_folder(folder, files("new"), {}))
        for name in files(""):
            assert (folder / name).read_text() in ("old" * 5000, "new" * 5000)
        write_folder(folder, files("new"), {})
        assert all((folder / name).read_text() == text for name, text in files("new").items())
        if not killed:
            assert number > 15
            return
    raise AssertionError("no end of calls")
