"""An emulated board's UART on a TCP port: the real peer of the monitor."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

import tinyude as tu
from tinyude import native
from tinyude.errors import TinyUDEError
from tinyude.export import Chip, chip_of_model, export_files, write_folder
from tinyude.export.wire import fingerprint, model_numbers, start_of_numbers
from tinyude.link import BoardLink, open_transport
from tinyude.link.messages import Row
from tinyude.link.record import Recorder

HERE = Path(__file__).parent
SAVED = re.compile(r"State \d+ saved")  # a command whose answer is late is sent again, and obeyed again
TOOLS = ("arm-none-eabi-gcc", "qemu-system-arm", "make")
pytestmark = pytest.mark.skipif(
    not native.available() or any(shutil.which(tool) is None for tool in TOOLS), reason=f"needs {', '.join(TOOLS)}"
)


@pytest.fixture(scope="module")
def chip() -> Chip:
    """A pendulum at 200 Hz whose damping is to be learned, starting from a model that knows a little of it."""
    _, samples = tu.systems.pendulum().stream(noise=0.01, seed=0, seconds=20.0)
    physics = tu.systems.pendulum().physics
    ude = tu.UDE(physics, library=["omega", "omega**3", "sin(theta)"], hidden=(4,), updates=50)
    return chip_of_model(ude.fit(samples[::5], t=0.005)).resized(64)


@pytest.fixture(scope="module")
def image(chip: Chip, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("live")
    write_folder(folder, export_files(chip, "cortex-m", "model"), {})
    shutil.copy(HERE / "c" / "live.c", folder / "main.c")
    (folder / "sensor.c").write_text("")
    memory = ["FLASH_START=0", "RAM_BYTES=0x40000", "CLOCK_HZ=25000000"]
    done = subprocess.run(["make", "--silent", "-j2", *memory], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    return folder / "model.elf"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@pytest.fixture
def board(image: Path) -> Iterator[int]:
    """The TCP port of a running board."""
    port = free_port()
    command = [
        "qemu-system-arm", "-machine", "mps2-an386", "-kernel", str(image), "-display", "none", "-monitor", "none",
        "-serial", f"tcp:127.0.0.1:{port},server=on,wait=off,nodelay=on",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as running:
        wait_until(lambda: can_connect(port), 10.0)
        yield port
        running.kill()


@pytest.fixture
def serial_board(image: Path) -> Iterator[str]:
    """The device of a running board's UART: a pseudo terminal, which pyserial opens as any port."""
    command = [
        "qemu-system-arm", "-machine", "mps2-an386", "-kernel", str(image), "-display", "none", "-monitor", "none",
        "-serial", "pty",
    ]  # fmt: skip
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as running:
        assert running.stdout is not None
        found = re.search(r"/dev/\S+", running.stdout.readline())
        assert found
        yield found[0]
        running.kill()


def can_connect(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 0.2).close()
    except OSError:
        return False
    return True


def wait_until(condition: Callable[[], bool], seconds: float) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "nothing happened in time"
        time.sleep(0.05)


def linked(port: int, **settings: object) -> BoardLink:
    link = BoardLink(lambda: open_transport(f"tcp://127.0.0.1:{port}"), **settings)
    until = time.monotonic() + 20.0
    while not (link.history.complete() and link.history.health and link.history.terms and link.history.rows):
        link.poll(0.1)
        assert time.monotonic() < until, "the board says nothing"
    return link


def predicted(rows: Iterable[Any]) -> list[Any]:
    """The rows with a one-step prediction: the board's filter starts with its first whole window."""
    return [row for row in rows if np.isfinite(row.predicted).all()]


def test_board_tells_who_it_is_what_it_sees_and_what_it_learned(board: int, chip: Chip, tmp_path: Path) -> None:
    link = linked(board, recorder=Recorder(tmp_path / "run.parquet"), raw=tmp_path / "run.raw")
    history = link.history
    assert (history.board, history.states, history.channels) == ("model", ["theta", "omega"], ["theta", "omega"])
    assert history.hello is not None and history.hello.fingerprint == fingerprint(chip)
    while history.rows_seen < 150:
        link.poll(0.1)
    wait_until(lambda: bool(link.poll(0.05) is not None and history.counters), 10.0)
    assert history.counters is not None and history.counters.values["lost"] == 0
    ticks = [row.tick for row in history.rows]
    assert set(np.diff(ticks)) == {2}
    assert {term["name"] for term in history.equation()} <= {str(term) for term in chip.terms}
    link.close()
    table = pl.read_parquet(tmp_path / "run.parquet")
    assert table.columns[:4] == ["tick", "t", "theta", "omega"]
    assert len(table) > 100
    again = BoardLink(lambda: open_transport(str(tmp_path / "run.raw")), reconnect=0.0)
    while not again.ended:
        again.poll(0.0)
    again.close()
    assert again.history.rows_seen == history.rows_seen


