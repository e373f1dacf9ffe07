"""Frames with a valid checksum and absurd content, from a board or from anyone on its line."""

from __future__ import annotations

import importlib.util
import json
import struct
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console

from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError
from tinyude.link.board import BoardLink
from tinyude.link.frames import Frame, decode_frame, encode_frame
from tinyude.link.messages import Type
from tinyude.link.models import model_json, read_model_json
from tinyude.link.record import Recorder
from tinyude.link.stream import fresh_rows, introduction, status, trends
from tinyude.link.terminal import render, watch

NAN, INF = float("nan"), float("inf")
NAMES = [(0, 0, "rig"), (1, 0, "theta"), (1, 1, "omega"), (2, 0, "u"), (3, 0, "k"), (4, 0, "x"), (4, 1, "y")]


class Line:
    """A line that carries these bytes and no more."""

    name, ended = "line", False

    def __init__(self, data: bytes) -> None:
        self.data = data

    def read(self, seconds: float) -> bytes:
        del seconds
        data, self.data = self.data[:300], self.data[300:]
        self.ended = not data
        return data

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def hello(period: float = 0.01, row_ticks: int = 2, on: int = 1, numbers: int = 3, channels: int = 2) -> bytes:
    facts = struct.pack("<IIfIBBBBHH", 7, numbers, period, row_ticks, channels, 1, 2, 1, 1, 2)
    return encode_frame(Frame(Type.HELLO, 0, facts + bytes((0, 0, 1, 0, on))))


def name(group: int, index: int, text: str | bytes) -> bytes:
    letters = text if isinstance(text, bytes) else text.encode()
    return encode_frame(Frame(Type.NAME, 0, struct.pack("<BHf", group, index, 1.0) + letters))


def row(tick: int = 5, *values: float) -> bytes:
    return encode_frame(Frame(Type.ROW, 0, struct.pack("<QB7f", tick, 1, *(values or (0.5,) * 7))))


def terms(*entries: tuple[int, float, float]) -> bytes:
    body = struct.pack("<QB", 5, len(entries)) + b"".join(struct.pack("<Hff", *entry) for entry in entries)
    return encode_frame(Frame(Type.TERMS, 0, body))


def event(kind: int, value: float) -> bytes:
    return encode_frame(Frame(Type.EVENT, 0, struct.pack("<QBf", 5, kind, value)))


def piece(first: int, total: int, *numbers: float) -> bytes:
    return encode_frame(Frame(Type.MODEL, 0, struct.pack(f"<III{len(numbers)}f", first, total, 1, *numbers)))


INTRODUCED = hello() + b"".join(name(*each) for each in NAMES)


def linked(data: bytes, recorder: Recorder | None = None) -> BoardLink:
    link = BoardLink(lambda: Line(data), recorder)
    while not link.ended:
        link.poll(0.0)
    return link


def shown(link: BoardLink) -> str:
    """What terminal, page and model file make of it."""
    told: list[Any] = [introduction(link), fresh_rows(link.history, 0), status(link), trends(link.history)]
    if link.history.hello:
        told.append(model_json(link.history, np.ones(3, np.float32)))
    json.dumps(told, allow_nan=False)
    console = Console(file=StringIO(), width=100)
    console.print(render(link))
    text = console.file.getvalue()
    assert all(c.isprintable() or c == "\n" for c in text)
    return str(text)


@pytest.mark.parametrize(
    "frames",
    [
        hello(period=0.0),
        hello(period=NAN),
        hello(period=INF),
        hello(period=-1.0),
        hello(period=1e-30),
        hello(row_ticks=0),
        hello(on=9),
        hello(channels=200),
        hello(channels=1),
        hello(numbers=2**32 - 1),
    ],
)
def test_boards_that_cannot_be_are_not_believed(frames: bytes) -> None:
    link = linked(frames + row())
    assert link.history.hello is None
    shown(link)


