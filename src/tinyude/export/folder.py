"""Writing an export: everything or a clear refusal, and never over somebody's work.

`export.json` lists the files of an export with their checksums. A folder that has one may be written again, as long as
none of those files was changed since; files that are not on the list are left alone.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError

MANIFEST = "export.json"


def write_folder(folder: Path, files: Mapping[str, str], made_of: Mapping[str, object]) -> None:
    """Write the files (paths with /, and texts), then the list of them; what is known of the export goes with it."""
    sums = {path: _checksum(text.encode()) for path, text in sorted(files.items())}
    earlier = _earlier(folder)
    changed = [
        path
        for path, known in {**sums, **earlier}.items()
        if (found := _found(folder / path)) is not None and found not in (known, sums.get(path))
    ]
    if changed:
        raise TinyUDEError(
            f"{folder / changed[0]} was changed since it was exported{_others(len(changed) - 1)}; "
            "move it away, or choose another folder."
        )
    for path in earlier:
        if path not in sums:
            (folder / path).unlink(missing_ok=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / path, text)
    write_whole(folder / MANIFEST, json.dumps({**made_of, "files": sums}, indent=2) + "\n")


def _earlier(folder: Path) -> dict[str, str]:
    """What an earlier export wrote here; anything else that is not empty is refused."""
    if folder.exists() and not folder.is_dir():
        raise TinyUDEError(f"{folder} is a file; give a folder.")
    if not folder.is_dir() or not any(folder.iterdir()):
        return {}
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {path: listed[path] for path in listed if _inside(path)}
    except (OSError, ValueError, KeyError, TypeError):
        raise TinyUDEError(
            f"{folder} is not empty and not an earlier export; choose another folder, or empty it first."
        ) from None


def _inside(path: str) -> bool:
    return not Path(path).is_absolute() and ".." not in Path(path).parts


def _found(path: Path) -> str | None:
    return _checksum(path.read_bytes()) if path.is_file() else None


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _others(count: int) -> str:
    return f" (and {count} more)" if count else ""
