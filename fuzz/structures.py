"""Mutations inside a file: content is unpacked, changed and packed again, with matching sizes and checksums.

Randomly changed bytes seldom pass a checksum; these do. A function takes a whole file and returns another; a file that
it cannot open is changed byte by byte.
"""

from __future__ import annotations

import io
import json
import random
import struct
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

import numpy as np
from safetensors.numpy import load as from_bytes
from safetensors.numpy import save as to_bytes

from tinyude.link.frames import Frame, decode_frame, encode_frame
from tinyude.model.file import checksum

Change = Callable[[bytes, random.Random], bytes]

ABSURD: tuple[Any, ...] = (
    float("nan"), float("inf"), -1, 0, 1e308, -1e-308, 2**63, 10**400, "", "x", "\x1b[31m", "*/", "</script>", [], {},
    None, True, [[[]]], ["theta"] * 30, "sin(" * 40,
)  # fmt: skip
_MAT_HEAD, _MAT_COMPRESSED = 128, 15


def archive(data: bytes, draw: random.Random, change: Change) -> bytes:
    """A zip archive with one member changed."""
    with zipfile.ZipFile(io.BytesIO(data)) as packed:
        members = {name: packed.read(name) for name in packed.namelist()[:20]}
    chosen = draw.choice(sorted(members))
    members[chosen] = change(members[chosen], draw)
    if draw.random() < 0.1:
        members[draw.choice(("../x.npy", "x", "t.npy", "Y.npy/", "\x1b[31m.npy", "a" * 300 + ".npy"))] = members[chosen]
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", draw.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED))) as packed:
        for name, content in members.items():
            packed.writestr(name, content)
    return file.getvalue()


def matlab(data: bytes, draw: random.Random, change: Change) -> bytes:
    """A MAT file (version 5) with one element changed, compressed or not."""
    elements, place = [], _MAT_HEAD
    while place + 8 <= len(data):
        kind, size = struct.unpack_from("<II", data, place)
        body = data[place + 8 : place + 8 + size]
        elements.append(zlib.decompress(body) if kind == _MAT_COMPRESSED else data[place : place + 8 + size])
        place += 8 + size
    chosen = draw.randrange(len(elements))
    elements[chosen] = change(elements[chosen], draw)
    out = bytearray(data[:_MAT_HEAD])
    for element in elements:
        if draw.random() < 0.5:
            packed = zlib.compress(element)
            element = struct.pack("<II", _MAT_COMPRESSED, len(packed)) + packed
        out += element
    return bytes(out)


def model(data: bytes, draw: random.Random, change: Change) -> bytes:
    """A model file with one value of its text or one number of its arrays changed, and a matching checksum."""
    text, arrays = unpacked_model(data)
    if draw.random() < 0.7:
        told = json.loads(text)
        for _ in range(draw.choice((1, 1, 1, 3))):
            _replace_leaf(told, draw, change)
        text = json.dumps(told)
    else:
        name = draw.choice(sorted(arrays))
        arrays[name] = _changed_array(arrays[name], draw)
    return packed_model(text, arrays)


def unpacked_model(data: bytes) -> tuple[str, dict[str, np.ndarray]]:
    """Text and arrays of a model file."""
    arrays = from_bytes(data)
    length = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + length]).get("__metadata__", {}).get("tinyude", ""), arrays


def packed_model(text: str, arrays: dict[str, np.ndarray]) -> bytes:
    """A model file with this content and a matching checksum."""
    return to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)})


def frames(data: bytes, draw: random.Random, change: Change) -> bytes:
    """Bytes of a link with one frame changed: its type, its number or its body."""
    pieces = data.split(b"\0")
    chosen = draw.randrange(len(pieces))
    frame = decode_frame(pieces[chosen])
    if frame is None:
        frame = Frame(draw.randrange(1, 10), 0, pieces[chosen][:200])
    body = change(frame.body, draw) if draw.random() < 0.8 else frame.body
    kind = frame.type if draw.random() < 0.8 else draw.randrange(1, 12)
    pieces[chosen] = encode_frame(Frame(kind, draw.randrange(65536), body))[:-1]
    if draw.random() < 0.2:
        pieces.insert(draw.randrange(len(pieces) + 1), draw.choice(pieces))
    return b"\0".join(pieces)


INSIDE: dict[str, Callable[[bytes, random.Random, Change], bytes]] = {
    "npz": archive,
    "mat": matlab,
    "model": model,
    "link": frames,
}


def changed_inside(name: str, data: bytes, draw: random.Random, change: Change) -> bytes:
    """A file changed inside its container; byte by byte if it has none, or cannot be opened."""
    if name not in INSIDE or draw.random() < 0.3:
        return change(data, draw)
    try:
        return INSIDE[name](data, draw, change)
    except Exception:  # damaged by an earlier change
        return change(data, draw)


def _replace_leaf(told: Any, draw: random.Random, change: Change) -> None:
    """Replace a value somewhere in nested lists and dictionaries."""
    while True:
        keys = list(told) if isinstance(told, dict) else range(len(told))
        if not keys:
            return
        key = draw.choice(list(keys))
        below = told[key]
        if isinstance(below, (dict, list)) and below and draw.random() < 0.9:
            told = below
            continue
        if isinstance(below, str) and draw.random() < 0.5:
            told[key] = change(below.encode(), draw).decode("utf-8", "replace")
        elif isinstance(told, dict) and draw.random() < 0.1:
            del told[key]
        else:
            told[key] = draw.choice(ABSURD)
        return


def _changed_array(values: np.ndarray, draw: random.Random) -> np.ndarray:
    kind = draw.randrange(5)
    if kind == 0:
        return values[:-1] if values.ndim and len(values) else np.zeros(3)
    if kind == 1:
        return values.astype(draw.choice(("float16", "int8", "bool", "uint64")))
    if kind == 2:
        return values.reshape(-1, 1) if values.ndim else values.reshape(1, 1, 1)
    changed = values.copy()
    if changed.size and changed.dtype.kind == "f":
        changed.flat[draw.randrange(changed.size)] = draw.choice((np.nan, np.inf, -1.0, 0.0, 1e300, -1e-300))
    return changed