@pytest.mark.parametrize(
    "frames",
    [
        event(5, NAN) + event(5, INF) + event(5, -1e30) + event(4, 1e30) + event(77, 0.0),
        terms((60_000, 1.0, 0.1)) + terms((0, NAN, INF), (1, INF, NAN)),
        row(2**64 - 1) + row(2**63) + row(5, *([NAN] * 7)) + row(6, *([INF, -INF, 3e38, -3e38, 0.0, -1.0, NAN])),
        name(200, 0, "x") + name(1, 60_000, "x") + name(1, 0, ""),
        piece(0, 2**32 - 1, 1.0) + piece(1, 3, 1.0) + piece(0, 3, *([1.0] * 50)),
        hello(channels=3) + row() + hello() + row(),
    ],
)
def test_frames_that_make_no_sense_harm_nothing(frames: bytes, tmp_path: Path) -> None:
    link = linked(INTRODUCED + row() + frames + row(7), Recorder(tmp_path / "rows.parquet"))
    shown(link)
    assert link.history.rows[-1].tick == 7 and len(link.history.names) <= len(NAMES) and len(link._pieces) <= 1
    link.close()


@pytest.mark.parametrize(
    "text", ["\x1b]0;owned\x07", "[/red]", "[link=http://x]a", "\u202etxt", b"\xff\xfe\x00\r\n", "t"]
)
def test_names_of_boards_reach_terminal_files_and_headers_as_plain_text(text: str | bytes, tmp_path: Path) -> None:
    named = b"".join(name(group, index, text) for group, index, _ in NAMES)
    link = linked(hello() + named + row() + terms((0, 1.0, 0.1)), Recorder(tmp_path / "rows.parquet"))
    assert link.history.complete() and link.history.board.isprintable()
    shown(link)
    link.close()
    assert (tmp_path / "rows.parquet").is_file()


def test_a_recording_is_on_the_disk_while_it_is_made(tmp_path: Path) -> None:
    """Without an end, as of a killed program: up to 3,000 rows, hours of a slow board, were in memory alone."""
    path = tmp_path / "rows.parquet"
    for rows in (130, 1000):
        path.unlink(missing_ok=True)
        linked(INTRODUCED + b"".join(row(tick) for tick in range(rows)), Recorder(path))
        assert 0.8 * rows - 1 <= len(read_table(path)["tick"]) <= rows


def test_a_full_disk_ends_the_link_with_a_word(tmp_path: Path) -> None:
    class Full:
        def write(self, data: bytes) -> None:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    link = BoardLink(lambda: Line(INTRODUCED + row()))
    link._raw = Full()
    link.start()
    assert link._thread is not None
    link._thread.join(10.0)
    assert link.ended
    with pytest.raises(OSError, match="No space left"):
        watch(link, Console(file=StringIO()))
    assert any("No space left" in told.detail for told in link.history.events)


@pytest.mark.parametrize(
    "text",
    [
        "[]",
        "{}",
        '{"format": "tinyude-board-model", "numbers": [1], "fingerprint": 1e999}',
        '{"format": "tinyude-board-model", "numbers": [1e300], "fingerprint": 1}',
        '{"format": "tinyude-board-model", "numbers": [[1]], "fingerprint": 1}',
        '{"format": "tinyude-board-model", "numbers": [NaN], "fingerprint": 1}',
        '{"format": "other", "numbers": [1], "fingerprint": 1}',
        "[" * 100_000,
    ],
)
def test_files_that_are_no_model_of_a_board_are_rejected_in_one_line(text: str) -> None:
    with pytest.raises(TinyUDEError, match="not a model of a board; give"):
        read_model_json(text.encode())


def test_the_fuzzer_of_the_link_says_what_a_board_says() -> None:
    """Its seed must be understood, else it tries nothing."""
    folder = Path(__file__).parents[2] / "fuzz"
    sys.path.insert(0, str(folder))
    spec = importlib.util.spec_from_file_location("fuzz_readers", folder / "readers.py")
    assert spec is not None and spec.loader is not None
    readers = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(readers)
    finally:
        sys.path.remove(str(folder))
    line = readers.seeds("link")[0]
    link = linked(line)
    assert link.history.complete() and link.history.rows and link.history.health and link.history.counters
    assert all(decode_frame(stuffed) for stuffed in line.split(b"\0")[:-1])
