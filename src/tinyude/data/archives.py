"""Variables of .npz and .mat files of unknown origin: what a file declares is checked before memory is taken for it."""

from __future__ import annotations

import math
import os
import struct
import tokenize
import warnings
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from tinyude.errors import TinyUDEError

MAX_BYTES = 2_000_000_000  # of a file's numbers: these kinds are read at once, CSV and Parquet in pieces
MAX_DEPTH = 20  # of cells within cells
MAX_VARIABLES = 10_000
_BROKEN = (
    ValueError, TypeError, KeyError, IndexError, AttributeError, EOFError, OverflowError, MemoryError, RecursionError,
    NotImplementedError, RuntimeError, SyntaxError, UserWarning, zlib.error, struct.error, tokenize.TokenError,
    zipfile.BadZipFile,
)  # fmt: skip
_MATRIX, _COMPRESSED = 14, 15  # kinds of elements in a .mat file


def read_npz(path: Path) -> dict[str, Any]:
    """The arrays of a .npz file; nothing in it is ever unpickled."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".npy")]
            _refuse_many(path, len(members))
            _refuse_large(path, sum(member.file_size for member in members))
            return {member.filename[:-4]: _npy(archive, member) for member in members}
    except TinyUDEError:
        raise
    except _BROKEN:
        raise TinyUDEError(f"{path} is no .npz file of plain numbers; write it with numpy.savez.") from None


def _npy(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Any:
    """One array; a header that promises other than the bytes that follow it is refused before they are read."""
    with archive.open(member) as file:
        version = npy.read_magic(file)
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
        if read is None:
            raise ValueError("an unknown version")
        shape, fortran, dtype = read(file)
        if dtype.hasobject or dtype.itemsize * math.prod(shape) != member.file_size - file.tell():
            raise ValueError("not as many plain numbers as it says")
        data = np.frombuffer(file.read(), dtype=dtype)
        return data.reshape(shape, order="F" if fortran else "C")


def read_mat(path: Path) -> dict[str, Any] | None:
    """The variables of a MATLAB file up to version 7; None for version 7.3, which is HDF5."""
    from scipy.io import loadmat
    from scipy.io.matlab import MatReadError, matfile_version

    try:
        with path.open("rb") as file, warnings.catch_warnings():
            warnings.simplefilter("error")
            major = matfile_version(file)[0]
            if major == 2:
                return None
            _check_mat(file, path, major)
            file.seek(0)
            variables = loadmat(file)
    except TinyUDEError:
        raise
    except (*_BROKEN, MatReadError) as error:
        raise TinyUDEError(f"{path} is not a readable .mat file ({error}); save it again with save -v7.") from None
    return {name: value for name, value in variables.items() if not name.startswith("__")}


def _check_mat(file: IO[bytes], path: Path, major: int) -> None:
    """Refuse sizes beyond the file or the limit, and nesting that would exhaust the stack of the reader."""
    file.seek(0, os.SEEK_END)
    end, total = file.tell(), 0
    for count, size in enumerate(_sizes_of_4(file, end) if major == 0 else _sizes_of_5(file, end)):
        total += size
        _refuse_many(path, count)
        _refuse_large(path, total)


def _sizes_of_4(file: IO[bytes], end: int) -> Iterator[int]:
    """Bytes of each variable of a version 4 file."""
    widths = {0: 8, 1: 4, 2: 4, 3: 2, 4: 2, 5: 1}
    place = 0
    while place + 20 <= end:
        file.seek(place)
        header = file.read(20)
        order = "<" if struct.unpack("<i", header[:4])[0] in range(5000) else ">"
        kind, rows, columns, imaginary, length = struct.unpack(f"{order}5i", header)
        size = rows * columns * widths[kind // 10 % 10] * (2 if imaginary else 1)
        place += 20 + length + size
        if min(rows, columns, length) < 0 or place > end:
            raise ValueError("a variable is longer than the file")
        yield size


def _sizes_of_5(file: IO[bytes], end: int) -> Iterator[int]:
    """Bytes of each variable of a version 5 to 7 file, uncompressed."""
    file.seek(126)
    order = "<" if file.read(2) == b"IM" else ">"
    place = 128
    while place + 8 <= end:
        file.seek(place)
        kind, size = struct.unpack(f"{order}2I", file.read(8))
        place += 8 + size
        if place > end:
            raise ValueError("a variable is longer than the file")
        if kind != _COMPRESSED:
            yield size
            _check_depth(file.read(size), order)
            continue
        inflate = zlib.decompressobj()
        packed = file.read(size)
        head = inflate.decompress(packed, 8)
        _, inner = struct.unpack(f"{order}2I", head)
        yield inner
        _check_depth(inflate.decompress(inflate.unconsumed_tail, inner), order)


def _check_depth(content: bytes, order: str) -> None:
    """Walk the tags of a variable's elements: matrices within matrices are cells and structs."""
    ends, place = [len(content)], 0
    while place + 8 <= len(content):
        while place >= ends[-1] and len(ends) > 1:
            ends.pop()
        kind, size = struct.unpack_from(f"{order}2I", content, place)
        if kind >> 16:  # a small element: kind, size and data in these eight bytes
            place += 8
        elif kind == _MATRIX:
            ends.append(place + 8 + size)
            place += 8
            if len(ends) > MAX_DEPTH:
                raise ValueError(f"cells are nested deeper than {MAX_DEPTH}")
        else:
            place += 8 + size + -size % 8


def _refuse_large(path: Path, size: int) -> None:
    if size > MAX_BYTES:
        raise TinyUDEError(
            f"{path} says it holds {size / 1e9:.3g} GB; at most {MAX_BYTES / 1e9:g} GB are read at once: write it as "
            "CSV or Parquet, which are read in pieces."
        )


def _refuse_many(path: Path, count: int) -> None:
    if count > MAX_VARIABLES:
        raise TinyUDEError(f"{path} holds more than {MAX_VARIABLES:,} variables; keep those that were recorded.")
