"""Full disks, unwritable folders, programs killed at any write: the old file or the new one, and a retry works."""

import errno
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest

import tinyude as tu
from tinyude.data.whole_file import DRAFT, write_whole
from tinyude.errors import TinyUDEError
from tinyude.export.folder import MANIFEST, write_folder

NOBODY = 65534
FILES = {"README.md": "one", "src/a.c": "two", "src/b.c": "three"}


class Killed(BaseException):
    """As when the process ends in the middle of a call."""


def failing(monkeypatch: pytest.MonkeyPatch, name: str, number: int, error: BaseException) -> Callable[[], int]:
    """Let call `number` of a function of os fail; returns how often it was called."""
    real, count = getattr(os, name), [0]

    def call(*args: object, **kwargs: object) -> object:
        count[0] += 1
        if count[0] == number:
            raise error
        return real(*args, **kwargs)

    monkeypatch.setattr(os, name, call)
    return lambda: count[0]


@pytest.mark.parametrize("name", ["open", "fsync", "replace", "chmod"])
def test_write_whole_leaves_the_old_file_when_the_disk_fails(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.tinyude"
    path.write_text("old")
    with monkeypatch.context() as patch:
        failing(patch, name, 1, OSError(errno.ENOSPC, "No space left on device"))
        with pytest.raises(TinyUDEError, match="No space left on device; nothing was changed"):
            write_whole(path, "new")
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["a.tinyude"]
    write_whole(path, "new")
    assert path.read_text() == "new"


def test_write_whole_keeps_mode_umask_and_links(tmp_path: Path) -> None:
    path, link = tmp_path / "a", tmp_path / "link"
    old = os.umask(0o027)
    try:
        write_whole(path, "x")
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
        path.chmod(0o600)
        link.symlink_to(path)
        write_whole(link, "y")
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and path.read_text() == "y" and link.is_symlink()


def test_write_whole_writes_into_devices_as_they_are() -> None:
    write_whole(Path("/dev/null"), "x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


def test_write_whole_says_where_it_may_not_write(tmp_path: Path) -> None:
    with pytest.raises(TinyUDEError, match="No such file"):
        write_whole(tmp_path / "missing" / "a", "x")
    for name, told in (("a\0b", "null byte"), ("a" * 5_000, "File name too long")):
        with pytest.raises(TinyUDEError, match=rf"{told}; nothing was changed"):
            write_whole(tmp_path / name, "x")
        with pytest.raises(TinyUDEError, match="There is no file"):
            tu.load(tmp_path / name)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(
    "write", [lambda f: write_whole(f / "a", "new"), lambda f: write_folder(f / "export", FILES, {})]
)
def test_writes_into_a_read_only_folder_are_rejected_in_one_line(write: Callable[[Path], object]) -> None:
    """In a child that is nobody where this process is root, whom no mode keeps out."""
    folder = Path(tempfile.mkdtemp())
    (folder / "a").write_text("old")
    folder.chmod(0o555)
    reading, writing = os.pipe()
    if not (child := os.fork()):
        told = "nothing was rejected"
        try:
            if os.geteuid() == 0:
                os.setuid(NOBODY)
            write(folder)
        except BaseException as error:
            told = f"{type(error).__name__}: {error}"
        finally:
            os.write(writing, told.encode())
            os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    with os.fdopen(reading) as told_by_the_child:
        told = told_by_the_child.read()
    folder.chmod(0o755)
    assert told.startswith("TinyUDEError: ") and "Permission denied" in told and len(told.splitlines()) == 1
    assert (folder / "a").read_text() == "old" and os.listdir(folder) == ["a"]
    shutil.rmtree(folder)


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), Killed()])
def test_write_folder_can_be_repeated_after_any_interruption(
    error: BaseException, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Interrupted at each write in turn, an export is repeated with the same content and with another."""
    for number in range(1, 6):
        for again in (FILES, {**FILES, "src/b.c": "four", "c.txt": "five"}):
            folder = tmp_path / f"{number}-{len(again)}"
            with monkeypatch.context() as patch:
                failing(patch, "replace", number, error)
                with pytest.raises((TinyUDEError, Killed)):
                    write_folder(folder, FILES, {})
            write_folder(folder, again, {})
            assert {path: (folder / path).read_text() for path in again} == again
            assert not list(folder.rglob(f"*{DRAFT}")) and (folder / MANIFEST).is_file()


def test_write_folder_repeats_an_export_of_which_only_a_draft_was_left(tmp_path: Path) -> None:
    (tmp_path / f".0123{DRAFT}").write_text("cut")
    write_folder(tmp_path, FILES, {})
    assert (tmp_path / "src" / "a.c").read_text() == "two"


def test_write_folder_does_not_follow_links_out_of_the_folder(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    folder = tmp_path / "export"
    write_folder(folder, {"README.md": "one"}, {})
    (folder / "src").symlink_to(outside)
    with pytest.raises(TinyUDEError, match="leads out of the folder"):
        write_folder(folder, FILES, {})
    assert not list(outside.iterdir())
