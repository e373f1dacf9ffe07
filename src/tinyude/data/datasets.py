"""Measured records of real machines, fetched once from where their authors published them and checked by SHA-256."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.log import Log
from tinyude.data.tables import read_table
from tinyude.errors import TinyUDEError

Array = NDArray[np.float64]

FOLDER_VARIABLE = "TINYUDE_DATA"

_MULTIARM = "dynamicslab/MultiArm-Pendulum/e99a7e13fe2adc8fc647321a156b6cb59a48a698/ParameterEstimation"
_SIMPLE = "dfki-ric-underactuated-lab/torque_limited_simple_pendulum/ed17ea2d32a35ad944944ca03ef57693e2986732/results"
_DOUBLE = "dfki-ric-underactuated-lab/double_pendulum/1e8544e67f3da72a51ee52fbbb278e131ce2a43f/data"
_MIT = "MIT, (c) 2022 dynamicslab; cite Kaheman et al., arXiv:2205.06231"
_BSD = "BSD-3-Clause, (c) DFKI RIC Underactuated Robotics Lab"


@dataclass(frozen=True)
class Dataset:
    """A record with what its authors say about it; `units` covers columns and inputs."""

    name: str
    runs: Sequence[Log]
    columns: tuple[str, ...]
    units: Mapping[str, str]
    licence: str
    source: str
    inputs: tuple[str, ...] = ()
    held_out: Sequence[Log] = ()  # what the authors validated with
    parameters: Mapping[str, float] = field(default_factory=dict)  # as the authors identified them


@dataclass(frozen=True)
class RemoteFile:
    """A published file: `local` is where it lies below a data folder, `place` where it lies on GitHub."""

    local: str
    place: str
    sha256: str

    @property
    def url(self) -> str:
        return f"https://raw.githubusercontent.com/{self.place}"


SINGLE = RemoteFile(
    "multiarm_pendulum/SinglePendulumDataForParameterEstimation.mat",
    f"{_MULTIARM}/SinglePendulum/SinglePendulumDataForParameterEstimation.mat",
    "f3b8cdda4a6e86405ec37ff32b98be76fd37806a609cba7870628c1e40377a98",
)
DOUBLE = RemoteFile(
    "multiarm_pendulum/DoublePendulumDataForParameterEstimation.mat",
    f"{_MULTIARM}/DoublePendulum/DoublePendulumDataForParameterEstimation.mat",
    "4bf9e4006aa83b2b003295ac1b1946717eec87d76873834d6248683aca419902",
)
MOTOR = {
    "energy_shaping": RemoteFile(
        "dfki_simple_pendulum/energy_shaping_measured.csv",
        f"{_SIMPLE}/control_method_energy_shaping/data_measured.csv",
        "e1844e56f87cf763bdecb3f6f7e5b622a9a3b2d71e907b48ed6148b0a059c209",
    ),
    "gravity_compensation": RemoteFile(
        "dfki_simple_pendulum/gravity_compensation_measured.csv",
        f"{_SIMPLE}/control_method_gravity_compensation/data_measured.csv",
        "1d15acddde86dbe513418bc964cfac8230c3d2afa4d088a2ba9fd94b68da0c78",
    ),
}
TORQUE_DOUBLE = RemoteFile(
    "dfki_double_pendulum/C1_sysid_torque_143339.csv",
    f"{_DOUBLE}/experiment_records/design_C.1/sys_id/20230629/20230629-143339/trajectory.csv",
    "94f17287b53187dfe8f4ce131f4e7c49918309fcc915cbae2f64ed3101e7c23b",
)


def multiarm_single(folder: str | Path | None = None) -> Dataset:
    """A pendulum swinging freely, 1 kHz: four swings of 9.17 s and two held out. Angle from upright: pi hangs down.

    The authors' angular rates are filtered derivatives of the angle, not measurements, and are left out.
    """
    parameters = {"m1": 0.147754901, "a1": 0.147584572, "I1": 1.09118505e-4, "k1": 2.23940125e-4, "g": 9.8100131}
    return _multiarm("MultiArm-Pendulum, one arm", SINGLE, ("theta",), parameters, folder)


def multiarm_double(folder: str | Path | None = None) -> Dataset:
    """A chaotic double pendulum swinging freely, 1 kHz: 26 stretches of 2.667 s and the four that follow, held out.

    Both angles are absolute, from upright; the rates are left out as in `multiarm_single`.
    """
    parameters = {
        "m1": 9.38439748e-2, "m2": 0.13759597, "a1": 0.108565215, "a2": 0.116779018, "L1": 0.172719204,
        "I1": 4.3752943e-4, "I2": 1.26882939e-3, "k1": 2.37142783e-4, "k2": 1.00000019e-5, "g": 9.80858023,
    }  # fmt: skip
    return _multiarm("MultiArm-Pendulum, two arms", DOUBLE, ("theta1", "theta2"), parameters, folder)


def motor_pendulum(experiment: str = "energy_shaping", folder: str | Path | None = None) -> Dataset:
    """A pendulum driven by a motor, with a coarse encoder (2.9 mrad a step); angle from hanging down.

    "energy_shaping": a swing-up at 200 Hz, pushed by hand now and then; "gravity_compensation": 1 kHz, moved by hand.
    The parameters were identified by the authors in another experiment, with a lighter pendulum:
    tau = J dw/dt + m_cx g sin(q) + Fv w + Fc atan(100 w) + offset.
    """
    if experiment not in MOTOR:
        raise TinyUDEError(f"experiment is {experiment!r}; use one of {', '.join(MOTOR)}.")
    table = read_table(_local_copy(MOTOR[experiment], folder))
    return Dataset(
        f"motor-driven pendulum, {experiment.replace('_', ' ')}",
        [_run(table, ("position", "velocity"), ("torque",))],
        columns=("position", "velocity"),
        inputs=("torque",),
        units={"position": "rad", "velocity": "rad/s", "torque": "N m"},
        licence=_BSD,
        source=MOTOR[experiment].url,
        parameters={"J": 6.259e-2, "m_cx": 0.1022, "Fv": 4.707e-2, "Fc": 0.1839, "offset": -7.586e-2, "g": 9.81},
    )


def torque_double_pendulum(folder: str | Path | None = None) -> Dataset:
    """A double pendulum with a motor in each joint, 500 Hz, 10 s; the second angle is relative to the first arm.

    Inputs are the torques commanded, then those the motors report. Parameters: design C.1, model 1.0, in which
    friction is b w + cf atan(100 w) in each joint.
    """
    columns = ("pos_meas1", "pos_meas2", "vel_meas1", "vel_meas2")
    inputs = ("tau_con1", "tau_con2", "tau_meas1", "tau_meas2")
    units = {"pos": "rad", "vel": "rad/s", "tau": "N m"}
    return Dataset(
        "torque-driven double pendulum",
        [_run(read_table(_local_copy(TORQUE_DOUBLE, folder)), columns, inputs)],
        columns=columns,
        inputs=inputs,
        units={name: units[name[:3]] for name in (*columns, *inputs)},
        licence=_BSD,
        source=TORQUE_DOUBLE.url,
        parameters={
            "m1": 0.5234602302310271, "m2": 0.6255677234174437, "l1": 0.2, "l2": 0.3, "r1": 0.2,
            "r2": 0.25569305436052964, "I1": 0.031887199591513114, "I2": 0.05086984812807257,
            "Ir": 6.287203962819607e-5, "gr": 6.0, "b1": 0.001, "b2": 0.001, "cf1": 0.16, "cf2": 0.12, "g": 9.81,
        },
    )  # fmt: skip


def _multiarm(
    name: str, file: RemoteFile, angles: tuple[str, ...], parameters: Mapping[str, float], folder: str | Path | None
) -> Dataset:
    from scipy.io import loadmat

    cells = loadmat(_local_copy(file, folder))
    period = float(cells["dt"].item())

    def runs(key: str) -> list[Log]:
        series = [np.asarray(cell[: len(angles)].T, dtype=np.float64) for cell in cells[key].ravel()]
        return [Log(np.arange(len(Y), dtype=np.float64) * period, Y) for Y in series]

    return Dataset(
        name,
        runs("Y_id"),
        columns=angles,
        units=dict.fromkeys(angles, "rad"),
        licence=_MIT,
        source=file.url,
        held_out=runs("Y_vad"),
        parameters=parameters,
    )


def _run(table: Mapping[str, Any], columns: Sequence[str], inputs: Sequence[str]) -> Log:
    def signals(names: Sequence[str]) -> Array:
        return np.column_stack([table[name] for name in names]).astype(np.float64)

    return Log(np.asarray(table["time"], dtype=np.float64), signals(columns), signals(inputs))


def _local_copy(file: RemoteFile, folder: str | Path | None) -> Path:
    """The file in the given folder (or the one that TINYUDE_DATA names) if it lies there, else fetched into a cache."""
    import pooch

    named = folder if folder is not None else os.environ.get(FOLDER_VARIABLE)
    if named:
        for path in (Path(named) / file.local, Path(named) / Path(file.local).name):
            if path.is_file():
                found = pooch.file_hash(str(path))
                if found != file.sha256:
                    raise TinyUDEError(
                        f"{path} is not the published record: its SHA-256 is {found}, not {file.sha256}; "
                        f"replace it by that of {file.url}."
                    )
                return path
    target = pooch.os_cache("tinyude") / file.local
    try:
        return Path(pooch.retrieve(file.url, file.sha256, target.name, target.parent))
    except ValueError as error:
        raise TinyUDEError(
            f"The file from {file.url} is not the published record ({error}); try again later."
        ) from None
    except OSError as error:  # no network, no such page, no place to write
        raise TinyUDEError(
            f"{target.name} could not be downloaded from {file.url} ({type(error).__name__}); download it and name "
            f"its folder with folder= or the environment variable {FOLDER_VARIABLE}."
        ) from None
