"""A measured double pendulum with a motor in each joint, against its authors' identified parameters."""

from collections.abc import Mapping

import numpy as np
import pytest

import tinyude as tu


def first_joint_friction(parameters: Mapping[str, float], speed: float) -> float:
    """The motion has one rhythm, in which viscous and dry friction cannot be told apart: their sum can."""
    return parameters["b1"] * speed + parameters["cf1"] * float(np.arctan(100.0 * speed))


def test_real_torque_double_pendulum_beats_its_authors_model(folder, example) -> None:
    torque = example("real_torque_double_pendulum")
    record = tu.datasets.torque_double_pendulum(folder)
    run = torque.angles_and_commands(record)
    ude = torque.fit(record, run, hidden=())
    held_out = run.between(*torque.HELD_OUT[0])
    _, learned = torque.free_run(ude.simulate, held_out)
    _, white_box = torque.free_run(torque.white_box(torque.authors(record)), held_out)
    assert learned < 0.08 and learned < 0.5 * white_box
    found = {name: value for name, value, _, _ in ude.diagnostics_["parameters"]}
    speed = float(np.sqrt(np.mean(np.gradient(run.Y[:, 0], run.t) ** 2)))
    assert first_joint_friction(found, speed) == pytest.approx(first_joint_friction(record.parameters, speed), rel=0.3)
