"""A measured double pendulum with a motor in each joint, against its authors' identified parameters."""

import tinyude as tu


def test_real_torque_double_pendulum_beats_its_authors_model(folder, example) -> None:
    torque = example("real_torque_double_pendulum")
    record = tu.datasets.torque_double_pendulum(folder)
    run = torque.angles_and_commands(record)
    ude = torque.fit(record, run, hidden=())
    held_out = run.between(*torque.HELD_OUT[0])
    _, learned = torque.free_run(ude.simulate, held_out)
    _, white_box = torque.free_run(torque.white_box(torque.authors(record)), held_out)
    assert learned < 0.08 and learned < 0.5 * white_box
