"""Writing an export: everything or a clear rejection; files that the user changed are never overwritten.

`export.json` lists the files of an export with their checksums. A folder that has one may be written again, as long as
none of those files was changed since; files that are not on the list are left alone. The list is written twice: first
with "complete": false and what is about to be written, so that an export that was interrupted can be repeated.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path

from tinyude.data.whole_file import DRAFT, write_whole
from tinyude.errors import TinyUDEError

MANIFEST = "export.json"
INCOMPLETE = "the export is not complete: correct that and export again"


def write_folder(folder: Path, files: Mapping[str, str], made_of: Mapping[str, object]) -> None:
    """Write the files (paths with /, and texts), then the list of them; what is known of the export goes with it."""
    sums = {path: _checksum(text.encode()) for path, text in sorted(files.items())}
    earlier = _earlier(folder)
    known = {path: {*earlier.get(path, ()), *([sums[path]] if path in sums else [])} for path in {**sums, **earlier}}
    changed = [path for path in known if (found := _found(folder, path)) is not None and found not in known[path]]
    if changed:
        raise TinyUDEError(
            f"{folder / changed[0]} was changed since it was exported{_others(len(changed) - 1)}; "
            "move it away, or choose another folder."
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        written = {path: sorted(known[path]) for path in sorted(known)}
        write_whole(folder / MANIFEST, _manifest({**made_of, "complete": False, "files": written}))
        for path in earlier:
            if path not in sums:
                (folder / path).unlink(missing_ok=True)
        for path, text in files.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            write_whole(folder / path, text, INCOMPLETE)
    except OSError as error:
        raise TinyUDEError(
            f"Cannot write the export to {folder}: {error.strerror or error}; correct that and export again."
        ) from None
    write_whole(folder / MANIFEST, _manifest({**made_of, "files": sums}), INCOMPLETE)


def _manifest(content: Mapping[str, object]) -> str:
    return json.dumps(content, indent=2) + "\n"


def _earlier(folder: Path) -> dict[str, list[str]]:
    """What earlier exports wrote here, with the checksums it may have; anything else that is not empty is rejected."""
    if folder.exists() and not folder.is_dir():
        raise TinyUDEError(f"{folder} is a file; give a folder.")
    if not folder.is_dir() or all(entry.name.endswith(DRAFT) for entry in folder.iterdir()):
        return {}
    try:
        listed = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))["files"]
        return {path: _sums(listed[path]) for path in listed if path != MANIFEST and _inside(folder, path)}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        raise TinyUDEError(
            f"{folder} is not empty and not an earlier export; choose another folder, or empty it first."
        ) from None


def _sums(listed: object) -> list[str]:
    """One checksum, or those of an interrupted export: as it was before, and as it was to be."""
    found = [item for item in (listed if isinstance(listed, list) else [listed]) if isinstance(item, str)]
    if not found:
        raise TypeError("a checksum is text")
    return found


def _inside(folder: Path, path: str) -> bool:
    return Path(os.path.realpath(folder / path)).is_relative_to(os.path.realpath(folder))


def _found(folder: Path, path: str) -> str | None:
    if not _inside(folder, path):
        raise TinyUDEError(f"{folder / path} leads out of the folder; remove the link, or choose another folder.")
    place = folder / path
    return _checksum(place.read_bytes()) if place.is_file() else None


def _checksum(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _others(count: int) -> str:
    return f" (and {count} more)" if count else ""
