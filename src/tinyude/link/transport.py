"""Where a board's bytes come from: a serial port, a TCP address, or a recorded file."""

from __future__ import annotations

import os
import select
import socket
from pathlib import Path
from typing import Protocol
from urllib.parse import urlsplit

from tinyude.errors import TinyUDEError

BAUD = 115_200
_CHUNK = 4096


class LinkLost(TinyUDEError):
    """The connection is lost; it may come back."""


class NoAnswer(TinyUDEError):
    """A command cannot be sent: the source is a recording."""


class Transport(Protocol):
    """A line of bytes. `ended` is true once a recorded line has been read to its end."""

    name: str
    ended: bool

    def read(self, seconds: float) -> bytes:
        """What has come, after waiting at most so long for something."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


def open_transport(source: str, baud: int = BAUD) -> Transport:
    """A serial port by its name, `tcp://HOST:PORT`, or a file of recorded bytes.

    Raises
    ------
    TinyUDEError
        If there is no such port, the address does not accept connections, or the file cannot be read.
    """
    if source.startswith("tcp://"):
        return TcpTransport(source)
    path = Path(source)
    if path.is_file():
        return FileTransport(path)
    return SerialTransport(source, baud)


def _words(error: Exception) -> str:
    """The reason alone: pyserial puts number, port and reason into its text, some of it twice."""
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)


class TcpTransport:
    """A board, or an emulator's serial port, behind a TCP address."""

    def __init__(self, source: str) -> None:
        try:
            address = urlsplit(source)
            host, port = address.hostname, address.port
        except ValueError:
            host = port = None
        if not host or port is None:
            raise TinyUDEError(f"{source!r} is not an address; write tcp://HOST:PORT, such as tcp://127.0.0.1:4000.")
        self.name, self.ended = source, False
        try:
            self._socket = socket.create_connection((host, port), timeout=5.0)
        except OSError as error:
            raise LinkLost(f"{source}: {_words(error)}; is the board switched on and listening?") from None
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def read(self, seconds: float) -> bytes:
        try:
            if not select.select([self._socket], [], [], seconds)[0]:
                return b""
            data = self._socket.recv(_CHUNK)
        except OSError as error:
            raise LinkLost(f"{self.name}: {_words(error)}.") from None
        if not data:
            raise LinkLost(f"{self.name}: the other side closed the connection.")
        return data

    def write(self, data: bytes) -> None:
        try:
            self._socket.sendall(data)
        except OSError as error:
            raise LinkLost(f"{self.name}: {_words(error)}.") from None

    def close(self) -> None:
        self._socket.close()


class SerialTransport:
    """A serial port, by pyserial."""

    def __init__(self, port: str, baud: int) -> None:
        try:
            import serial
        except ImportError:
            raise TinyUDEError("A serial port needs pyserial; install tinyude[monitor].") from None
        self.name, self.ended = port, False
        self._errors = (serial.SerialException, OSError, ValueError)
        try:
            self._port = serial.Serial(port, baud, timeout=0.1)
        except self._errors as error:
            raise LinkLost(
                f"{port}: {_words(error)}; give a serial port, tcp://HOST:PORT or a recorded file."
            ) from None

    def read(self, seconds: float) -> bytes:
        try:
            self._port.timeout = seconds
            data = self._port.read(1)
            return bytes(data + self._port.read(min(self._port.in_waiting, _CHUNK))) if data else b""
        except self._errors as error:
            raise LinkLost(f"{self.name}: {_words(error)}.") from None

    def write(self, data: bytes) -> None:
        try:
            self._port.write(data)
        except self._errors as error:
            raise LinkLost(f"{self.name}: {_words(error)}.") from None

    def close(self) -> None:
        self._port.close()


class FileTransport:
    """The bytes of a line, as `tinyude monitor --raw` keeps them. Commands go nowhere."""

    def __init__(self, path: Path) -> None:
        self.name, self.ended = str(path), False
        self._file = path.open("rb")

    def read(self, seconds: float) -> bytes:
        data = self._file.read(_CHUNK)
        self.ended = not data
        return data

    def write(self, data: bytes) -> None:
        raise NoAnswer(f"{self.name} is a recording; commands need a connected board.")

    def close(self) -> None:
        self._file.close()
