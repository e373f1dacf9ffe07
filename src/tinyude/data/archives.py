"""Variables of .npz and .mat files of unknown origin: what a file declares is checked before memory is taken for it."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import zipfile
import zlib
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy

from tinyude.data.declared_size import NUMBER, check_declared_size
from tinyude.data.matlab import mat_version, variables_of_4, variables_of_5
from tinyude.errors import TinyUDEError

MAX_BYTES = 2_000_000_000  # of a file's numbers: these kinds are read at once, CSV and Parquet in pieces
MAX_VARIABLES = 10_000
_BROKEN = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, OverflowError, MemoryError, RecursionError,
    NotImplementedError, RuntimeError, SyntaxError, zlib.error, struct.error, tokenize.TokenError,
    zipfile.BadZipFile,
)  # fmt: skip


def read_npz(path: Path) -> dict[str, Any]:
    """The arrays of a .npz file; nothing in it is ever unpickled."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            _check_count(path, len(members))
            _check_unique(path, [member.filename for member in members])
            room = Room(path)
            return {member.filename[:-4]: _npy(archive, member, room) for member in members}
    except TinyUDEError:
        raise
    except _BROKEN:
        raise TinyUDEError(f"{path} is not an .npz file of plain numbers; write it with numpy.savez.") from None


class Room:
    """Memory of a file's variables, reserved before each is read."""

    def __init__(self, path: Path) -> None:
        self.path, self.numbers = path, 0

    def take(self, numbers: int) -> None:
        self.numbers += numbers
        check_declared_size(self.path, self.numbers)
        _check_size(self.path, NUMBER * self.numbers)


def _npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: Room) -> Any:
    """One array; a header that promises other than the bytes that follow it is rejected before they are read."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError("an unknown version")
        shape, fortran, dtype = read(file)
        if dtype.hasobject or dtype.itemsize * math.prod(shape) != member.file_size - file.tell():
            raise ValueError("not as many plain numbers as it says")
        room.take(max(math.prod(shape), member.file_size // NUMBER))
        data = np.frombuffer(file.read(), dtype=dtype)
        return data.reshape(shape, order="F" if fortran else "C")


def read_mat(path: Path) -> dict[str, Any] | None:
    """The variables of a MATLAB file up to version 7; None for version 7.3, which is HDF5."""
    try:
        with path.open("rb") as file:
            version = mat_version(file.read(128))
            if version == 73:
                return None
            _check_size(path, file.seek(0, os.SEEK_END))
            file.seek(0)
            content = file.read()
        room = Room(path)
        found = variables_of_4(content, room.take) if version == 4 else variables_of_5(content, room.take)
        variables = dict(islice(found, MAX_VARIABLES + 1))
    except TinyUDEError:
        raise
    except _BROKEN as error:
        raise TinyUDEError(f"{path} is not a readable .mat file ({error}); save it again with save -v7.") from None
    _check_count(path, len(variables))
    return {name: value for name, value in variables.items() if not name.startswith("__")}


def _check_size(path: Path, size: int) -> None:
    if size > MAX_BYTES:
        raise TinyUDEError(
            f"{path} says it holds {size / 1e9:.3g} GB; at most {MAX_BYTES / 1e9:g} GB are read at once: write it as "
            "CSV or Parquet, which are read in pieces."
        )


def _check_unique(path: Path, names: list[str]) -> None:
    if twice := next((name for name in names if names.count(name) > 1), None) if len(set(names)) < len(names) else None:
        raise TinyUDEError(f"{path} has two variables {twice.removesuffix('.npy')!r}; rename one of them.")


def _check_count(path: Path, count: int) -> None:
    if count > MAX_VARIABLES:
        raise TinyUDEError(f"{path} holds more than {MAX_VARIABLES:,} variables; keep those that were recorded.")
