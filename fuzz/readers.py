"""Fuzz targets for all readers of files of unknown origin, and a mutator for use without atheris.

A target takes bytes and must end in a result or in a TinyUDEError whose message is one printable line. Anything else is
a finding: it is written to the folder given by --findings, and ends the run. Inputs rejected at a new place in the code
are kept there for further mutation, also by later runs.

    python fuzz/readers.py expression --seconds 60
    python fuzz/readers.py csv --atheris -max_total_time=3600     (guided by coverage)
"""

from __future__ import annotations

import argparse
import atexit
import hashlib
import io
import json
import os
import random
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy as sp
from rich.console import Console
from scipy.io import savemat
from structures import changed_inside, packed_model, unpacked_model

import tinyude as tu
from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError
from tinyude.link.board import BoardLink
from tinyude.link.frames import Frame, encode_frame
from tinyude.link.models import model_json, read_model_json
from tinyude.link.record import Recorder
from tinyude.link.stream import fresh_rows, introduction, status, trends
from tinyude.link.terminal import render
from tinyude.physics.file import load_physics_file
from tinyude.physics.parsing import parse_expression
from tinyude.physics.syntax import canonical_text

_PIECES = b"Piecewise((-x, (x < -1) | (omega>2)), (max(x, g), not x <= 1 and 0 < L), (Piecewise((1, True)), True))"
Target = Callable[[bytes], None]
SYMBOLS = {name: sp.Symbol(name) for name in ("theta", "omega", "g", "L", "x")}
WORDS = [
    b"sin(",
    b"Piecewise((x, x < g), (",
    b" and ",
    b"<=",
    b"&",
    b"~",
    b"True",
    b"tanh(",
    b"**",
    b"(",
    b")",
    b"theta",
    b"1e308",
    b"#",
    b"*/",
    b"\n",
    b";",
    b",",
    b'"',
    b"nan",
    b"-",
    b"\x00",
    b"-1",
    b"null",
    b"[",
    b"{",
    b"1e-308",
    b"Infinity",
    b"9" * 400,
    b"\\u001b",
    b"\xef\xbb\xbf",
    b"\t",
    b"'",
]


def expression(data: bytes) -> None:
    """The parser; the canonical form must have the same meaning."""
    text = data.decode("utf-8", "replace")[:400]
    expr = parse_expression(text, SYMBOLS, smooth=False)
    again = canonical_text(text)
    assert again.isprintable() and "*/" not in again and "/*" not in again
    assert parse_expression(again, SYMBOLS, smooth=False) == expr


@cache
def scratch() -> Path:
    """A folder of this process, in memory where the system has one: a disk takes longer than most readers."""
    folder = tempfile.TemporaryDirectory(dir="/dev/shm" if os.access("/dev/shm", os.W_OK) else None)
    atexit.register(folder.cleanup)
    return Path(folder.name)


def file_target(ending: str, read: Callable[[Path], object]) -> Target:
    """A target that reads the bytes as a file."""

    def target(data: bytes) -> None:
        path = scratch() / f"log{ending}"
        path.write_bytes(data)
        read(path)

    return target


def model(data: bytes) -> None:
    """A model file; if it is valid safetensors, also with a checksum that matches the changed content."""
    try:
        text, arrays = unpacked_model(data)
        data = packed_model(text, arrays)
    except Exception:  # no safetensors file: read as it is
        pass
    path = scratch() / "a.tinyude"
    path.write_bytes(data)
    tu.load(path)


class Bytes:
    """A link that delivers these bytes and no more."""

    name, ended = "line", False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, seconds: float) -> bytes:
        del seconds
        data, self.data = self.data[:500], self.data[500:]
        self.ended = not data
        return data

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def link(data: bytes) -> None:
    """The link from a board: any bytes can be shown, recorded and written as JSON."""
    if data.lstrip()[:1] == b"{":
        read_model_json(data)
        return
    path = scratch() / "rows.parquet"
    path.unlink(missing_ok=True)
    board = BoardLink(lambda: Bytes(data), Recorder(path))
    while not board.ended:
        board.poll(0.0)
    told = [introduction(board), fresh_rows(board.history, 0), status(board), trends(board.history)]
    if board.history.hello:
        told.append(model_json(board.history, np.ones(3, np.float32)))
    json.dumps(told, allow_nan=False)
    console = Console(file=io.StringIO(), force_terminal=False, width=100)
    console.print(render(board))
    shown = console.file.getvalue()
    assert all(c.isprintable() or c == "\n" for c in shown), "control characters in the terminal"
    board.close()


