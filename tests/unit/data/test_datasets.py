"""Published records: found in a folder by their hash, else fetched; rejected in words when neither works."""

import hashlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pooch
import pytest
from scipy.io import savemat

import tinyude as tu
from tinyude import datasets

CSV = "time,position,velocity,torque\n0.0,0.1,0.0,0.5\n0.005,0.2,1.0,0.25\n0.01,0.3,1.5,0.0\n"


@pytest.fixture
def published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that holds a small stand-in for the motor's record, under its name and with its hash."""
    sha256 = hashlib.sha256(CSV.encode()).hexdigest()
    stand_in = replace(datasets.MOTOR["energy_shaping"], sha256=sha256)
    monkeypatch.setitem(datasets.MOTOR, "energy_shaping", stand_in)
    path = tmp_path / stand_in.local
    path.parent.mkdir()
    path.write_text(CSV)
    return tmp_path


@pytest.fixture
def offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def reject(*arguments: object, **options: object) -> str:
        raise ConnectionError("no route to host")

    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr(pooch, "retrieve", reject)


def test_motor_pendulum_reads_times_samples_and_inputs(published: Path) -> None:
    record = tu.datasets.motor_pendulum(folder=published)
    (run,) = record.runs
    assert run.t.tolist() == [0.0, 0.005, 0.01]
    assert run.Y.tolist() == [[0.1, 0.0], [0.2, 1.0], [0.3, 1.5]] and run.u.tolist() == [[0.5], [0.25], [0.0]]
    assert record.columns == ("position", "velocity") and record.units["torque"] == "N m"
    assert record.licence.startswith("BSD") and record.parameters["Fc"] == pytest.approx(0.1839)


def test_between_keeps_rows_from_start_up_to_stop(published: Path) -> None:
    part = tu.datasets.motor_pendulum(folder=published).runs[0].between(0.005, 0.01)
    assert part.t.tolist() == [0.005] and part.Y.shape == (1, 2) and part.u.shape == (1, 1)


def test_datasets_take_the_folder_from_the_environment(published: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(published / "dfki_simple_pendulum"))  # or its parent
    assert len(tu.datasets.motor_pendulum().runs[0].t) == 3


def test_datasets_reject_a_changed_file(published: Path) -> None:
    path = published / datasets.MOTOR["energy_shaping"].local
    path.write_text(CSV.replace("0.1", "0.7"))
    with pytest.raises(tu.TinyUDEError, match=r"energy_shaping_measured\.csv is not the published record.*SHA-256"):
        tu.datasets.motor_pendulum(folder=published)


@pytest.mark.parametrize("load", ["multiarm_single", "multiarm_double", "motor_pendulum", "torque_double_pendulum"])
def test_datasets_without_network_say_what_to_fetch_and_where_to_put_it(
    load: str, offline: None, tmp_path: Path
) -> None:
    with pytest.raises(tu.TinyUDEError) as caught:
        getattr(tu.datasets, load)(folder=tmp_path)
    said = str(caught.value)
    assert "https://raw.githubusercontent.com/" in said and "ConnectionError" in said
    assert "folder=" in said and "TINYUDE_DATA" in said


def test_datasets_reject_a_download_with_another_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def forged(url: str, known_hash: str, *where: object) -> str:
        raise ValueError(f"SHA256 hash of downloaded file does not match the known hash: {known_hash}")

    monkeypatch.setattr(pooch, "retrieve", forged)
    with pytest.raises(tu.TinyUDEError, match=r"not the published record.*known hash: 94f17287"):
        tu.datasets.torque_double_pendulum(folder=tmp_path)


def test_motor_pendulum_rejects_an_unknown_experiment() -> None:
    with pytest.raises(tu.TinyUDEError, match=r"'swing'; use one of energy_shaping, gravity_compensation"):
        tu.datasets.motor_pendulum("swing")


@pytest.mark.parametrize(
    ("load", "file", "angles"),
    [("multiarm_single", "SINGLE", ["theta"]), ("multiarm_double", "DOUBLE", ["theta1", "theta2"])],
)
def test_multiarm_reads_angles_of_every_run_and_no_rates(
    load: str, file: str, angles: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file has signals in rows, angles first, then as many rates; runs to learn from and runs held out."""
    signals = 2 * len(angles)
    cells = {}
    for key, lengths in {"Y_id": (4, 3), "Y_vad": (5,)}.items():
        cells[key] = np.empty((1, len(lengths)), dtype=object)
        for k, rows in enumerate(lengths):
            cells[key][0, k] = 10.0 * k + np.arange(signals * rows, dtype=float).reshape(signals, rows)
    published = getattr(datasets, file)
    path = tmp_path / Path(published.local).name
    savemat(path, cells | {"dt": 1e-3})
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(datasets, file, replace(published, sha256=sha256))
    record = getattr(tu.datasets, load)(folder=tmp_path)
    assert list(record.columns) == angles and record.units == dict.fromkeys(angles, "rad")
    assert [len(run.t) for run in record.runs] == [4, 3] and [len(run.t) for run in record.held_out] == [5]
    assert record.runs[1].Y.tolist() == [[row + 3.0 * k for k in range(len(angles))] for row in (10.0, 11.0, 12.0)]
    assert record.runs[1].t == pytest.approx([0.0, 0.001, 0.002])


def test_torque_double_pendulum_reads_positions_rates_and_both_kinds_of_torques(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By name: the file has its columns in another order, and others between them."""
    names = [f"{kind}{joint}" for kind in ("tau_meas", "vel_meas", "pos_meas", "tau_con", "pos_des") for joint in "21"]
    path = tmp_path / Path(datasets.TORQUE_DOUBLE.local).name
    rows = [["time", *names], ["0.0", *map(str, range(10))], ["0.002", *"0" * 10]]
    path.write_text("".join(",".join(row) + "\n" for row in rows))
    sha256 = hashlib.sha256(path.read_bytes()).hexdigest()
    monkeypatch.setattr(datasets, "TORQUE_DOUBLE", replace(datasets.TORQUE_DOUBLE, sha256=sha256))
    record = tu.datasets.torque_double_pendulum(folder=tmp_path)
    (run,) = record.runs
    assert run.t.tolist() == [0.0, 0.002]
    assert run.Y[0].tolist() == [names.index(name) for name in record.columns] == [5.0, 4.0, 3.0, 2.0]
    assert run.u[0].tolist() == [names.index(name) for name in record.inputs] == [7.0, 6.0, 1.0, 0.0]
    assert (record.units["pos_meas1"], record.units["vel_meas2"], record.units["tau_con1"]) == ("rad", "rad/s", "N m")
