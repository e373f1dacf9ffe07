"""Frames over a clean line and over a damaged one."""

import struct

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyude.link.frames import LONGEST, Frame, FrameReader, cobs_decode, cobs_encode, decode_frame, encode_frame
from tinyude.link.messages import COUNTERS, REASONS, Counters, Type, decode_message


@given(st.binary(max_size=700))
def test_cobs_decode_returns_what_was_encoded(data: bytes) -> None:
    stuffed = cobs_encode(data)
    assert 0 not in stuffed
    assert cobs_decode(stuffed) == data


@given(st.binary(max_size=300))
def test_decode_frame_takes_only_bytes_that_encode_frame_writes(data: bytes) -> None:
    frame = decode_frame(data)
    assert frame is None or encode_frame(frame) == data + b"\0"


@settings(derandomize=True)  # a checksum of 16 bits misses one damage in 65,536
@given(st.integers(0, 255), st.integers(0, 65535), st.binary(max_size=200), st.integers(0, 1640))
def test_decode_frame_gives_back_a_whole_frame_and_none_with_a_flipped_bit(
    kind: int, sequence: int, body: bytes, place: int
) -> None:
    frame = Frame(kind, sequence, body)
    sent = encode_frame(frame)[:-1]
    assert decode_frame(sent) == frame
    place %= 8 * len(sent)
    flipped = bytes(byte ^ (1 << place % 8 if k == place // 8 else 0) for k, byte in enumerate(sent))
    assert decode_frame(flipped) is None


def crc16(data: bytes) -> int:
    """CRC-16/CCITT-FALSE, bit by bit."""
    crc = 0xFFFF
    for byte in data:
        crc ^= byte << 8
        for _ in range(8):
            crc = (crc << 1 ^ (0x1021 if crc & 0x8000 else 0)) & 0xFFFF
    return crc


def test_encode_frame_writes_head_body_and_the_published_checksum() -> None:
    assert crc16(b"123456789") == 0x29B1  # the check value of its catalogue
    plain = b"\x01\x07" + (0x1234).to_bytes(2, "little") + b"abc"
    assert cobs_decode(encode_frame(Frame(7, 0x1234, b"abc"))[:-1]) == plain + crc16(plain).to_bytes(2, "little")


def test_frame_reader_joins_pieces_of_any_size() -> None:
    frames = [Frame(3, n, bytes(range(n % 200))) for n in range(50)]
    line = b"".join(map(encode_frame, frames))
    reader = FrameReader()
    assert [frame for start in range(0, len(line), 7) for frame in reader.feed(line[start : start + 7])] == frames
    assert (reader.damaged, reader.lost) == (0, 0)


@pytest.mark.parametrize("seed", range(4))
def test_frame_reader_loses_only_damaged_frames(seed: int) -> None:
    """Bit errors and lost bytes; a frame that arrives is one that was sent, bit for bit."""
    rng = np.random.default_rng(seed)
    frames = [Frame(3, n, rng.bytes(40)) for n in range(400)]
    harmed, line = set(), bytearray()
    for n, frame in enumerate(frames):
        sent = bytearray(encode_frame(frame))
        if rng.random() < 0.1:
            harmed |= {n, n + 1}  # a lost 0 takes the next frame along
            place = int(rng.integers(len(sent)))
            if rng.random() < 0.5:
                sent[place] ^= 1 << int(rng.integers(8))
            else:
                del sent[place]
        line += sent
    reader = FrameReader()
    got = reader.feed(bytes(line))
    assert {frame.sequence for frame in got} >= set(range(400)) - harmed
    assert all(frame == frames[frame.sequence] for frame in got)
    assert reader.damaged > 0
    assert reader.lost == got[-1].sequence - got[0].sequence + 1 - len(got)


def test_frame_reader_keeps_little_of_endless_noise() -> None:
    reader = FrameReader()
    for _ in range(100):
        assert reader.feed(b"\x55" * 1000) == []
    assert len(reader._rest) <= 2 * LONGEST


def test_reader_does_not_count_a_frame_that_it_joined_in_the_middle_of() -> None:
    whole = encode_frame(Frame(1, 7, b"hello"))
    reader = FrameReader()
    assert len(reader.feed(whole[4:] + whole)) == 1
    assert reader.damaged == 0
    reader.feed(whole[4:])
    assert reader.damaged == 1


@pytest.mark.parametrize("length", [253, 254, 255, 508, 509])
def test_cobs_encode_needs_no_zero_between_blocks_of_254_bytes(length: int) -> None:
    """A block of 254 bytes without a 0 stands for no 0 of its own; random data hardly ever has one."""
    data = bytes([7]) * length
    stuffed = cobs_encode(data + b"\0" + data)
    assert 0 not in stuffed and cobs_decode(stuffed) == data + b"\0" + data
    assert cobs_encode(bytes([7]) * 254) == bytes([255]) + bytes([7]) * 254 + bytes([1])


def test_frame_reader_counts_lost_frames_where_the_sequence_starts_again_at_0() -> None:
    reader = FrameReader()
    reader.feed(b"".join(encode_frame(Frame(1, n, b"")) for n in (65533, 65535, 0, 3)))
    assert reader.lost == 1 + 0 + 2


@pytest.mark.parametrize("reasons", [7, 8])
def test_decode_message_reads_counters_of_a_board_with_fewer_reasons(reasons: int) -> None:
    numbers = list(range(len(COUNTERS) + reasons))
    found = decode_message(Frame(Type.COUNTERS, 0, struct.pack(f"<Q{len(numbers)}I", 9, *numbers)), None)
    assert isinstance(found, Counters) and (found.tick, list(found.values)) == (9, list(COUNTERS))
    assert found.rejected == dict(zip(REASONS[:reasons], numbers[len(COUNTERS) :], strict=True))
    short = struct.pack(f"<Q{len(COUNTERS) - 1}I", 9, *numbers[: len(COUNTERS) - 1])
    assert decode_message(Frame(Type.COUNTERS, 0, short), None) is None


def test_frame_reader_counts_lost_frames_over_the_end_of_the_numbers() -> None:
    reader = FrameReader()
    reader.feed(b"".join(encode_frame(Frame(3, n, b"")) for n in (65534, 65535, 0, 1)))
    assert reader.lost == 0
    reader.feed(encode_frame(Frame(3, 5, b"")) + encode_frame(Frame(3, 3, b"")))
    assert reader.lost == 3 + 65533  # a number from before is a whole round later
