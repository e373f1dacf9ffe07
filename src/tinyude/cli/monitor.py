"""`tinyude monitor`."""

from __future__ import annotations

import json
import socket
import tempfile
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tinyude.cli.console import console
from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError

if TYPE_CHECKING:
    from tinyude.link.board import BoardLink
    from tinyude.link.history import History

PARAMETERS = 3  # the group of parameters among a board's names
PORTS = 1 << 16


def monitor(
    source: Annotated[
        str, typer.Argument(metavar="SOURCE", help="A serial port, tcp://HOST:PORT, or a file written by --raw.")
    ],
    record: Annotated[Path | None, typer.Option(help="Save the rows to this Parquet file, for `tinyude fit`.")] = None,
    raw: Annotated[Path | None, typer.Option(help="Save the raw bytes received to this file.")] = None,
    send: Annotated[Path | None, typer.Option(help="Send this model (.tinyude or .json) to the board first.")] = None,
    fetch: Annotated[Path | None, typer.Option(help="Save the board's model to this JSON file, and stop.")] = None,
    web: Annotated[bool, typer.Option("--web", help="Show a page in the browser instead.")] = False,
    host: Annotated[
        str, typer.Option(help="Address of the page; any other than this machine needs the token.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="Port of the page.")] = 8123,
    token: Annotated[str | None, typer.Option(help="Token for commands; random by default.")] = None,
    baud: Annotated[int, typer.Option(help="Baud rate of a serial port.")] = 115_200,
    seconds: Annotated[float | None, typer.Option(metavar="SECONDS", help="Stop after this many seconds.")] = None,
) -> None:
    """Watch a board learn: in the terminal, or on a page with --web."""
    from tinyude.link import BoardLink, open_transport
    from tinyude.link.record import Recorder

    for path in (raw, fetch):
        if path is not None and path.exists():
            raise TinyUDEError(f"{path} exists; give another name, or move it away.")
    is_file = Path(source).is_file()
    link = BoardLink(
        partial(open_transport, source, baud), Recorder(record) if record else None, raw, 0.0 if is_file else 1.0
    )
    try:
        if send or fetch:
            _wait_for_board(link)
        if send:
            numbers, fingerprint = numbers_of(send.read_bytes(), link.history)
            link.send_model(numbers, fingerprint)
            console.print(f"{send} sent: the board continues from it.", highlight=False)
        if fetch:
            _fetch(link, fetch)
            return
        link.start()
        if web:
            _serve(link, host, port, token)
        else:
            from tinyude.link.terminal import watch

            watch(link, console, seconds)
    finally:
        link.close()


def _wait_for_board(link: BoardLink, seconds: float = 10.0) -> None:
    until = time.monotonic() + seconds
    while not link.history.complete():
        link.poll(0.1)
        if time.monotonic() > until or link.ended:
            raise TinyUDEError(
                f"{link.source}: no board answered within {seconds:g} s; check the port, its baud "
                "rate, and that the firmware runs."
            )


def _fetch(link: BoardLink, path: Path) -> None:
    from tinyude.link.models import model_json

    model = model_json(link.history, link.fetch_model())
    write_whole(path, json.dumps(model, indent=1) + "\n")
    console.print(f"{path}: {len(model['numbers'])} numbers of {model['board']}.", highlight=False)


def numbers_of(data: bytes, history: History) -> tuple[Any, int]:
    """The numbers of a model file for a board: its own JSON, or a fitted model for the same export."""
    from tinyude.link.models import read_model_json

    if data.lstrip()[:1] == b"{":
        return read_model_json(data)
    from tinyude.estimator.ude import load
    from tinyude.export import chip_of_model
    from tinyude.export.wire import fingerprint, model_numbers

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "sent.tinyude"
        path.write_bytes(data)
        chip = chip_of_model(load(path))
    candidates = [chip, chip.with_kept_terms()] + ([chip.without_network()] if chip.terms else [])
    wanted = history.hello.fingerprint if history.hello else None
    chip = next((each for each in candidates if fingerprint(each) == wanted), chip)
    base = [name.value for (group, _), name in sorted(history.names.items()) if group == PARAMETERS]
    return model_numbers(chip, base), fingerprint(chip)


def _serve(link: BoardLink, host: str, port: int, token: str | None) -> None:
    try:
        import uvicorn

        from tinyude.link.web import Guard, make_app
    except ImportError:
        raise TinyUDEError("The page needs starlette and uvicorn; install tinyude[monitor].") from None
    place = listening(host, port)
    guard = Guard(host, place.getsockname()[1], token)
    shown = f"[{host}]" if ":" in host else host
    console.print(f"http://{shown}:{guard.port}/?token={guard.token}", highlight=False, soft_wrap=True)
    settings = uvicorn.Config(make_app(link, guard, numbers_of), log_level="warning", ws="websockets-sansio")
    uvicorn.Server(settings).run(sockets=[place])


def listening(host: str, port: int) -> socket.socket:
    """A socket that waits for browsers at this address."""
    if not 0 <= port < PORTS:
        raise TinyUDEError(f"--port is {port}; give one from 0 (any that is free) to {PORTS - 1}.")
    try:
        return socket.create_server((host, port), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
    except (OSError, ValueError) as error:
        reason = str(getattr(error, "strerror", None) or error).partition(" (while")[0]
        raise TinyUDEError(
            f"Cannot open the page at {host}, port {port}: {reason}; give another --port, or a --host of this machine."
        ) from None
