"""Commands to a board, and what comes back, over a line that is not a board."""

import struct
import zlib

import numpy as np
import pytest

from tinyude.errors import TinyUDEError
from tinyude.link import board
from tinyude.link.board import BoardLink, join_pieces
from tinyude.link.frames import Frame, encode_frame
from tinyude.link.messages import ModelPiece, Type


class Line:
    """Answers the first attempt of a command, once it was sent so often, with this status."""

    name, ended = "line", False

    def __init__(self, after: int, status: int = 0) -> None:
        self.after, self.status = after, status
        self.sent: list[Frame] = []
        self.answered = False

    def read(self, seconds: float) -> bytes:
        commands = [frame for frame in self.sent if frame.type == Type.SAVE]
        if self.answered or len(commands) < self.after:
            return b""
        self.answered = True
        return b"\0" + encode_frame(
            Frame(Type.REPLY, 0, struct.pack("<BHh", Type.SAVE, commands[0].sequence, self.status))
        )

    def write(self, data: bytes) -> None:
        frame = board.FrameReader()
        self.sent += frame.feed(b"\0" + data)

    def close(self) -> None:
        pass


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board, "_PATIENCE", 0.01)


def test_a_late_answer_to_an_earlier_attempt_counts() -> None:
    line = Line(after=2)
    BoardLink(lambda: line).save()
    assert len({frame.sequence for frame in line.sent if frame.type == Type.SAVE}) == 2


def test_a_rejected_command_says_why_and_an_unanswered_one_ends() -> None:
    with pytest.raises(TinyUDEError, match="does not save its state: it has no storage"):
        BoardLink(lambda: Line(1, status=-16)).save()
    silent = Line(after=100)
    with pytest.raises(TinyUDEError, match="did not answer 5 requests to save its state"):
        BoardLink(lambda: silent).save()


def piece(numbers: np.ndarray, first: int, count: int) -> ModelPiece:
    values = numbers.astype("<f4")
    return ModelPiece(first, len(numbers), zlib.crc32(values.tobytes()), values[first : first + count])


def test_join_pieces_takes_those_of_the_newest_model_in_their_order() -> None:
    old, new = np.arange(5.0), np.arange(5.0) + 10.0
    mixed = [piece(old, 0, 2), piece(old, 2, 3), piece(new, 3, 2), piece(new, 0, 3)]
    assert np.array_equal(join_pieces(mixed), new)
    assert join_pieces(mixed[:3]) is None and join_pieces([]) is None
