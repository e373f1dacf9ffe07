"""A real pendulum on a motor, coarse encoder, angle only: the friction of the gear, from one swing-up of five seconds.

    python examples/real_motor_pendulum.py [FOLDER]     the record is downloaded unless FOLDER or TINYUDE_DATA has it
    python examples/real_motor_pendulum.py --table      three draws of added noise (a minute)

The records and the identified friction are those of the torque-limited simple pendulum of the DFKI RIC
Underactuated Robotics Lab (BSD-3-Clause).
"""

from dataclasses import replace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from real_runs import Log, command_line, error_table, free_run, learned_rows, noisy, show_table, white_box

import tinyude as tu
from tinyude.data.datasets import Dataset

MASS, LENGTH = 0.6755, 0.5  # kg, m: as in the authors' controllers of these records
SWING_UP = (0.0, 4.8)  # s; later the pendulum is pushed from upright by hand,
FALLS = ((8.0, 9.2), (12.6, 13.8), (16.4, 17.5))  # falls and is caught again: held out
COASTING = ((4.85, 5.4), (9.65, 10.4), (13.75, 14.4))  # s, gravity compensation: slows down after a push
FRICTION_TERMS = ["omega", "omega*abs(omega)", "tanh(10*omega)"]


def angle_only(record: Dataset) -> Log:
    return replace(record.runs[0], Y=record.runs[0].Y[:, :1])


def physics(learn_inertia: bool) -> tu.Physics:
    inertia = tu.Parameter(MASS * LENGTH**2, learn=learn_inertia, min=0.05, max=0.5)
    return tu.Physics(
        states=["theta", "omega"],
        rhs=["omega", "(tau - m*g*l*sin(theta))/J"],
        inputs=["tau"],
        parameters={"m": MASS, "l": LENGTH, "g": 9.81, "J": inertia},
    )


def fit(runs: list[Log], learn_inertia: bool = True) -> tu.UDE:
    """Friction terms only: in a swing-up the torque has the sign of the speed, so a weak motor looks like friction."""
    ude = tu.UDE(physics(learn_inertia), hidden=(), library=FRICTION_TERMS, measured=["theta"])
    return ude.fit([run.Y for run in runs], t=[run.t for run in runs], u=[run.u for run in runs])


def fit_swing_up(run: Log) -> tu.UDE:
    return fit([run.between(*SWING_UP)])


def every_fifth(run: Log) -> Log:
    """200 Hz instead of 1 kHz, at which most encoder readings are repeated."""
    return Log(run.t[::5], run.Y[::5], run.u[::5])


def authors(record: Dataset, friction: bool) -> tu.Physics:
    """This rig with or without the friction that the authors identified with a lighter pendulum."""
    identified = {name: record.parameters[name] if friction else 0.0 for name in ("Fv", "Fc", "offset")}
    return tu.Physics(
        states=["theta", "omega"],
        rhs=["omega", "(tau - m*g*l*sin(theta) - Fv*omega - Fc*atan(100*omega) - offset)/(m*l**2)"],
        inputs=["tau"],
        parameters={"m": MASS, "l": LENGTH, "g": 9.81, **identified},
    )


def errors(record: Dataset, share: float, seed: int) -> np.ndarray:
    """RMSE / std of free runs over the three falls."""
    clean = angle_only(record)
    (seen,) = noisy([clean], share, seed)
    ude = fit_swing_up(seen)
    return np.array([free_run(ude.simulate, seen.between(*fall), clean.between(*fall))[1] for fall in FALLS])


def friction_torque(ude: tu.UDE, speeds: np.ndarray) -> np.ndarray:
    """The learned residual as a torque at the motor's shaft, in N m."""
    states = np.column_stack([np.zeros_like(speeds), speeds])
    return -ude.model_.physics.parameters["J"].value * ude.residual(states, np.zeros((len(speeds), 1)))[:, 1]


def picture(record: Dataset, swing: tu.UDE, coast: tu.UDE) -> None:
    figure, (falls, friction) = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    run = angle_only(record)
    for number, fall in enumerate(FALLS):
        part = run.between(*fall)
        predicted, error = free_run(swing.simulate, part)
        t = part.t - part.t[0]
        falls.plot(t, part.Y - part.Y[0], color="#999999", lw=4, label="measured" if number == 0 else None)
        falls.plot(t, predicted - part.Y[0], lw=1.2, label=f"free run {number + 1}, RMSE / std = {error:.3f}")
    falls.set(xlabel="time since the start of the fall [s]", ylabel="angle since then [rad]", title="held-out falls")
    speeds = np.linspace(-8.0, 8.0, 401)
    found = record.parameters
    friction.plot(speeds, friction_torque(swing, speeds), color="#0072B2", label="learned: swing-up")
    friction.plot(speeds, friction_torque(coast, speeds), color="#009E73", label="learned: coasting")
    identified = found["Fv"] * speeds + found["Fc"] * np.arctan(100.0 * speeds)
    friction.plot(speeds, identified, "--", color="#D55E00", label="identified by the authors")
    friction.set(xlabel="speed [rad/s]", ylabel="friction [N m]", title="friction of the motor and its gear")
    for axis in (falls, friction):
        axis.legend(fontsize=8)
    figure.savefig("real_motor_pendulum.png", dpi=100)
    print("wrote real_motor_pendulum.png")


def main() -> None:
    folder, table, write = command_line()
    record = tu.datasets.motor_pendulum("energy_shaping", folder)
    if table:
        rows = []
        for name, friction in (("no friction", False), ("the authors' friction", True)):
            model = white_box(authors(record, friction))
            rows.append((name, "none", [free_run(model, angle_only(record).between(*fall))[1] for fall in FALLS]))
        rows += learned_rows(lambda share, seed: errors(record, share, seed))
        show_table("real_motor_pendulum", error_table(["first fall", "second fall", "third fall"], rows), write)
        return
    swing = fit_swing_up(angle_only(record))
    hand = angle_only(tu.datasets.motor_pendulum("gravity_compensation", folder))
    coast = fit([every_fifth(hand.between(*part)) for part in COASTING], learn_inertia=False)
    print(swing, coast, sep="\n\n")
    for name, ude in (("swing-up", swing), ("coasting", coast)):
        print(f"{name}: friction of {friction_torque(ude, np.array([2.0])).item():.3f} N m at 2 rad/s")
    picture(record, swing, coast)


if __name__ == "__main__":
    main()
