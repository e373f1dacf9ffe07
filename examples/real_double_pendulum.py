"""A real chaotic double pendulum, angles only: what its authors' model lacks, learned from 69 s of swinging.

    python examples/real_double_pendulum.py [FOLDER]     the record is downloaded unless FOLDER or TINYUDE_DATA has it
    python examples/real_double_pendulum.py --table      three seeds, with noise added (a few minutes)

The record and the parameters are MultiArm-Pendulum's (Kaheman et al., arXiv:2205.06231; MIT licence).
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import sympy as sp
from real_runs import Log, command_line, error_table, free_run, learned_rows, noisy, show_table, white_box

import tinyude as tu
from tinyude.data.datasets import Dataset

PERIOD = 1e-3


def physics(record: Dataset, friction: bool) -> tu.Physics:
    """The authors' equations, angles from upright; without friction they are the learner's known physics."""
    states = theta1, theta2, omega1, omega2 = sp.symbols("theta1 theta2 omega1 omega2")
    m1, m2, a1, a2, L1, I1, I2, k1, k2, g = sp.symbols("m1 m2 a1 a2 L1 I1 I2 k1 k2 g")
    coupling = m2 * L1 * a2 * sp.cos(theta1 - theta2)
    swirl = m2 * L1 * a2 * sp.sin(theta1 - theta2)
    inertia = sp.Matrix([[m1 * a1**2 + I1 + m2 * L1**2, coupling], [coupling, m2 * a2**2 + I2]])
    torque = sp.Matrix([
        (m1 * a1 + m2 * L1) * g * sp.sin(theta1) - swirl * omega2**2,
        m2 * a2 * g * sp.sin(theta2) + swirl * omega1**2,
    ])  # fmt: skip
    if friction:
        torque -= sp.Matrix([k1 * omega1 + k2 * (omega1 - omega2), k2 * (omega2 - omega1)])
    accelerations = inertia.adjugate() * torque / inertia.det()
    return tu.Physics(states, [omega1, omega2, *accelerations], parameters=record.parameters)


def fit(record: Dataset, training: list[Log], seed: int = 0, **options: object) -> tu.UDE:
    """A network alone: the bearings' friction enters both accelerations in a way that no single term has."""
    options = {"library": None, "random_state": seed, **options}
    ude = tu.UDE(physics(record, friction=False), measured=["theta1", "theta2"], **options)
    return ude.fit([run.Y for run in training], t=PERIOD)


def errors(record: Dataset, share: float, seed: int, **options: object) -> np.ndarray:
    """RMSE / std of free runs over the held-out segments: of the learned model, then of the white box."""
    ude = fit(record, noisy(record.runs, share, seed), seed, **options)
    seen = noisy(record.held_out, share, seed + 100)
    models = (ude.simulate, white_box(physics(record, friction=True)))
    return np.array([
        free_run(model, run, truth)[1] for model in models for run, truth in zip(seen, record.held_out, strict=True)
    ])  # fmt: skip


def picture(ude: tu.UDE, record: Dataset) -> None:
    authors = white_box(physics(record, friction=True))
    figure, axes = plt.subplots(2, 2, figsize=(10, 5.5), sharex=True, layout="constrained")
    for row, run in zip(axes, (record.held_out[0], record.held_out[-1]), strict=True):
        learned, error = free_run(ude.simulate, run)
        white, white_error = free_run(authors, run)
        row[0].plot(run.t, run.Y[:, 1], color="#999999", lw=3, label="measured")
        row[0].plot(run.t, learned[:, 1], color="#0072B2", lw=1, label=f"TinyUDE, RMSE / std = {error:.4f}")
        row[0].set_ylabel("second angle [rad]")
        row[1].plot(run.t, 1e3 * (white - run.Y)[:, 1], color="#D55E00", lw=1, label=f"white box, {white_error:.4f}")
        row[1].plot(run.t, 1e3 * (learned - run.Y)[:, 1], color="#0072B2", lw=1, label=f"TinyUDE, {error:.4f}")
        row[1].set_ylabel("its error [mrad]")
        for axis in row:
            axis.margins(y=0.2)
            axis.legend(loc="upper center", ncols=2, fontsize=8)
    for axis in axes[-1]:
        axis.set_xlabel("time since the start of the held-out stretch [s]")
    figure.suptitle("free runs over the first and the last held-out stretch")
    figure.savefig("real_double_pendulum.png", dpi=100)
    print("wrote real_double_pendulum.png")


def main() -> None:
    folder, table, write = command_line()
    record = tu.datasets.multiarm_double(folder)
    if table:
        rows = learned_rows(lambda share, seed: errors(record, share, seed))
        header = [f"{who}, stretch {k}" for who in ("TinyUDE", "authors") for k in (1, 2, 3, 4)]
        show_table("real_double_pendulum", error_table(header, rows), write)
        return
    ude = fit(record, list(record.runs))
    print(ude.diagnostics_["network"], "of the learned residual is the network's")
    picture(ude, record)


if __name__ == "__main__":
    main()
