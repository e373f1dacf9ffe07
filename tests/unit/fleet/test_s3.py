"""Logs and results on S3: a server in a process of its own, workers in theirs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import fsspec
import polars as pl
import pytest

import tinyude as tu
from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.fleet.run import open_fleet

TERMS = ["omega", "tanh(20*omega)"]
LOGS = "s3://plant/{machine}/{date}.parquet"
PATIENCE = 120.0  # seconds

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::DeprecationWarning")]


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    """The address of an S3 server, which the environment tells to all processes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    address = f"http://127.0.0.1:{port}"
    told = {"AWS_ENDPOINT_URL": address, "AWS_DEFAULT_REGION": "us-east-1"}
    told |= {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any"}
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "moto.server", "-p", str(port)], **quiet)
    before = dict(os.environ)
    try:
        _wait_for(address)
        os.environ.update(told)
        yield address
    finally:
        os.environ.clear()
        os.environ.update(before)
        process.kill()
        process.wait()


def _wait_for(address: str) -> None:
    end = time.monotonic() + PATIENCE
    while True:
        try:
            urllib.request.urlopen(address, timeout=5.0).close()
            return
        except OSError:
            assert time.monotonic() < end, "no S3 server"
            time.sleep(0.2)


def test_fit_reads_logs_from_s3_and_keeps_results_there(server: str, tmp_path: Path) -> None:
    rig = SimulatedFleet(machines=4, weeks=2, seconds=8.0).write(tmp_path)
    s3 = fsspec.filesystem("s3")
    s3.mkdir("plant")
    logs = sorted((tmp_path / "logs").rglob("*.parquet"))
    for path in logs[:6]:
        s3.put_file(str(path), f"plant/{path.parent.name}/{path.name}")
    s3.pipe_file("plant/arm-9000/2026-01-05.parquet", b"")
    found = tu.fleet.fit(LOGS, rig, out="s3://plant/fleet", terms=TERMS, workers=2)
    assert found.units["status"].to_list() == ["ok"] * 6 + ["failed"]
    assert found.units["error"][-1].startswith("s3://plant/arm-9000/2026-01-05.parquet is empty")

    units = {path: s3.info(path, refresh=True)["LastModified"] for path in s3.find("plant/fleet/units")}
    for path in logs[6:]:  # a machine comes in
        s3.put_file(str(path), f"plant/{path.parent.name}/{path.name}")
    again = tu.fleet.fit(LOGS, rig, out="s3://plant/fleet", terms=TERMS, workers=1, reports="all")
    assert again.units.height == 9 and again.units.filter(pl.col("status") == "ok").height == 8
    assert {path: s3.info(path, refresh=True)["LastModified"] for path in units} == units
    with s3.open("plant/fleet/terms.parquet") as file:
        assert pl.read_parquet(file.read()).equals(again.terms)
    reports = s3.find("plant/fleet/reports")
    page = s3.cat_file("plant/fleet/fleet.html").decode()
    assert len(reports) == 4 and all(path.removeprefix("plant/fleet/") in page for path in reports)
    assert open_fleet("s3://plant/fleet").terms.equals(again.terms)
