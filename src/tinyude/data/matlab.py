"""MATLAB files of version 4 to 7, read in plain Python: files of unknown origin must not reach a compiled reader.

Numbers, cells and structs are read; text, sparse and other variables are left out. Sizes are checked against the bytes
that are there before anything is made of them.
"""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tinyude.data.declared_size import NUMBER

MAX_DEPTH = 20  # of cells within cells
MAX_ITEMS = 100_000  # of cells and structs
_MATRIX, _COMPRESSED = 14, 15
_CELL, _STRUCT, _NUMERIC = 1, 2, range(6, 16)  # kinds of matrices
_TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
_UNPACKED = 50_000_000  # bytes of a compressed variable at once
_TYPES_OF_4 = ("f8", "f4", "i4", "i2", "u2", "u1")
Take = Callable[[int], None]  # asks for room for so many numbers


class Skipped(Exception):
    """A variable that holds no numbers."""


def mat_version(head: bytes) -> int:
    """4, 5 (to 7) or 7.3 as 73, of the first 128 bytes."""
    if len(head) >= 20 and 0 in head[:4]:
        return 4
    if len(head) < 128 or head[126:128] not in (b"IM", b"MI"):
        raise ValueError("no MATLAB file")
    major = head[125] if head[126:128] == b"IM" else head[124]
    if major not in (1, 2):
        raise ValueError("an unknown version")
    return 5 if major == 1 else 73


def variables_of_4(content: bytes, take: Take) -> Iterator[tuple[str, Any]]:
    """Names and arrays of a version 4 file."""
    place = 0
    while place + 20 <= len(content):
        order = "<" if struct.unpack_from("<i", content, place)[0] in range(5000) else ">"
        kind, rows, columns, imaginary, length = struct.unpack_from(f"{order}5i", content, place)
        dtype = np.dtype(order + _TYPES_OF_4[kind // 10 % 10])
        count, parts = rows * columns, 2 if imaginary else 1
        start = place + 20 + length
        place = start + parts * count * dtype.itemsize
        if min(rows, columns, length) < 0 or place > len(content):
            raise ValueError("a variable is longer than the file")
        if kind % 10 == 0 and not imaginary:
            name = content[start - length : start].split(b"\0")[0].decode("latin-1")
            take(count)
            yield name, np.frombuffer(content, dtype, count, start).reshape((rows, columns), order="F")


def variables_of_5(content: bytes, take: Take) -> Iterator[tuple[str, Any]]:
    """Names and arrays of a version 5 to 7 file."""
    order = "<" if content[126:128] == b"IM" else ">"
    place, whole = 128, memoryview(content)
    while place + 8 <= len(whole):
        kind, size = struct.unpack_from(f"{order}2I", whole, place)
        place += 8
        if place + size > len(whole):
            raise ValueError("a variable is longer than the file")
        piece = whole[place : place + size]
        place += size
        if kind == _COMPRESSED:
            piece = _unpacked(piece, take)
            kind, size = struct.unpack_from(f"{order}2I", piece)
            piece = piece[8 : 8 + size]
        if kind != _MATRIX:
            raise ValueError("something else than a variable")
        try:
            yield _Elements(piece, order, take).matrix(0)
        except Skipped:
            continue


def _unpacked(packed: memoryview, take: Take) -> memoryview:
    """A compressed element; room for every stretch is asked for before the next is unpacked."""
    unpack, parts = zlib.decompressobj(), bytearray()
    rest: bytes | memoryview = packed
    while not unpack.eof:
        part = unpack.decompress(rest, _UNPACKED)
        rest = unpack.unconsumed_tail
        if not (part or rest):
            break
        take(len(part) // NUMBER)
        parts += part
    return memoryview(parts)


class _Elements:
    """Walks the elements of one matrix."""

    def __init__(self, content: memoryview, order: str, take: Take) -> None:
        self.content, self.order, self.take, self.place = content, order, take, 0

    def next(self) -> tuple[int, memoryview]:
        """Kind and content of the next element."""
        kind, size = struct.unpack_from(f"{self.order}2I", self.content, self.place)
        if kind >> 16:  # a small element: kind, size and up to four bytes in one tag
            kind, size, start = kind & 0xFFFF, kind >> 16, self.place + 4
            if size > 4:
                raise ValueError("a small element is too large")
            self.place += 8
        else:
            start = self.place + 8
            self.place = start + size + (-size % 8 if kind != _MATRIX else 0)
        if start + size > len(self.content):
            raise ValueError("an element is longer than its matrix")
        return kind, self.content[start : start + size]

    def numbers(self) -> Any:
        kind, content = self.next()
        if kind not in _TYPES:
            raise ValueError("an element holds no numbers")
        dtype = np.dtype(self.order + _TYPES[kind])
        return np.frombuffer(content[: len(content) - len(content) % dtype.itemsize], dtype)

    def matrix(self, depth: int) -> tuple[str, Any]:
        """Name and value of a matrix: an array, cells as an array of objects, a struct as a structured array."""
        if depth > MAX_DEPTH:
            raise ValueError(f"cells are nested deeper than {MAX_DEPTH}")
        if not self.content:
            return "", np.zeros((0, 0))
        flags, shape = self.numbers(), tuple(int(size) for size in self.numbers())
        name = bytes(self.next()[1]).decode("latin-1")
        kind, count = int(flags[0]) & 0xFF, math.prod(shape)
        if not shape or min(shape) < 0:
            raise ValueError("a matrix has no shape")
        if kind in _NUMERIC and not int(flags[0]) & 0x800:
            found = self.numbers()
            self.take(len(found))
            return name, found[:count].reshape(shape, order="F")
        if kind not in (_CELL, _STRUCT):
            raise Skipped(name)
        if count > MAX_ITEMS:
            raise ValueError(f"more than {MAX_ITEMS:,} cells")
        return name, self.cells(shape, count, depth) if kind == _CELL else self.fields(shape, count, depth)

    def inner(self, depth: int) -> Any:
        kind, content = self.next()
        if kind != _MATRIX:
            raise ValueError("a cell holds no matrix")
        try:
            return _Elements(content, self.order, self.take).matrix(depth + 1)[1]
        except Skipped:
            return np.empty(0, dtype="U1")

    def cells(self, shape: tuple[int, ...], count: int, depth: int) -> Any:
        found = np.empty(count, dtype=object)
        for position in range(count):
            found[position] = self.inner(depth)
        return found.reshape(shape, order="F")

    def fields(self, shape: tuple[int, ...], count: int, depth: int) -> Any:
        length = int(self.numbers()[0])
        texts = bytes(self.next()[1])
        if not 1 <= length <= 64 or len(texts) // length * max(count, 1) > MAX_ITEMS:
            raise ValueError("a struct has impossible fields")
        names = [texts[k : k + length].split(b"\0")[0].decode("latin-1") for k in range(0, len(texts), length)]
        found = np.empty(count, dtype=[(name, object) for name in names])
        for position in range(count):
            for name in names:
                found[name][position] = self.inner(depth)
        return found.reshape(shape, order="F")
