"""A measured pendulum on a motor: friction learned from a swing-up, against what its authors identified."""

import numpy as np
import pytest

import tinyude as tu


@pytest.mark.parametrize(("share", "limit"), [(0.0, 0.03), (0.001, 0.06)])
def test_real_motor_pendulum_free_runs_over_held_out_falls(share: float, limit: float, folder, example) -> None:
    motor = example("real_motor_pendulum")
    record = tu.datasets.motor_pendulum("energy_shaping", folder)
    run = motor.angle_only(record)
    authors = motor.white_box(motor.authors(record, friction=True))
    learned = motor.errors(record, share, seed=0)
    white_box = np.array([motor.free_run(authors, run.between(*fall))[1] for fall in motor.FALLS])
    assert np.all(learned < limit) and np.all(learned < 0.5 * white_box)


def test_real_motor_pendulum_friction_agrees_with_the_identified(folder, example) -> None:
    motor = example("real_motor_pendulum")
    record = tu.datasets.motor_pendulum("energy_shaping", folder)
    ude = motor.fit_swing_up(motor.angle_only(record))
    identified = record.parameters["Fc"] * np.pi / 2  # N m; atan saturates
    found = motor.friction_torque(ude, np.linspace(1.0, 5.0, 9)).mean()  # over the speeds of the swing-up
    assert found == pytest.approx(identified, rel=0.3)
    ((_, inertia, _, _),) = ude.diagnostics_["parameters"]
    assert inertia == pytest.approx(motor.MASS * motor.LENGTH**2, rel=0.05)


def test_gravity_compensation_torque_tells_the_weight(folder, example) -> None:
    """The weight that the examples take as known is the one that the motor holds up in the other record."""
    motor = example("real_motor_pendulum")
    run = motor.angle_only(tu.datasets.motor_pendulum("gravity_compensation", folder))
    pull = np.sin(run.Y[:, 0]) * 9.81
    assert pull @ run.u[:, 0] / (pull @ pull) == pytest.approx(motor.MASS * motor.LENGTH, rel=0.01)
