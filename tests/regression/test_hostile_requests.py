"""Requests to the monitor's page that no browser on that page would make."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

import numpy as np
import pytest

pytest.importorskip("starlette")

from tinyude.cli.monitor import listening, numbers_of
from tinyude.errors import TinyUDEError
from tinyude.link.board import BoardLink
from tinyude.link.frames import Frame, encode_frame
from tinyude.link.messages import Type
from tinyude.link.web import Guard, make_app

HERE, TOKEN = "127.0.0.1:8123", {"x-tinyude-token": "right"}
LEAVES = b"the browser leaves"
NAME = 'ev"il\r\nx-more: y<script>é'


class Silent:
    """A board that never says a word."""

    name, ended = "line", False

    def read(self, seconds: float) -> bytes:
        del seconds
        return b""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@pytest.fixture
def app() -> Iterator[Any]:
    link = BoardLink(Silent)
    facts = b"\7\0\0\0\3\0\0\0" + np.float32(0.01).tobytes() + b"\2\0\0\0\1\0\1\1\0\0\0\0" + bytes((0, 0, 0))
    for frame in (Frame(Type.HELLO, 0, facts), Frame(Type.NAME, 1, bytes(7) + NAME.encode())):
        link._transport = type("Once", (Silent,), {"read": lambda self, seconds, f=frame: encode_frame(f)})()
        link.poll(0.0)
    assert link.history.board.startswith('ev"il')
    link.fetch_model = lambda: np.ones(3, np.float32)
    link.save = lambda: None
    end = threading.Event()

    def carry_out() -> None:
        while not end.wait(0.01):
            link._carry_out()

    thread = threading.Thread(target=carry_out)
    thread.start()
    yield make_app(link, Guard("127.0.0.1", 8123, "right"), numbers_of)
    end.set()
    thread.join()


def ask(app: Any, method: str, path: str, headers: dict[str, str], pieces: list[bytes] | None = None) -> Any:
    """Status, headers and text of an answer."""
    answers: list[dict[str, Any]] = []
    left = list(pieces or [b""])
    place, _, query = path.partition("?")
    scope = {
        "type": "http", "http_version": "1.1", "method": method, "path": unquote(place), "query_string": query.encode(),
        "scheme": "http", "headers": [(k.encode(), v.encode()) for k, v in ({"host": HERE} | headers).items()],
    }  # fmt: skip

    async def receive() -> dict[str, Any]:
        if left[0] is LEAVES:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

    async def send(message: dict[str, Any]) -> None:
        answers.append(message)

    asyncio.run(app(scope, receive, send))
    text = b"".join(answer.get("body", b"") for answer in answers[1:]).decode()
    return answers[0]["status"], {k.decode(): v.decode("latin-1") for k, v in answers[0]["headers"]}, text


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "evil.example"},
        {"host": "["},
        {"host": "127.0.0.1@evil.example"},
        {"host": "evil.example@127.0.0.1:8123"},
        {"host": "127.0.0.1.evil.example"},
        {"host": ""},
        {"origin": "http://evil.example"},
        {"origin": "http://["},
        {"origin": "null"},
        {"origin": f"http://{HERE}@evil.example"},
        {"origin": "file://"},
    ],
)
@pytest.mark.parametrize("path", ["/", "/model"])
def test_requests_from_elsewhere_are_rejected(app: Any, path: str, headers: dict[str, str]) -> None:
    status, _, text = ask(app, "GET", path, TOKEN | headers)
    assert status == 403 and json.loads(text)["error"].startswith("Rejected: foreign")


@pytest.mark.parametrize(
    "path", ["/save", "/save?token=wrong", "/save?token=%F0%9F%98%80", "/save?token=", "/reset", "/model"]
)
def test_commands_need_the_token(app: Any, path: str) -> None:
    assert ask(app, "POST", path, {})[0] == 403


@pytest.mark.parametrize(
    "path", ["/../../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "//etc/passwd", "/model/..", "/static/x"]
)
def test_there_are_no_other_pages(app: Any, path: str) -> None:
    assert ask(app, "GET", path, TOKEN)[0] == 404


def test_page_and_model_of_a_board_with_a_hostile_name(app: Any) -> None:
    status, headers, text = ask(app, "GET", "/", {})
    assert status == 200 and "y<script>é" not in text and "default-src 'none'" in headers["content-security-policy"]
    status, headers, text = ask(app, "GET", "/model", TOKEN)
    name = headers["content-disposition"].removeprefix('attachment; filename="').removesuffix('"')
    assert status == 200 and set(name) <= set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-")
    assert "x-more" not in headers and json.loads(text)["numbers"] == [1, 1, 1]


@pytest.mark.parametrize("length", ["5", "abc", "-1", str(1 << 40)])
def test_uploads_are_bounded_whatever_they_say_of_their_length(app: Any, length: str) -> None:
    status, _, text = ask(app, "POST", "/model", TOKEN | {"content-length": length}, [bytes(9 << 20)] * 2)
    assert status == 413 and "larger than any model" in text


def test_an_upload_that_breaks_off_ends_without_a_traceback(app: Any) -> None:
    """The terminal of the monitor got sixty lines of one."""
    assert ask(app, "POST", "/model", TOKEN, [b"half", LEAVES])[0] == 400


@pytest.mark.parametrize(("host", "port"), [("127.0.0.1", 65_536), ("127.0.0.1", -1), ("a" * 70, 0), ("192.0.2.1", 0)])
def test_listening_says_in_one_line_where_it_cannot(host: str, port: int) -> None:
    with pytest.raises(TinyUDEError, match=rf"(Cannot open the page at {host}, port|--port is) {port}.*; give "):
        listening(host, port)


def test_listening_names_a_port_that_is_taken() -> None:
    with listening("127.0.0.1", 0) as first, pytest.raises(TinyUDEError, match="Address already in use; give another"):
        listening("127.0.0.1", first.getsockname()[1])


@pytest.mark.parametrize("content", [b"", b"\x80\x04garbage", b"{", b'{"format": "tinyude-board-model"}', bytes(100)])
def test_uploads_that_are_no_models_are_rejected_in_one_line(app: Any, content: bytes) -> None:
    status, _, text = ask(app, "POST", "/model", TOKEN, [content])
    told = json.loads(text)["error"]
    assert status == 409 and told.isprintable()
