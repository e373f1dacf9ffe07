"""The monitor as a local web page: one page, one stream, five commands.

Local only unless sent otherwise. Requests whose Host or Origin is not this server's are rejected (another site's page
must not reach it); commands need the token, and so does everything else where the server is open to other machines.
"""

from __future__ import annotations

import asyncio
import ipaddress
import re
import secrets
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.applications import Starlette
from starlette.requests import ClientDisconnect, HTTPConnection, Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

from tinyude.errors import TinyUDEError
from tinyude.link.board import BoardLink
from tinyude.link.models import NumbersOf, model_json
from tinyude.link.stream import fresh_rows, introduction, status, trends

_EVERY = 0.2  # s between messages of the stream
_TRENDS_EVERY = 20  # messages
_LARGEST_MODEL = 16 << 20  # bytes
_UPLOT = Path(__file__).parents[1] / "report" / "uplot"
_POLICY = "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:"


def is_local(host: str) -> bool:
    """Whether a server on this address is out of other machines' reach."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Guard:
    """Access control of requests."""

    def __init__(self, host: str, port: int, token: str | None = None) -> None:
        self.local, self.port = is_local(host), port
        self.token = token or secrets.token_urlsafe(16)
        self._hosts = {host, "localhost", "127.0.0.1", "::1"} if self.local else None

    def rejection(self, connection: HTTPConnection, command: bool) -> str | None:
        """Why a request is rejected; None: it is not."""
        host, origin = connection.headers.get("host", ""), connection.headers.get("origin")
        if self._hosts is not None and ("@" in host or _split(f"//{host}")[1] not in self._hosts):
            return "foreign host"
        if origin is not None and _split(origin)[0] != host:
            return "foreign origin"
        given = connection.headers.get("x-tinyude-token") or connection.query_params.get("token", "")
        if (command or not self.local) and not secrets.compare_digest(given.encode(), self.token.encode()):
            return "token missing or wrong"
        return None


def _split(address: str) -> tuple[str, str | None]:
    """Place and host of an address; nothing where it is none."""
    try:
        parts = urlsplit(address)
        return parts.netloc, parts.hostname
    except ValueError:
        return "", None


def make_app(link: BoardLink, guard: Guard, numbers_of: NumbersOf) -> Starlette:
    """The page of a board.

    Parameters
    ----------
    link
        The board, whose thread runs already.
    guard
        Whom to let in.
    numbers_of
        Reads an uploaded model file: its numbers and fingerprint.
    """
    serve = _Requests(link, guard, numbers_of)
    return Starlette(
        routes=[
            Route("/", serve.page),
            Route("/model", serve.fetch_model, methods=["GET"]),
            Route("/model", serve.send_model, methods=["POST"]),
            Route("/save", serve.save, methods=["POST"]),
            Route("/reset", serve.reset, methods=["POST"]),
            WebSocketRoute("/live", serve.live),
        ]
    )


class _Requests:
    """What each request is answered with."""

    def __init__(self, link: BoardLink, guard: Guard, numbers_of: NumbersOf) -> None:
        self.link, self.guard, self.numbers_of = link, guard, numbers_of

    async def page(self, request: Request) -> Response:
        if reason := self.guard.rejection(request, command=False):
            return _forbidden(reason)
        return HTMLResponse(render_page(self.link.history.board), headers={"content-security-policy": _POLICY})

    async def fetch_model(self, request: Request) -> Response:
        def action() -> dict[str, Any]:
            return model_json(self.link.history, self.link.fetch_model())

        name = f'attachment; filename="{re.sub(r"[^A-Za-z0-9_.-]", "_", self.link.history.board)}.json"'
        return await self._command(request, action, {"content-disposition": name})

    async def send_model(self, request: Request) -> Response:
        if reason := self.guard.rejection(request, command=True):
            return _forbidden(reason)
        body = b""
        try:
            async for piece in request.stream():  # what a header says of its length may be wrong
                body += piece
                if len(body) > _LARGEST_MODEL:
                    return JSONResponse({"error": "The file is larger than any model; send a .tinyude file."}, 413)
        except ClientDisconnect:
            return Response(status_code=400)  # nobody is left to read it

        def action() -> dict[str, Any]:
            numbers, fingerprint = self.numbers_of(body, self.link.history)
            self.link.send_model(numbers, fingerprint)
            return {"sent": len(numbers)}

        return await self._command(request, action)

    async def save(self, request: Request) -> Response:
        return await self._command(request, self.link.save)

    async def reset(self, request: Request) -> Response:
        return await self._command(request, self.link.reset)

    async def live(self, socket: WebSocket) -> None:
        if self.guard.rejection(socket, command=False):
            await socket.close(code=1008)
            return
        await socket.accept()
        with suppress(WebSocketDisconnect):
            await _stream(socket, self.link)

    async def _command(
        self, request: Request, action: Callable[[], Any], headers: dict[str, str] | None = None
    ) -> Response:
        """Carry a command out in the link's thread."""
        if reason := self.guard.rejection(request, command=True):
            return _forbidden(reason)
        try:
            result = await asyncio.wait_for(asyncio.wrap_future(self.link.later(action)), 30.0)
        except TinyUDEError as error:
            return JSONResponse({"error": str(error)}, 409)
        except TimeoutError:
            return JSONResponse({"error": "The board did not answer within 30 s; check the cable."}, 504)
        return JSONResponse(result if result is not None else {"done": True}, headers=headers)


def render_page(board: str) -> str:
    """The page, whole: no request goes anywhere else."""
    folder = Path(__file__).parent / "page"
    templates = Environment(loader=FileSystemLoader(folder), undefined=StrictUndefined, autoescape=True)
    return templates.get_template("monitor.html.jinja").render(
        board=board,
        style=(folder / "monitor.css").read_text(encoding="utf-8"),
        script=(folder / "monitor.js").read_text(encoding="utf-8"),
        uplot=(_UPLOT / "uPlot.iife.min.js").read_text(encoding="utf-8"),
        uplot_style=(_UPLOT / "uPlot.min.css").read_text(encoding="utf-8"),
    )


def _forbidden(why: str) -> Response:
    return JSONResponse({"error": f"Rejected: {why}."}, 403)


async def _stream(socket: WebSocket, link: BoardLink) -> None:
    seen, sent, count = 0, None, 0
    receive: Awaitable[Any] = asyncio.ensure_future(socket.receive())  # only to learn of the end
    while True:
        with link.lock:
            hello = introduction(link)
            messages = [hello] if hello != sent else []
            messages += [fresh_rows(link.history, seen), status(link)]
            if count % _TRENDS_EVERY == 0 or hello != sent:
                messages.append(trends(link.history))
            seen, sent = link.history.rows_seen, hello
        for message in messages:
            await socket.send_json(message)
        count += 1
        done, _ = await asyncio.wait([receive], timeout=_EVERY)  # type: ignore[type-var]
        if done:
            return
