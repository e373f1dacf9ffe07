"""A file that declares far more numbers than its bytes can hold (a decompression bomb, a sparse file) is rejected.

One rule for every kind of file, applied before memory is taken: the numbers as they are read, eight bytes each, against
the bytes of the file.
"""

from __future__ import annotations

from pathlib import Path

from tinyude.errors import TinyUDEError

MOST_PACKED = 200  # bytes of numbers in one of the file: measured ones hold noise, which does not pack
ROOM = 500_000_000  # bytes that any file may become: a short log of something at rest packs well
NUMBER = 8  # bytes, as it is read


def check_declared_size(path: Path, numbers: int) -> None:
    """An error where a file would become far more numbers than measured ones can be packed into it."""
    become, held = NUMBER * numbers, path.stat().st_size
    if become > max(ROOM, MOST_PACKED * held):
        raise TinyUDEError(
            f"{path} declares {become / 1e9:.3g} GB of numbers and holds {held / 1e6:.3g} MB, less than "
            f"1/{MOST_PACKED} of that; save what was recorded."
        )
