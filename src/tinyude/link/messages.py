"""What frames say, both ways (docs/telemetry.md; core/src/service/telemetry.h has the same numbers)."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tinyude.link.frames import Frame

Array = NDArray[np.float32]
COUNTERS = (
    "samples", "lost", "gaps", "deepest", "filled", "replaced", "windows", "accepted", "updates", "rolled_back",
    "revisions", "changes", "saves", "save_errors", "dropped",
)  # fmt: skip
REASONS = ("gap", "nonfinite", "stuck", "misfit", "jump", "inconsistent", "still")
SENSOR_FLAGS = {1: "missing", 2: "stuck", 4: "astray"}
MODEL_PIECE = 40  # numbers in a frame


class Type(IntEnum):
    """Kinds of frames: a board sends those below 128."""

    HELLO = 1
    NAME = 2
    ROW = 3
    TERMS = 4
    HEALTH = 5
    COUNTERS = 6
    EVENT = 7
    MODEL = 8
    REPLY = 9
    ASK_HELLO = 0x81
    ASK_MODEL = 0x82
    TAKE_MODEL = 0x83
    SAVE = 0x84
    RESET = 0x85


class EventKind(IntEnum):
    """What a board tells of by itself."""

    CALIBRATED = 1
    RECALIBRATED = 2
    CHANGED = 3
    GAP = 4
    SENSOR = 5
    HEALTH = 6
    SAVED = 7
    NOT_SAVED = 8
    RESTARTED = 9


@dataclass(frozen=True)
class Hello:
    """What a board is: needed to read everything that depends on its sizes."""

    fingerprint: int
    model_numbers: int
    sample_period: float
    row_ticks: int
    channels: int
    inputs: int
    parameters: int
    terms: int
    channel: tuple[int, ...]  # of each state
    order: tuple[int, ...]
    on: tuple[int, ...]

    @property
    def states(self) -> int:
        return len(self.channel)


@dataclass(frozen=True)
class Name:
    """A name: group 0 the board itself, 1 states, 2 inputs, 3 parameters (with their compiled value), 4 terms."""

    group: int
    index: int
    value: float
    text: str


@dataclass(frozen=True)
class Row:
    """A sample, the model's prediction of it and its expected variance; NaN where there was none."""

    tick: int
    measured: Array
    predicted: Array
    variance: Array
    inputs: Array


@dataclass(frozen=True)
class TermValue:
    """A coefficient in the user's units, and the half width of its 90 % interval."""

    column: int
    value: float
    half_width: float


@dataclass(frozen=True)
class Terms:
    tick: int
    terms: tuple[TermValue, ...]


@dataclass(frozen=True)
class Health:
    """RMS innovation over what noise and prediction explain: of all channels, of the worst; sensors; the state."""

    tick: int
    ratio: float
    worst: float
    changed_at: int
    flags: tuple[int, ...]
    sigma: Array
    state: Array


@dataclass(frozen=True)
class Counters:
    tick: int
    values: dict[str, int]
    rejected: dict[str, int]


@dataclass(frozen=True)
class Event:
    tick: int
    kind: EventKind
    value: float


@dataclass(frozen=True)
class ModelPiece:
    first: int
    total: int
    crc: int
    numbers: Array


@dataclass(frozen=True)
class Reply:
    command: int
    sequence: int
    status: int


Message = Hello | Name | Row | Terms | Health | Counters | Event | ModelPiece | Reply


def decode_message(frame: Frame, hello: Hello | None) -> Message | None:
    """What a frame says; None when it is unknown, or cannot be read before the board has introduced itself."""
    try:
        return _decode(frame, hello)
    except (struct.error, ValueError, IndexError):
        return None  # whole by its CRC and yet not what this version knows


def _decode(frame: Frame, hello: Hello | None) -> Message | None:
    body = frame.body
    match frame.type:
        case Type.HELLO:
            return _hello(body)
        case Type.NAME:
            group, index, value = struct.unpack_from("<BHf", body)
            return Name(group, index, value, body[7:].decode("utf-8", "replace"))
        case Type.ROW if hello is not None:
            return _row(body, hello)
        case Type.TERMS:
            tick, _ = struct.unpack_from("<QB", body)
            return Terms(tick, tuple(TermValue(*entry) for entry in struct.iter_unpack("<Hff", body[9:])))
        case Type.HEALTH if hello is not None:
            return _health(body, hello)
        case Type.COUNTERS:
            (tick,), numbers = struct.unpack_from("<Q", body), np.frombuffer(body[8:], "<u4").tolist()
            split = len(COUNTERS)
            values = dict(zip(COUNTERS, numbers[:split], strict=True))
            return Counters(tick, values, dict(zip(REASONS, numbers[split:], strict=True)))
        case Type.EVENT:
            tick, kind, value = struct.unpack("<QBf", body)
            return Event(tick, EventKind(kind), value)
        case Type.MODEL:
            first, total, crc = struct.unpack_from("<III", body)
            return ModelPiece(first, total, crc, np.frombuffer(body[12:], "<f4"))
        case Type.REPLY:
            return Reply(*struct.unpack("<BHh", body))
    return None


def _hello(body: bytes) -> Hello:
    fingerprint, numbers, period, row_ticks, channels, inputs, states, on, parameters, terms = struct.unpack_from(
        "<IIfIBBBBHH", body
    )
    kinds, end = body[24 : 24 + 2 * states], 24 + 2 * states
    if len(body) != end + on:
        raise ValueError("a hello of another length")
    return Hello(
        fingerprint, numbers, round(period, 9), row_ticks, channels, inputs, parameters, terms,
        tuple(kinds[::2]), tuple(kinds[1::2]), tuple(body[end:]),
    )  # fmt: skip


def _row(body: bytes, hello: Hello) -> Row:
    (tick, predicted), numbers = struct.unpack_from("<QB", body), np.frombuffer(body[9:], "<f4")
    n = hello.channels
    if len(numbers) != 3 * n + hello.inputs:
        raise ValueError("a row of another length")
    measured, prediction, variance = (numbers[i * n : (i + 1) * n] for i in range(3))
    if not predicted:
        prediction = variance = np.full(n, np.nan, np.float32)
    return Row(tick, measured, prediction, variance, numbers[3 * n :])


def _health(body: bytes, hello: Hello) -> Health:
    tick, ratio, worst, changed_at = struct.unpack_from("<QffI", body)
    end = 20 + hello.channels
    numbers = np.frombuffer(body[end:], "<f4")
    if len(numbers) != hello.channels + hello.states:
        raise ValueError("a health frame of another length")
    return Health(
        tick, ratio, worst, changed_at, tuple(body[20:end]), numbers[: hello.channels], numbers[hello.channels :]
    )  # fmt: skip


def model_pieces(numbers: Sequence[float] | Array, fingerprint: int) -> list[bytes]:
    """The bodies of the frames that send a model to a board."""
    wire = np.asarray(numbers, "<f4")
    crc = zlib.crc32(wire.tobytes())
    return [
        struct.pack("<IIII", first, len(wire), crc, fingerprint) + wire[first : first + MODEL_PIECE].tobytes()
        for first in range(0, len(wire), MODEL_PIECE)
    ]
