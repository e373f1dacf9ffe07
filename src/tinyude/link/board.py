"""The line to a board: reads telemetry, reconnects, and sends commands, in a separate thread."""

from __future__ import annotations

import queue
import threading
import time
import zlib
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from tinyude.errors import TinyUDEError, one_line
from tinyude.link.frames import Frame, FrameReader, encode_frame
from tinyude.link.history import History
from tinyude.link.messages import Array, Message, ModelPiece, Reply, Row, Type, decode_message, model_pieces
from tinyude.link.record import Recorder
from tinyude.link.transport import LinkLost, NoAnswer, Transport

_TRIES, _PATIENCE = 5, 0.6  # of a command, and seconds for its answer
_ASK_EVERY = 1.0  # s between requests for the board's identity
_REASONS = {-1: "it does not match the board's model", -4: "it is still calibrating", -16: "it has no storage",
            -18: "its storage failed"}  # fmt: skip


class BoardLink:
    """A board at the other end of a line.

    Parameters
    ----------
    connect
        Opens the line; called again after it was lost.
    recorder
        Where rows go, if anywhere.
    raw
        A file for the bytes as they come: `open_transport` reads it again.
    reconnect
        Seconds between attempts to get a lost line back; 0: the end of the line is the end.
    """

    def __init__(
        self,
        connect: Callable[[], Transport],
        recorder: Recorder | None = None,
        raw: Path | None = None,
        reconnect: float = 1.0,
    ) -> None:
        self._connect, self._reconnect = connect, reconnect
        self._transport: Transport | None = connect()
        self.source = self._transport.name
        self.recorder = recorder
        self._raw: BinaryIO | None = raw.open("xb") if raw else None
        self.history, self.reader = History(), FrameReader()
        self.lock = threading.Lock()  # of history
        self._commands: queue.Queue[tuple[Callable[[], Any], Future[Any]]] = queue.Queue()
        self._sequence, self._asked = 0, 0.0
        self._replies: dict[int, int] = {}
        self._pieces: dict[int, ModelPiece] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None
        self.ended = False
        self.failure: Exception | None = None  # why the thread ended, if it failed

    @property
    def connected(self) -> bool:
        return self._transport is not None

    def start(self) -> None:
        self._thread = threading.Thread(target=self._run, name="tinyude-link", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._stop.set()
        if self._thread is not None:
            self._thread.join()
        if self._transport is not None:
            self._transport.close()
        if self.recorder is not None:
            self.recorder.flush()
        if self._raw is not None:
            self._raw.close()

    def poll(self, seconds: float = 0.1) -> list[Message]:
        """Reads what has arrived; requests the board's identity until it is known."""
        if self._transport is None:
            return []
        data = self._transport.read(seconds)
        self.ended = self._transport.ended
        if self._raw is not None:
            self._raw.write(data)
        messages = []
        for frame in self.reader.feed(data):
            with self.lock:
                message = decode_message(frame, self.history.hello)
                if message is not None:
                    messages.append(message)
                    self._take(message)
        if not self.ended and not self.history.complete() and time.monotonic() - self._asked > _ASK_EVERY:
            self._asked = time.monotonic()
            self._send(Type.ASK_HELLO, b"")
        return messages

    def save(self) -> None:
        """Have the board save its state."""
        self._command(Type.SAVE, b"", "save its state")

    def reset(self) -> None:
        """Have the board start over from the model it was built with."""
        self._command(Type.RESET, b"", "start over")

    def fetch_model(self) -> Array:
        """The board's model now, as the numbers of docs/telemetry.md."""
        self._pieces.clear()
        for _ in range(_TRIES):
            self._command(Type.ASK_MODEL, b"", "send its model")
            model = self._collect_model()
            if model is not None and not np.isfinite(model).all():
                raise TinyUDEError("The board's model contains non-finite numbers; reset the board, or flash it again.")
            if model is not None:
                return model
        raise TinyUDEError("The board's model did not arrive complete; check the cable and the baud rate.")

    def send_model(self, numbers: Array, fingerprint: int) -> None:
        """Make the board continue from this model, without flashing it again."""
        hello = self.history.hello
        if hello is None:
            raise TinyUDEError("The board has not identified itself yet; wait for its first telemetry.")
        if fingerprint != hello.fingerprint or len(numbers) != hello.model_numbers:
            raise TinyUDEError(
                f"The model does not belong to this board (fingerprint {fingerprint:08x}, {len(numbers)} numbers; the "
                f"board has {hello.fingerprint:08x}, {hello.model_numbers}): physics, terms, network and sample period "
                "must be those of its export; otherwise export and flash again."
            )
        for body in model_pieces(numbers, fingerprint):
            self._command(Type.TAKE_MODEL, body, "take the model")

    def later(self, action: Callable[[], Any]) -> Future[Any]:
        """Run one of the commands above in the link's own thread; for others than that thread."""
        future: Future[Any] = Future()
        self._commands.put((action, future))
        return future

    def _run(self) -> None:
        while not self._stop.is_set() and not self.ended:
            try:
                if self._transport is None:
                    self._get_back()
                else:
                    self.poll(0.05)
                    self._carry_out()
            except LinkLost as lost:
                self._lose(lost)
            except NoAnswer as error:
                self.history.note("note", "No answer", str(error))
                self._asked = float("inf")
            except Exception as error:  # e.g. a full disk: no caller waits for this thread, so it stores the error
                with self.lock:
                    self.history.note("bad", "Stopped", one_line(str(error)))
                self.failure, self.ended = error, True

    def _carry_out(self) -> None:
        while not self._commands.empty():
            action, future = self._commands.get()
            try:
                future.set_result(action())
            except LinkLost as lost:
                future.set_exception(lost)
                raise
            except Exception as error:  # the caller's to see
                future.set_exception(error)

    def _lose(self, lost: LinkLost) -> None:
        if self._transport is not None:
            self._transport.close()
        self._transport = None
        with self.lock:
            self.history.note("bad", "Link lost", str(lost))
        self.ended = not self._reconnect

    def _get_back(self) -> None:
        if self._stop.wait(self._reconnect):
            return
        try:
            self._transport = self._connect()
        except LinkLost:
            return
        self.reader.reconnected()
        with self.lock:
            self.history.note("good", "Link back", "the board kept learning meanwhile")

    def _take(self, message: Message) -> None:
        self.history.take(message)
        if isinstance(message, Row) and self.recorder is not None and self.history.complete():
            self.recorder.take(self.history, message)
        elif isinstance(message, Reply):
            self._replies[message.sequence] = message.status
        elif isinstance(message, ModelPiece):
            self._pieces[message.first] = message

    def _send(self, kind: Type, body: bytes) -> int:
        if self._transport is None:
            raise LinkLost(f"{self.source}: the connection is lost; check the cable.")
        self._sequence = (self._sequence + 1) % 65536
        self._transport.write(encode_frame(Frame(kind, self._sequence, body)))
        return self._sequence

    def _command(self, kind: Type, body: bytes, what: str) -> None:
        """Sent until it is answered: a damaged frame is sent again. A slow board may answer an earlier attempt."""
        sent = set()
        for _ in range(_TRIES):
            sent.add(self._send(kind, body))
            until = time.monotonic() + _PATIENCE
            while time.monotonic() < until:
                self.poll(0.05)
                if answered := sent & self._replies.keys():
                    status = self._replies.pop(answered.pop())
                    if status != 0:
                        raise TinyUDEError(f"The board does not {what}: {_REASONS.get(status, f'status {status}')}.")
                    return
        raise TinyUDEError(f"The board did not answer {_TRIES} requests to {what}; check the cable and the baud rate.")

    def _collect_model(self) -> Array | None:
        until = time.monotonic() + 4 * _PATIENCE
        while time.monotonic() < until:
            self.poll(0.05)
            model = join_pieces(list(self._pieces.values()))
            if model is not None:
                self._pieces.clear()
                return model
        return None


def join_pieces(pieces: list[ModelPiece]) -> Array | None:
    """A model of its pieces; None while some are missing or belong to another."""
    if not pieces:
        return None
    newest = pieces[-1]
    own = sorted((piece for piece in pieces if piece.crc == newest.crc), key=lambda piece: piece.first)
    numbers = np.concatenate([piece.numbers for piece in own])
    whole = len(numbers) == newest.total and zlib.crc32(numbers.astype("<f4").tobytes()) == newest.crc
    return numbers if whole else None
