"""Frames of the link: COBS, ended by a 0, with a CRC-16. A damaged line loses the damaged frames and no other."""

from __future__ import annotations

import binascii
from dataclasses import dataclass, field

VERSION = 1
HEAD_BYTES = 4  # version, type, sequence
CRC_BYTES = 2
LONGEST = 224  # bytes of a frame before it is stuffed: what a board has room for
_CRC_START = 0xFFFF


@dataclass(frozen=True)
class Frame:
    """One complete frame: its type, its number modulo 2^16, and its body."""

    type: int
    sequence: int
    body: bytes


def cobs_encode(data: bytes) -> bytes:
    """Any bytes as bytes without a 0.

    Examples
    --------
    >>> cobs_encode(bytes([1, 0, 2])).hex()
    '02010202'
    """
    out, run = bytearray(), bytearray()
    for byte in data:
        if byte:
            run.append(byte)
        if not byte or len(run) == 254:
            out += bytes([len(run) + 1]) + run
            run = bytearray()
    return bytes(out + bytes([len(run) + 1]) + run)


def cobs_decode(data: bytes) -> bytes | None:
    """The bytes behind a stuffed frame without its 0; None when it is none."""
    out, place = bytearray(), 0
    while place < len(data):
        run = data[place]
        if run == 0 or place + run > len(data):
            return None
        out += data[place + 1 : place + run]
        place += run
        if run < 255 and place < len(data):
            out.append(0)
    return bytes(out)


def encode_frame(frame: Frame) -> bytes:
    """A frame as it goes over the line, with the 0 at its end."""
    plain = bytes([VERSION, frame.type]) + frame.sequence.to_bytes(2, "little") + frame.body
    return cobs_encode(plain + _crc(plain).to_bytes(CRC_BYTES, "little")) + b"\0"


def decode_frame(stuffed: bytes) -> Frame | None:
    """A frame without its 0; None when it is damaged or of another version."""
    plain = cobs_decode(stuffed)
    if plain is None or len(plain) < HEAD_BYTES + CRC_BYTES or plain[0] != VERSION:
        return None
    plain, crc = plain[:-CRC_BYTES], int.from_bytes(plain[-CRC_BYTES:], "little")
    if _crc(plain) != crc:
        return None
    return Frame(plain[1], int.from_bytes(plain[2:4], "little"), plain[HEAD_BYTES:])


@dataclass
class FrameReader:
    """Bytes in, whole frames out; counts what was damaged and what never came."""

    damaged: int = 0
    lost: int = 0  # frames missing between those that came, by their numbers
    _rest: bytearray = field(default_factory=bytearray)
    _last: int | None = None
    _in_step: bool = False  # the first piece may be the end of a frame whose beginning was missed

    def feed(self, data: bytes) -> list[Frame]:
        *whole, rest = (bytes(self._rest) + data).split(b"\0")
        self._rest = bytearray(rest[-2 * LONGEST :])  # noise without a 0 must not grow for ever
        frames = []
        for stuffed in whole:
            frame = decode_frame(stuffed)
            if frame is not None:
                self._count(frame)
                frames.append(frame)
            elif stuffed and self._in_step:
                self.damaged += 1
            self._in_step = True
        return frames

    def reconnected(self) -> None:
        """The next bytes do not continue the previous ones."""
        self._rest = bytearray()
        self._last = None
        self._in_step = False

    def _count(self, frame: Frame) -> None:
        if self._last is not None:
            self.lost += (frame.sequence - self._last - 1) % 65536
        self._last = frame.sequence


def _crc(data: bytes) -> int:
    return binascii.crc_hqx(data, _CRC_START)