def test_board_predicts_one_step_ahead(board: int) -> None:
    link = linked(board)
    try:
        wait_until(lambda: link.poll(0.05) is not None and link.history.rows_seen >= 300, 20.0)
    finally:
        link.close()
    rows = predicted(link.history.rows)
    errors = np.array([np.abs(row.measured - row.predicted) for row in rows])
    noise = np.array([0.005, 0.01]) / np.sqrt(3.0)  # of live.c: four uniforms have a variance of a third
    assert len(errors) >= 20
    assert np.all(np.median(errors, axis=0) < 1.5 * 0.6745 * noise)  # the last sample would miss by two to ten times


def test_model_goes_both_ways_and_back_bit_for_bit(board: int, chip: Chip) -> None:
    link = linked(board)
    fetched = link.fetch_model()
    start = start_of_numbers(chip, fetched)
    assert (start.window_half, len(start.weights)) == (chip.start.window_half, len(chip.start.weights))
    own, scales = model_numbers(chip), slice(3, 7)  # of states and rates: learning does not change them
    assert np.array_equal(fetched[scales], own[scales])
    own[scales] *= np.float32([1.25, 0.75, 1.5, 0.875])
    link.send_model(own, fingerprint(chip))
    assert np.array_equal(link.fetch_model()[scales], own[scales])
    link.save()
    with pytest.raises(TinyUDEError, match="does not belong to this board"):
        link.send_model(own, fingerprint(chip) ^ 1)
    with pytest.raises(TinyUDEError, match="does not match the board"):
        link.send_model(np.where(np.arange(len(own)) == 0, np.float32(4000), own), fingerprint(chip))
    titles: list[str] = []
    until = time.monotonic() + 15.0
    while not any(map(SAVED.fullmatch, titles)) and time.monotonic() < until:
        link.poll(0.1)
        titles = [event.title for event in link.history.events]
    assert any(map(SAVED.fullmatch, titles)) and "Learner started over" in titles
    link.close()


