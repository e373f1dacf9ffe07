"""Fleets on real clusters: processes of this computer, and `dask scheduler` with two `dask worker` started by hand."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import distributed
import fsspec
import polars as pl
import pytest
from typer.testing import CliRunner

import tinyude as tu
from tinyude.cli.app import app
from tinyude.data.logs import Columns, log_stream
from tinyude.experiments.costs.simulated_fleet import SimulatedFleet
from tinyude.fleet.choice import pilots, survey
from tinyude.fleet.paths import find_units
from tinyude.fleet.pooled import single_files
from tinyude.fleet.run import open_fleet
from tinyude.fleet.sums import pooled_sums
from tinyude.fleet.work import Recipe
from tinyude.physics.file import load_physics_file

TERMS = ["omega", "tanh(20*omega)"]
MACHINES, WEEKS, CHANGED = 8, 2, 5
QUICK = {"refine": False}  # these tests are about the cluster
PATIENCE = 60.0  # seconds

pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::ResourceWarning"),  # sockets of processes that were killed
]


@pytest.fixture(scope="module")
def plant(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Eight machines with two logs each, one machine changed; two more machines with broken and empty files."""
    folder = tmp_path_factory.mktemp("plant")
    SimulatedFleet(machines=MACHINES, weeks=WEEKS, seconds=8.0, steps={CHANGED: (1, 1.6)}).write(folder)
    whole = (folder / "logs" / "arm-0000" / "2026-01-05.parquet").read_bytes()
    for number, content in enumerate([b"", whole[: len(whole) // 2], b"not a table"]):
        (folder / "logs" / f"arm-900{number}").mkdir()
        (folder / "logs" / f"arm-900{number}" / "2026-01-05.parquet").write_bytes(content)
    return folder


@pytest.fixture(scope="module")
def threads() -> Iterator[distributed.Client]:
    """A cluster inside this process, for tests that are not about processes."""
    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0") as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client


def template(plant: Path) -> str:
    return f"{plant}/logs/{{machine}}/{{date}}.parquet"


def fit_plant(plant: Path, **options: Any) -> tu.fleet.FleetResult:
    return tu.fleet.fit(template(plant), plant / "rig.toml", terms=TERMS, options=QUICK, **options)


def results(out: Path) -> dict[str, int]:
    """Result files with their time of change in nanoseconds."""
    return {str(path): path.stat().st_mtime_ns for path in (out / "units").rglob("*.parquet")}


def until(condition: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.1)


@pytest.fixture(scope="module")
def fitted(plant: Path, threads: distributed.Client, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("fitted")
    fit_plant(plant, out=out, client=threads)
    return out


def test_fit_records_broken_files_and_fits_the_rest(fitted: Path) -> None:
    units = pl.read_parquet(fitted / "units.parquet")
    assert units.height == MACHINES * WEEKS + 3
    failed = units.filter(pl.col("status") == "failed")
    assert failed["machine"].to_list() == ["arm-9000", "arm-9001", "arm-9002"]
    assert all(failed["error"].str.len_chars() > 10)
    truth = SimulatedFleet(machines=MACHINES, weeks=WEEKS, steps={CHANGED: (1, 1.6)}).coefficients()[1]
    terms = pl.read_parquet(fitted / "terms.parquet").filter(pl.col("term") == "tanh(20*omega)")
    found = -terms["coefficient"].to_numpy().reshape(MACHINES, WEEKS)
    assert found == pytest.approx(truth, rel=0.12)


def test_fit_flags_the_machine_that_changed(fitted: Path) -> None:
    found = open_fleet(fitted)
    assert found.outliers()["machine"].to_list() == [f"arm-{CHANGED:04d}"]
    assert found.states["arm-9000"][0] == "silent"
    page = (fitted / "fleet.html").read_text()
    assert f"arm-{CHANGED:04d}" in page and "<html" in page


def test_fit_resumes_without_computing_anything_again(plant: Path, fitted: Path, threads: distributed.Client) -> None:
    before = results(fitted)
    calls: list[object] = []
    again = fit_plant(plant, out=fitted, client=threads, started=calls.append)
    assert results(fitted) == before and len(again.rows) == MACHINES * WEEKS + 3
    assert not calls  # not even a cluster was needed


def test_fit_knows_the_same_content_under_another_time_of_change(
    plant: Path, fitted: Path, threads: distributed.Client
) -> None:
    models = {path: path.stat().st_mtime_ns for path in (fitted / "models").rglob("*.tinyude")}
    log = plant / "logs" / "arm-0001" / "2026-01-05.parquet"
    os.utime(log, (1, 1))
    fit_plant(plant, out=fitted, client=threads)
    assert {path: path.stat().st_mtime_ns for path in (fitted / "models").rglob("*.tinyude")} == models


def test_fit_computes_anew_what_changed_and_what_is_asked_otherwise(
    plant: Path, fitted: Path, threads: distributed.Client, tmp_path: Path
) -> None:
    logs = f"{plant}/logs/arm-000{{machine}}/2026-01-05.parquet"
    tu.fleet.fit(logs, plant / "rig.toml", out=tmp_path, terms=["omega"], options=QUICK, client=threads)
    before = results(tmp_path)
    found = tu.fleet.fit(logs, plant / "rig.toml", out=tmp_path, terms=TERMS, options=QUICK, client=threads)
    assert len(results(tmp_path)) == 2 * len(before) and found.terms["term"].n_unique() == 2


def test_fit_chooses_the_terms_of_the_fleet_and_keeps_them(
    plant: Path, threads: distributed.Client, tmp_path: Path
) -> None:
    logs = f"{plant}/logs/arm-000{{machine}}/{{date}}.parquet"
    found = tu.fleet.fit(logs, plant / "rig.toml", out=tmp_path, options=QUICK, client=threads)
    terms = json.loads((tmp_path / "fleet.json").read_text())["terms"]
    assert 1 <= len(terms) <= 5 and any("tanh" in term for term in terms)
    assert set(found.terms["term"]) == set(terms)
    before = results(tmp_path)
    tu.fleet.fit(logs, plant / "rig.toml", out=tmp_path, options=QUICK, client=threads)
    assert results(tmp_path) == before


def test_fit_takes_frames_and_keeps_nothing_without_a_folder(threads: distributed.Client) -> None:
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    t, samples = tu.systems.pendulum().stream(noise=0.01, seconds=10.0)
    frame = {"time": t[::5], "theta": samples[::5, 0], "omega": samples[::5, 1]}
    found = tu.fleet.fit(
        {"a": frame, "b": pl.DataFrame(frame)}, physics, terms=["omega"], options=QUICK, client=threads
    )
    assert found.terms["coefficient"].to_numpy() == pytest.approx([-0.4, -0.4], rel=0.05)
    assert found.units["model"].to_list() == ["", ""]


def test_fit_runs_in_a_script_without_a_main_guard(tmp_path: Path) -> None:
    """The README's lines in a file: worker processes must not run them again."""
    script = tmp_path / "plain.py"
    script.write_text(
        "import tinyude as tu\n"
        "t, samples = tu.systems.pendulum().stream(noise=0.01, seconds=10.0)\n"
        "frame = {'time': t[::5], 'theta': samples[::5, 0], 'omega': samples[::5, 1]}\n"
        "physics = tu.Physics(['theta', 'omega'], ['omega', '-9.81*sin(theta)'])\n"
        "found = tu.fleet.fit({'a': frame}, physics, terms=['omega'], options={'refine': False}, workers=1)\n"
        "print('fitted', len(found.terms), __file__)\n",
        encoding="utf-8",
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 0 and done.stdout.split() == ["fitted", "1", str(script)], done.stderr


def test_fit_reads_and_writes_other_storages(plant: Path, threads: distributed.Client) -> None:
    memory = fsspec.filesystem("memory")
    content = (plant / "logs" / "arm-0000" / "2026-01-05.parquet").read_bytes()
    memory.pipe_file("/plant/arm-0/2026-01-05.parquet", content)
    logs = "memory://plant/{machine}/{date}.parquet"
    found = tu.fleet.fit(logs, plant / "rig.toml", out="memory://results", terms=TERMS, options=QUICK, client=threads)
    assert found.units["status"].to_list() == ["ok"]
    assert memory.exists("/results/terms.parquet") and memory.exists(f"/results/{found.units['model'][0]}")
    memory.rm("/plant", recursive=True)
    memory.rm("/results", recursive=True)


def test_fit_pooled_gives_the_coefficients_of_a_single_pass(tmp_path: Path, threads: distributed.Client) -> None:
    physics = SimulatedFleet(machines=2, weeks=2, seconds=8.0, spread=0.0).write(tmp_path)
    found = tu.fleet.fit_pooled(template(tmp_path), physics, terms=TERMS, client=threads)
    rig = load_physics_file(physics)
    files = single_files(find_units(template(tmp_path)))
    plan = survey(pilots(files)[0], Recipe(rig)).plan
    streams = [log_stream([Path(file.files[0])], Columns.of(rig)) for file in reversed(files)]
    whole = pooled_sums(streams, rig.physics, plan, TERMS)
    assert found["coefficient"].to_numpy() == pytest.approx(whole.solve(), rel=1e-12)
    assert found["coefficient"].to_list() == pytest.approx([-0.8, -1.5], rel=0.1)
    assert (found["low"] < found["coefficient"]).all() and found["state"].to_list() == ["omega", "omega"]


def test_fit_pooled_rejects_what_it_cannot_do(plant: Path, tmp_path: Path, threads: distributed.Client) -> None:
    text = (plant / "rig.toml").read_text()
    (tmp_path / "rig.toml").write_text(text.replace("J = 0.063", "J = { value = 0.063, learn = true }"))
    with pytest.raises(tu.TinyUDEError, match="J is to be learned"):
        tu.fleet.fit_pooled(template(plant), tmp_path / "rig.toml", terms=TERMS, client=threads)
    with pytest.raises(tu.TinyUDEError, match="arm-900"):  # a broken file: a part of a log is not the log
        tu.fleet.fit_pooled(template(plant), plant / "rig.toml", terms=TERMS, client=threads)


def test_report_of_a_stored_unit(fitted: Path, tmp_path: Path) -> None:
    model = fitted / pl.read_parquet(fitted / "units.parquet")["model"][0]
    done = CliRunner().invoke(app, ["report", str(model), "--out", str(tmp_path / "arm.html")])
    assert done.exit_code == 0 and "tanh(20" in (tmp_path / "arm.html").read_text()


def test_killed_worker_loses_nothing_and_repeats_nothing(plant: Path, tmp_path: Path) -> None:
    killed: list[int] = []
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0", silence_logs=50) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):

        def kill(what: str, done: int, total: int) -> None:
            if what == "fitting" and done == 3 and not killed:
                killed.append(next(iter(cluster.workers.values())).pid)
                os.kill(killed[0], signal.SIGKILL)

        found = fit_plant(plant, out=tmp_path, client=client, progress=kill)
    assert killed
    assert found.units.height == MACHINES * WEEKS + 3 == len(results(tmp_path))
    assert found.units.filter(pl.col("status") == "ok").height == MACHINES * WEEKS
    assert found.units.select("machine", "period").is_unique().all()


@contextmanager
def running(*command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program of Dask's own command line, ended with the block."""
    options = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen([sys.executable, "-m", "distributed.cli." + command[0], *command[1:]], **options)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@contextmanager
def hand_made_cluster(folder: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """`dask scheduler` and two `dask worker`: the address and the scheduler's process."""
    file = folder / "scheduler.json"
    place = ("--scheduler-file", str(file))
    work = (
        "dask_worker",
        *place,
        "--nworkers",
        "1",
        "--nthreads",
        "1",
        "--no-dashboard",
        "--no-nanny",
        "--lifetime",
        "600",
    )
    with (
        running(
            "dask_scheduler", *place, "--port", "0", "--no-dashboard", "--host", "127.0.0.1", "--idle-timeout", "600"
        ) as scheduler,
        running(*work, "--local-directory", str(folder / "one")),
        running(*work, "--local-directory", str(folder / "two")),
    ):
        until(lambda: file.exists() and file.stat().st_size > 0, "no scheduler")
        yield json.loads(file.read_text())["address"], scheduler


def test_scheduler_by_hand_that_dies_is_told_and_the_run_resumes(
    plant: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with hand_made_cluster(tmp_path / "a") as (address, scheduler):

        def kill(what: str, done: int, total: int) -> None:
            if what == "fitting" and done == 4:
                scheduler.kill()

        with pytest.raises(tu.TinyUDEError, match="scheduler is gone"):
            fit_plant(plant, out=out, scheduler=address, progress=kill)
    assert "Traceback" not in capfd.readouterr().err  # it is told once, in one line
    kept = {path: stamp for path, stamp in results(out).items() if "arm-9" not in path}
    assert 3 <= len(kept) < MACHINES * WEEKS + 3
    with hand_made_cluster(tmp_path / "b") as (address, _):
        command = ["fleet", template(plant), "--physics", str(plant / "rig.toml"), "--out", str(out), "--no-refine"]
        done = CliRunner().invoke(
            app, [*command, "--terms", ", ".join(TERMS), "--scheduler", address, "--json", str(tmp_path / "f.json")]
        )
    assert done.exit_code == 0, done.output
    assert {path: results(out)[path] for path in kept} == kept
    assert re.search(rf"arm-{CHANGED:04d}: the coefficient of tanh\(20\*omega\) stepped up", done.output)
    assert "logs without a result" in done.output and len(results(out)) == MACHINES * WEEKS + 3
    assert list((out / "reports").rglob("*.html"))  # of the flagged machine
    figures = json.loads((tmp_path / "f.json").read_text())
    assert figures["machines"][f"arm-{CHANGED:04d}"]["state"] == "act" and len(figures["failed"]) == 3


def test_fit_says_that_no_scheduler_answers(plant: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyude.fleet.cluster.CONNECT", "1s")
    with pytest.raises(tu.TinyUDEError, match=r"No scheduler answers at tcp://127.0.0.1:9 .*dask scheduler"):
        fit_plant(plant, scheduler="tcp://127.0.0.1:9")


def test_fit_rejects_wrong_terms_and_addresses_before_any_work(plant: Path) -> None:
    with pytest.raises(tu.TinyUDEError, match="unknown function"):
        tu.fleet.fit(template(plant), plant / "rig.toml", terms=["foo(omega)"], scheduler="tcp://127.0.0.1:9")
    with pytest.raises(tu.TinyUDEError, match="head has no port"):
        tu.fleet.fit(template(plant), plant / "rig.toml", terms=TERMS, scheduler="head")
