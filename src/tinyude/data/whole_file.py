"""Files that are written whole or not at all, however the program or the machine ends."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path

from tinyude.errors import TinyUDEError

DRAFT = ".tinyude-part"  # how the name of an unfinished file ends; a killed program may leave one
UNCHANGED = "nothing was changed: choose a folder with room that you may write to"


def write_whole(path: Path, content: bytes | str, otherwise: str = UNCHANGED) -> None:
    """Write the content to the path, replacing an existing file; text as UTF-8 with plain line ends.

    A reader sees the old file or the new one, never a part, also after a power cut. A file that is there keeps its
    mode, a new one gets what the umask says; a link is followed; a device or a pipe is written to as it is.

    Raises
    ------
    TinyUDEError
        Nothing could be written; what was there is as before. Its last words are `otherwise`.
    """
    data = content.encode("utf-8", "backslashreplace") if isinstance(content, str) else content
    try:
        target = Path(os.path.realpath(path))
        mode = _mode(target)
        if mode is not None and not stat.S_ISREG(mode):
            target.write_bytes(data)
            return
        draft = target.with_name(f".{secrets.token_hex(6)}{DRAFT}")
        try:
            _write_draft(draft, data, mode)
            os.replace(draft, target)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(draft)
            raise
        _sync_folder(target.parent)
    except (OSError, ValueError) as error:  # a name with a zero byte is a ValueError
        raise TinyUDEError(f"Cannot write {path}: {getattr(error, 'strerror', None) or error}; {otherwise}.") from None


def _mode(path: Path) -> int | None:
    try:
        return os.stat(path).st_mode
    except FileNotFoundError:
        return None


def _write_draft(draft: Path, data: bytes, mode: int | None) -> None:
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o666)
    with os.fdopen(handle, "wb") as file:
        file.write(data)
        file.flush()
        if mode is not None:
            os.chmod(draft, stat.S_IMODE(mode))
        os.fsync(file.fileno())


def _sync_folder(folder: Path) -> None:
    """Flush the folder entry to disk, if the system supports it."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
