"""A file that declares far more numbers than its bytes can hold (a decompression bomb, a sparse file) is rejected.

One rule for every kind of file, applied before memory is taken: the numbers as they are read, eight bytes each, against
the bytes of the file.
"""

from __future__ import annotations

from pathlib import Path

from tinyude.errors import TinyUDEError

MOST_PACKED = 200  # bytes of numbers in one of the file: measured data hold noise, which does not compress
ROOM = 500_000_000  # bytes that any file may expand to: a short log of a machine at rest compresses well
NUMBER = 8  # bytes, as it is read


def check_declared_size(path: Path, numbers: int) -> None:
    """An error if a file would expand to far more numbers than measured data of its size can hold."""
    become, held = NUMBER * numbers, path.stat().st_size
    if become > max(ROOM, MOST_PACKED * held):
        raise TinyUDEError(
            f"{path} declares {become / 1e9:.3g} GB of numbers and holds {held / 1e6:.3g} MB, less than "
            f"1/{MOST_PACKED} of that; save what was recorded."
        )
