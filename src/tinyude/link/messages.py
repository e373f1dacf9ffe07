"""Messages in both directions (docs/telemetry.md; core/src/service/telemetry.h has the same numbers)."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import printable
from tinyude.link.frames import Frame

Array = NDArray[np.float32]
COUNTERS = (
    "samples", "lost", "gaps", "deepest", "filled", "replaced", "windows", "accepted", "updates", "rolled_back",
    "revisions", "changes", "saves", "save_errors", "dropped",
)  # fmt: skip
REASONS = ("gap", "nonfinite", "stuck", "misfit", "jump", "inconsistent", "still", "outside")
SENSOR_FLAGS = {1: "missing", 2: "stuck", 4: "far from its prediction"}
MODEL_PIECE = 40  # numbers in a frame

MOST_STATES, MOST_INPUTS, MOST_COLUMNS, MOST_NUMBERS = 12, 8, 512, 1 << 20  # of a board
LONGEST_PERIOD = 1e6  # s
LAST_TICK = 1 << 62


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
    """Events that a board reports."""

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
    """The identity and sizes of a board, without which its other messages cannot be read."""

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

    @property
    def columns(self) -> int:
        """Coefficients: the parameters, then the terms of each residual state."""
        return self.parameters + self.terms * len(self.on)

    @property
    def names(self) -> tuple[int, ...]:
        """How many names there are in each group of `Name`."""
        return 1, self.states, self.inputs, self.parameters, self.terms


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
    """The message of a frame; None if it is unknown, or cannot be read before the board's hello.

    All bytes from a line are validated here: a checksum shows that a frame is complete, not that it is valid.
    """
    try:
        return _decode(frame, hello)
    except (struct.error, ValueError, IndexError, OverflowError):
        return None  # whole by its CRC and yet not what this version knows


def _decode(frame: Frame, hello: Hello | None) -> Message | None:
    body = frame.body
    match frame.type:
        case Type.HELLO:
            return _hello(body)
        case Type.NAME if hello is not None:
            group, index, value = struct.unpack_from("<BHf", body)
            _require(index < hello.names[group] and math.isfinite(value), "an index or value out of range")
            return Name(group, index, value, printable(body[7:].decode("utf-8", "replace")))
        case Type.ROW if hello is not None:
            return _row(body, hello)
        case Type.TERMS if hello is not None:
            tick, _ = struct.unpack_from("<QB", body)
            terms = tuple(TermValue(*entry) for entry in struct.iter_unpack("<Hff", body[9:]))
            _require(all(term.column < hello.columns for term in terms), "a column out of range")
            return Terms(_tick(tick), terms)
        case Type.HEALTH if hello is not None:
            return _health(body, hello)
        case Type.COUNTERS:
            (tick,), numbers = struct.unpack_from("<Q", body), np.frombuffer(body[8:], "<u4").tolist()
            split = len(COUNTERS)
            values = dict(zip(COUNTERS, numbers[:split], strict=True))
            return Counters(_tick(tick), values, dict(zip(REASONS, numbers[split:], strict=False)))
        case Type.EVENT:
            tick, kind, value = struct.unpack("<QBf", body)
            _require(math.isfinite(value), "an event without a value")
            return Event(_tick(tick), EventKind(kind), value)
        case Type.MODEL if hello is not None:
            return _piece(body, hello)
        case Type.REPLY:
            return Reply(*struct.unpack("<BHh", body))
    return None


def _require(condition: bool, otherwise: str) -> None:
    if not condition:
        raise ValueError(otherwise)


def _tick(tick: int) -> int:
    _require(tick < LAST_TICK, "a tick beyond the limit")
    return tick


def _hello(body: bytes) -> Hello:
    fingerprint, numbers, period, row_ticks, channels, inputs, states, on, parameters, terms = struct.unpack_from(
        "<IIfIBBBBHH", body
    )
    kinds, end = body[24 : 24 + 2 * states], 24 + 2 * states
    _require(len(body) == end + on, "a hello of another length")
    hello = Hello(
        fingerprint, numbers, round(period, 9), row_ticks, channels, inputs, parameters, terms,
        tuple(kinds[::2]), tuple(kinds[1::2]), tuple(body[end:]),
    )  # fmt: skip
    _require(
        0 < hello.sample_period <= LONGEST_PERIOD and row_ticks > 0 and numbers <= MOST_NUMBERS, "no board's rates"
    )
    sizes = (channels, MOST_STATES), (states, MOST_STATES), (inputs, MOST_INPUTS), (hello.columns, MOST_COLUMNS)
    _require(all(size <= most for size, most in sizes), "no board's sizes")
    _require(all(c < channels for c in hello.channel) and all(i < states for i in hello.on), "states of nothing")
    return hello


def _row(body: bytes, hello: Hello) -> Row:
    (tick, predicted), numbers = struct.unpack_from("<QB", body), np.frombuffer(body[9:], "<f4")
    n = hello.channels
    _require(len(numbers) == 3 * n + hello.inputs, "a row of another length")
    measured, prediction, variance = (numbers[i * n : (i + 1) * n] for i in range(3))
    if not predicted:
        prediction = variance = np.full(n, np.nan, np.float32)
    return Row(_tick(tick), measured, prediction, variance, numbers[3 * n :])


def _health(body: bytes, hello: Hello) -> Health:
    tick, ratio, worst, changed_at = struct.unpack_from("<QffI", body)
    end = 20 + hello.channels
    numbers = np.frombuffer(body[end:], "<f4")
    _require(len(numbers) == hello.channels + hello.states, "a health frame of another length")
    flags = tuple(body[20:end])
    return Health(_tick(tick), ratio, worst, changed_at, flags, numbers[: hello.channels], numbers[hello.channels :])


def _piece(body: bytes, hello: Hello) -> ModelPiece:
    first, total, crc = struct.unpack_from("<III", body)
    numbers = np.frombuffer(body[12:], "<f4")
    _require(total == hello.model_numbers and first % MODEL_PIECE == 0, "a piece of another model")
    _require(len(numbers) == min(MODEL_PIECE, total - first), "a piece of another length")
    return ModelPiece(first, total, crc, numbers)


def model_pieces(numbers: Sequence[float] | Array, fingerprint: int) -> list[bytes]:
    """The bodies of the frames that send a model to a board."""
    wire = np.asarray(numbers, "<f4")
    crc = zlib.crc32(wire.tobytes())
    return [
        struct.pack("<IIII", first, len(wire), crc, fingerprint) + wire[first : first + MODEL_PIECE].tobytes()
        for first in range(0, len(wire), MODEL_PIECE)
    ]