def test_monitor_reads_and_writes_a_serial_port(serial_board: str, chip: Chip, tmp_path: Path) -> None:
    pytest.importorskip("serial")

    def monitored(*options: str) -> str:
        command = [sys.executable, "-m", "tinyude", "monitor", serial_board, *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    monitored("--record", str(tmp_path / "run.parquet"), "--seconds", "6")
    assert len(pl.read_parquet(tmp_path / "run.parquet")) > 100
    assert "numbers of model" in monitored("--fetch", str(tmp_path / "model.json"))
    told = json.loads((tmp_path / "model.json").read_text())
    assert told["fingerprint"] == fingerprint(chip)
    assert "continues from it" in monitored("--send", str(tmp_path / "model.json"), "--seconds", "1")


def test_serial_port_that_is_not_there_is_one_error(tmp_path: Path) -> None:
    pytest.importorskip("serial")
    port = str(tmp_path / "ttyUSB7")
    with pytest.raises(TinyUDEError) as caught:
        open_transport(port)
    assert str(caught.value) == (
        f"{port}: No such file or directory; give a serial port, tcp://HOST:PORT or a recorded file."
    )


class DamagedLine:
    """Flips bits and drops bytes on their way between two ports, both ways."""

    def __init__(self, port: int, rate: float) -> None:
        self.rate, self.rng = rate, np.random.default_rng(1)
        self.server = socket.create_server(("127.0.0.1", 0))
        self.port, self.target = int(self.server.getsockname()[1]), port
        self.ends: list[socket.socket] = []
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        near, _ = self.server.accept()
        far = socket.create_connection(("127.0.0.1", self.target))
        self.ends = [near, far]
        for one, other in ((near, far), (far, near)):
            threading.Thread(target=self._copy, args=(one, other), daemon=True).start()

    def close(self) -> None:
        for end in (self.server, *self.ends):
            end.close()

    def _copy(self, one: socket.socket, other: socket.socket) -> None:
        try:
            while data := one.recv(4096):
                other.sendall(self._damage(data))
        except OSError:
            pass

    def _damage(self, data: bytes) -> bytes:
        out = bytearray()
        for byte in data:
            chance = self.rng.random()
            if chance > self.rate:
                out.append(byte)
            elif chance > self.rate / 2:
                out.append(byte ^ (1 << int(self.rng.integers(8))))
        return bytes(out)


def test_damaged_line_loses_damaged_frames_only_and_commands_come_through(board: int) -> None:
    line = DamagedLine(board, 0.0005)
    link = linked(line.port)
    rows: list[Row] = []
    until = time.monotonic() + 6.0
    while time.monotonic() < until:
        rows += [message for message in link.poll(0.1) if isinstance(message, Row)]
    assert link.reader.damaged > 0 and link.reader.lost > 0
    assert len(rows) > 5 * link.reader.lost
    assert all(np.abs(row.measured).max() < 50.0 for row in rows)  # what arrives is what was sent
    assert len(link.fetch_model()) == link.history.hello.model_numbers
    link.close()
    line.close()


def test_link_comes_back(board: int) -> None:
    link = linked(board)
    link.start()
    before = link.history.rows_seen
    assert link._transport is not None
    link._transport._socket.shutdown(socket.SHUT_RDWR)
    wait_until(lambda: "Link back" in [event.title for event in link.history.events], 15.0)
    wait_until(lambda: link.history.rows_seen > before + 20, 15.0)
    assert link.later(link.save).result(10.0) is None
    link.close()


@pytest.fixture
def page_address(board: int) -> Iterator[tuple[str, str, BoardLink]]:
    """The monitor's page of the emulated board: its address and token."""
    uvicorn = pytest.importorskip("uvicorn")
    from tinyude.cli.monitor import numbers_of
    from tinyude.link.web import Guard, make_app

    link, port = linked(board), free_port()
    link.start()
    guard = Guard("127.0.0.1", port)
    config = uvicorn.Config(
        make_app(link, guard, numbers_of), "127.0.0.1", port, log_level="warning", ws="websockets-sansio"
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wait_until(lambda: server.started, 10.0)
    yield f"http://127.0.0.1:{port}", guard.token, link
    server.should_exit = True
    thread.join(10.0)
    link.close()


def asked(address: str, method: str = "GET", data: bytes | None = None, **headers: str) -> int:
    """The status that a request is answered with."""
    names = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(address, data, names, method=method)
    try:
        with urllib.request.urlopen(request, timeout=20.0) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_page_rejects_foreign_origins_and_commands_without_the_token(
    page_address: tuple[str, str, BoardLink],
) -> None:
    address, token, _ = page_address
    assert asked(address) == 200
    assert asked(address, Host="evil.example") == 403
    assert asked(f"{address}/save", "POST", b"") == 403
    assert asked(f"{address}/save", "POST", b"", X_TinyUDE_Token="wrong") == 403
    assert asked(f"{address}/save", "POST", b"", X_TinyUDE_Token=token, Origin="http://evil.example") == 403
    assert asked(f"{address}/save", "POST", b"", X_TinyUDE_Token=token, Origin=address) == 200
    assert asked(f"{address}/model", "POST", b"no model", X_TinyUDE_Token=token) == 409
    assert asked(f"{address}/model") == 403


def test_page_shows_the_board_and_carries_models(page_address: tuple[str, str, BoardLink], tmp_path: Path) -> None:
    """In a real browser: streams and terms appear, a model is downloaded and sent back; looked at as a picture."""
    playwright = pytest.importorskip("playwright.sync_api")
    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.skip("chromium is not installed")
    address, token, link = page_address
    pictures = Path(os.environ.get("TINYUDE_PICTURES", tmp_path))
    with playwright.sync_playwright() as run:
        browser = run.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1400, "height": 1400})
        faults: list[str] = []
        page.on("pageerror", lambda error: faults.append(str(error)))
        page.on("request", lambda asked: faults.extend([] if asked.url.startswith((address, "blob:")) else [asked.url]))
        page.goto(f"{address}/?token={token}")
        page.wait_for_selector("#stream1 canvas", timeout=20_000)
        page.wait_for_selector("[data-term]", timeout=20_000)
        page.wait_for_timeout(3_000)
        assert "Connected" in page.text_content("#link")
        assert page.evaluate("rows.length") > 50
        scale, watch = (page.locator(name).bounding_box() for name in ("#scale", "#scale .watch"))
        assert scale and watch  # the needle's scale is logarithmic from 0.5 to 4, and so are its colours
        assert (watch["x"] - scale["x"]) / scale["width"] == pytest.approx(np.log2(1.3 / 0.5) / 3.0, abs=0.01)
        labels = page.evaluate("Object.values(plots).filter((p) => p.scales.x.time).map((p) => p.axes[0]._values)")
        assert labels and all(len(set(each)) == len(each) < 12 for each in labels)  # no moment twice, none over another
        with page.expect_download(timeout=60_000) as download:
            page.click("#fetch")
        download.value.save_as(tmp_path / "model.json")
        page.set_input_files("#file", tmp_path / "model.json")
        page.wait_for_selector("#answer:has-text('Model sent')", timeout=20_000)
        page.click("#save")
        page.wait_for_selector("li:has-text('saved')", timeout=20_000)
        page.screenshot(path=pictures / "monitor.png", full_page=True)
        page.set_viewport_size({"width": 390, "height": 900})
        page.click("#theme")
        drawn = "Object.keys(plots).some((id) => id.startsWith('term')) && plots.trend.data[0].length"
        assert page.evaluate(drawn) > 0  # not empty until the next trends arrive
        rest = "predicted: facts.channels.map(() => [0]), innovation: facts.channels.map(() => [0]), inputs: []"
        later = "takeRows({t: [rows[rows.length - 1].t + 3], measured: facts.channels.map(() => [0]), " + rest + "})"
        assert page.evaluate(f"{later}; plots.stream0.data[1].slice(-2)") == [None, 0]  # a gap is no line
        page.wait_for_timeout(1_500)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        page.screenshot(path=pictures / "monitor-390-dark.png", full_page=True)
        browser.close()
    assert faults == []
    assert link.reader.damaged == 0
