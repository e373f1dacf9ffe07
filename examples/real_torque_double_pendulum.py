"""A real double pendulum with a motor in each joint, 500 Hz, angles only: friction and the motors' real torque.

    python examples/real_torque_double_pendulum.py [FOLDER]     downloaded unless FOLDER or TINYUDE_DATA has the record
    python examples/real_torque_double_pendulum.py --table      three draws of added noise (two minutes)

The record and the identified parameters are those of the double pendulum of the DFKI RIC Underactuated Robotics Lab
(design C.1, model 1.0; BSD-3-Clause).
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from real_runs import Log, command_line, error_table, free_run, learned_rows, noisy, show_table, white_box

import tinyude as tu
from tinyude.data.datasets import Dataset

TRAINING = (0.0, 6.0)  # s
HELD_OUT = ((6.0, 8.0), (8.0, 10.0))
LEARNED = {"b1": 0.0, "b2": 0.0, "cf1": 0.1, "cf2": 0.1, "e1": 1.0, "e2": 1.0}  # first guesses


def angles_and_commands(record: Dataset) -> Log:
    (run,) = record.runs
    return Log(run.t, run.Y[:, :2], run.u[:, :2])


def physics(parameters: dict[str, float | tu.Parameter]) -> tu.Physics:
    """The authors' equations, with the second angle relative to the first arm, and the motors' effectiveness e."""
    states = q1, q2, w1, w2 = sp.symbols("q1 q2 w1 w2")
    tau1, tau2 = sp.symbols("tau1 tau2")
    m1, m2, l1, r1, r2, I1, I2, Ir, gr, g = sp.symbols("m1 m2 l1 r1 r2 I1 I2 Ir gr g")
    b1, b2, cf1, cf2, e1, e2 = sp.symbols("b1 b2 cf1 cf2 e1 e2")
    reach, swirl = m2 * l1 * r2 * sp.cos(q2), m2 * l1 * r2 * sp.sin(q2)
    coupling = I2 + reach - gr * Ir
    inertia = sp.Matrix([
        [I1 + I2 + m2 * l1**2 + 2 * reach + (gr**2 + 1) * Ir, coupling],
        [coupling, I2 + gr**2 * Ir],
    ])  # fmt: skip
    pull2 = m2 * g * r2 * sp.sin(q1 + q2)
    pull1 = (m1 * r1 + m2 * l1) * g * sp.sin(q1) + pull2
    torque = sp.Matrix([
        e1 * tau1 - b1 * w1 - cf1 * sp.atan(100 * w1) - pull1 + swirl * (2 * w1 * w2 + w2**2),
        e2 * tau2 - b2 * w2 - cf2 * sp.atan(100 * w2) - pull2 - swirl * w1**2,
    ])  # fmt: skip
    accelerations = inertia.adjugate() * torque / inertia.det()
    return tu.Physics(states, [w1, w2, *accelerations], inputs=[tau1, tau2], parameters=parameters)


def authors(record: Dataset, friction: bool = True) -> tu.Physics:
    unused = {} if friction else dict.fromkeys(("b1", "b2", "cf1", "cf2"), 0.0)
    return physics({**record.parameters, "e1": 1.0, "e2": 1.0, **unused})


def fit(record: Dataset, run: Log, **options: object) -> tu.UDE:
    learned = {name: tu.Parameter(guess, learn=True) for name, guess in LEARNED.items()}
    part = run.between(*TRAINING)
    ude = tu.UDE(physics({**record.parameters, **learned}), measured=["q1", "q2"], **options)
    return ude.fit(part.Y, t=part.t, u=part.u)


def errors(record: Dataset, share: float, seed: int) -> np.ndarray:
    """RMSE / std of free runs over the held-out seconds."""
    clean = angles_and_commands(record)
    (seen,) = noisy([clean], share, seed)
    ude = fit(record, seen, random_state=seed)
    return np.array([free_run(ude.simulate, seen.between(*part), clean.between(*part))[1] for part in HELD_OUT])


def picture(ude: tu.UDE, record: Dataset) -> None:
    run = angles_and_commands(record).between(*HELD_OUT[1])
    models = {"authors' parameters": (white_box(authors(record)), "#D55E00"), "TinyUDE": (ude.simulate, "#0072B2")}
    figure, axes = plt.subplots(2, 1, figsize=(9, 5), sharex=True, layout="constrained")
    runs = {name: (*free_run(simulate, run), colour) for name, (simulate, colour) in models.items()}
    for number, axis in enumerate(axes):
        axis.plot(run.t, run.Y[:, number], color="#999999", lw=4, label="measured")
        for name, (predicted, error, colour) in runs.items():
            axis.plot(run.t, predicted[:, number], color=colour, lw=1.2, label=f"{name}, RMSE / std = {error:.3f}")
        axis.set_ylabel(f"angle {number + 1} [rad]")
    axes[0].margins(y=0.2)
    axes[0].legend(loc="upper center", ncols=3, fontsize=8)
    axes[1].set_xlabel("time [s]")
    figure.suptitle("free run over the last two seconds")
    figure.savefig("real_torque_double_pendulum.png", dpi=100)
    print("wrote real_torque_double_pendulum.png")


def main() -> None:
    folder, table, write = command_line()
    record = tu.datasets.torque_double_pendulum(folder)
    if table:
        parts, rows = [angles_and_commands(record).between(*part) for part in HELD_OUT], []
        for name, friction in (("no friction", False), ("the authors' parameters and friction", True)):
            model = white_box(authors(record, friction))
            rows.append((name, "none", [free_run(model, part)[1] for part in parts]))
        rows += learned_rows(lambda share, seed: errors(record, share, seed))
        show_table("real_torque_double_pendulum", error_table(["6 to 8 s", "8 to 10 s"], rows), write)
        return
    ude = fit(record, angles_and_commands(record))
    for name, value, low, high in ude.diagnostics_["parameters"]:
        print(f"{name} = {value:.3f} [{low:.3f}, {high:.3f}], identified by the authors: {record.parameters.get(name)}")
    picture(ude, record)


if __name__ == "__main__":
    main()