def seeds(name: str) -> list[bytes]:
    """Small valid inputs to start from, besides those in the corpus."""
    t = np.arange(5.0)
    if name == "expression":
        return [b"-(g/L)*sin(theta) + 0.5*omega**2", b"tanh(3*x)*exp(-x**2)/(1+sqrt(x**2))", _PIECES]
    if name == "toml":
        return [
            b'[states]\ntheta = "omega"\nomega = "-g*sin(theta)"\n[parameters]\ng = { value = 9.81, learn = true }\n'
            b'[measured]\ntheta = { column = "a", wraps = true }\n[time]\nperiod = 0.01\n'
        ]
    if name == "csv":
        return [b"time,x\n0,1.5\n1,2.5\n", b't;"x; m"\ns;m\n0,0;1,5\n', b"# t x\n1 2\n3 4\n"]
    if name == "link":
        return [_telemetry(), b'{"format": "tinyude-board-model", "numbers": [1, 2.5], "fingerprint": 7}']
    file = io.BytesIO()
    if name == "npz":
        np.savez(file, t=t, Y=np.ones((5, 2)))
        packed = io.BytesIO()
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("x.npy", b"\x93NUMPY\x01\x00")
        return [file.getvalue(), packed.getvalue()]
    if name == "mat":
        cells = np.empty(2, dtype=object)
        cells[0], cells[1] = t, t
        savemat(file, {"t": t, "log": {"x": t}, "runs": cells})
        packed = io.BytesIO()
        savemat(packed, {"t": t}, do_compression=True)
        return [file.getvalue(), packed.getvalue()]
    return [_small_model(network="mlp", hidden=(), library=["v"]), _small_model(network="kernel", library=None)]


def _telemetry() -> bytes:
    """Telemetry of a board with two states and an input."""
    hello = struct.pack("<IIfIBBBBHH", 7, 3, 0.01, 2, 2, 1, 2, 1, 1, 2) + bytes((0, 0, 1, 0, 1))
    names = [(0, 0, b"rig"), (1, 0, b"theta"), (1, 1, b"omega"), (2, 0, b"u"), (3, 0, b"k"), (4, 0, b"x"), (4, 1, b"y")]
    row = struct.pack("<QB7f", 5, 1, *([0.5] * 7))
    bodies = [(1, hello), *((2, struct.pack("<BHf", group, index, 1.0) + text) for group, index, text in names)]
    bodies += [(3, row), (3, row), (4, struct.pack("<QBHffHff", 5, 2, 0, 1.0, 0.1, 2, 1.0, 0.1))]
    bodies += [(5, struct.pack("<QffI2B4f", 5, 1.0, 1.1, 0, 0, 2, *([0.1] * 4)))]
    bodies += [(6, struct.pack("<Q22I", 5, *range(22))), (8, struct.pack("<III3f", 0, 3, 1, 1.0, 2.0, 3.0))]
    bodies += [(7, struct.pack("<QBf", 5, kind, 33.0)) for kind in range(1, 10)] + [(9, struct.pack("<BHh", 1, 2, 0))]
    return b"".join(encode_frame(Frame(kind, i, body)) for i, (kind, body) in enumerate(bodies))


def _small_model(**options: Any) -> bytes:
    t = np.arange(400) * 0.01
    physics = tu.Physics(["x", "v"], ["v", "-k*x"], parameters={"k": 9.0})
    phase = 3.0 * t + 0.2 * np.sin(3.0 * t)
    samples = np.stack([np.sin(phase), (3.0 + 0.6 * np.cos(3.0 * t)) * np.cos(phase)], axis=1)
    samples += 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    ude = tu.UDE(physics, **options).fit(samples, t=0.01)
    ude.result_ = replace(ude.result_, record=None)  # a small file
    with tempfile.TemporaryDirectory() as folder:
        ude.save(Path(folder) / "a.tinyude")
        return (Path(folder) / "a.tinyude").read_bytes()


TARGETS: dict[str, Target] = {
    "expression": expression,
    "toml": file_target(".toml", load_physics_file),
    "csv": file_target(".csv", read_table),
    "npz": file_target(".npz", read_table),
    "mat": file_target(".mat", read_table),
    "model": model,
    "link": link,
}
MOST_KEPT = 500  # inputs for further mutation


def attempt(target: Target, data: bytes) -> tuple[str, str]:
    """The finding of a target, "" if there is none; and the place in the code that rejected the input."""
    try:
        target(data)
    except TinyUDEError as error:
        message, place = str(error), place_of(error)
        one_line = message.isprintable() and len(message) <= 2_500
        return "" if one_line else f"no single printable line: {message[:80]!r}", place
    except Exception as error:  # a finding, whatever it is
        return f"{type(error).__name__}: {error}", ""
    return "", ""


def place_of(error: BaseException | None) -> str:
    """The lines that raised an error and those that it was raised from: most readers tell one error as another."""
    lines = []
    while error is not None:
        lines += [str(line) for _, line in traceback.walk_tb(error.__traceback__)]
        error = error.__context__
    return ",".join(dict.fromkeys(lines))  # once each, however deep a parser has nested


def mutated(data: bytes, draw: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 4, 16))):
        place = draw.randrange(len(changed) + 1)
        kind = draw.randrange(6)
        if kind == 0 and place < len(changed):
            changed[place] ^= 1 << draw.randrange(8)
        elif kind == 1 and place < len(changed):
            changed[place] = draw.choice((0, 255, 127, 128, draw.randrange(256)))
        elif kind == 2:
            changed[place:place] = draw.choice(WORDS)
        elif kind == 3:
            del changed[place : place + draw.randrange(1, 9)]
        elif kind == 4:
            piece = changed[place : place + draw.randrange(1, 20)]
            changed[place:place] = piece * draw.randrange(1, 6)
        else:
            changed[place : place + 4] = draw.choice((2**31, 2**32 - 1, 2**31 - 1, 0)).to_bytes(4, "little")
    return bytes(changed[: max(20_000, 2 * len(data))])


def inputs(name: str, start: list[bytes], draw: random.Random) -> Iterator[bytes]:
    """The initial inputs unchanged, then endless mutations of them and of inputs added meanwhile."""
    yield from list(start)
    while True:
        yield changed_inside(name, draw.choice(start), draw, mutated)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--seconds", type=float, default=10.0, help="CPU time")
    parser.add_argument("--seed", type=int, default=1, help="random seed")
    parser.add_argument("--findings", type=Path, default=Path("fuzz/findings"))
    parser.add_argument("--atheris", action="store_true", help="guided by coverage; further options go to libFuzzer")
    chosen, rest = parser.parse_known_args()
    target = TARGETS[chosen.target]
    if chosen.atheris:
        return _with_atheris(chosen.target, target, rest)
    warnings.simplefilter("ignore")  # telling them takes longer than reading most inputs
    corpus, grown = Path(__file__).parent / "corpus" / chosen.target, chosen.findings / f"corpus-{chosen.target}"
    grown.mkdir(parents=True, exist_ok=True)
    start = [path.read_bytes() for folder in (corpus, grown) for path in sorted(folder.glob("*"))]
    start += seeds(chosen.target)
    runs, end, places = 0, time.process_time() + chosen.seconds, set[str]()
    for data in inputs(chosen.target, start, random.Random(chosen.seed)):
        if time.process_time() > end and runs > 50:
            break
        runs += 1
        finding, place = attempt(target, data)
        if finding:
            print(f"{chosen.target}: {finding} ({kept_input(data, chosen.findings, f'{chosen.target}-')})")
            return 1
        if place not in places and len(places) < MOST_KEPT:
            places.add(place)
            start.append(data)
            kept_input(data, grown)
    print(json.dumps({"target": chosen.target, "runs": runs, "places": len(places)}))
    return 0


def kept_input(data: bytes, folder: Path, name: str = "") -> Path:
    path = folder / f"{name}{hashlib.sha256(data).hexdigest()[:12]}"
    path.write_bytes(data)
    return path


def _with_atheris(name: str, target: Target, options: list[str]) -> int:
    import atheris

    def run(data: bytes) -> None:
        finding, _ = attempt(target, data)
        if finding:
            raise AssertionError(finding)

    atheris.instrument_all()
    atheris.Setup([sys.argv[0], *options, str(Path(__file__).parent / "corpus" / name)], run)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
