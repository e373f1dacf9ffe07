"""A real pendulum, angle only: its gravity parameter and the friction of its bearing, from four swings.

    python examples/real_pendulum.py [FOLDER]     the record is downloaded unless FOLDER or TINYUDE_DATA has it
    python examples/real_pendulum.py --table      three seeds, with noise added (a minute or two)

The record is MultiArm-Pendulum's (Kaheman et al., arXiv:2205.06231; MIT licence).
"""

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from real_runs import Log, command_line, error_table, free_run, learned_rows, noisy, show_table

import tinyude as tu

PERIOD = 1e-3


def fit(training: list[Log], seed: int = 0, **options: object) -> tu.UDE:
    physics = tu.Physics(
        states=["theta", "omega"],
        rhs=["omega", "k*sin(theta)"],  # hangs down at theta = pi
        parameters={"k": tu.Parameter(60.0, learn=True, min=10.0, max=200.0)},
    )
    # with a given number of updates, training does not stop early: the network's contribution is small, but real
    ude = tu.UDE(physics, measured=["theta"], **{"updates": 8000, "random_state": seed, **options})
    return ude.fit([run.Y for run in training], t=PERIOD)


def errors(record: tu.datasets.Dataset, share: float, seed: int, **options: object) -> list[float]:
    """RMSE / std of the free runs over the held-out swings, with noise added to all data that the model uses."""
    training = noisy(record.runs, share, seed)
    ude = fit(training, seed, **options)
    seen = noisy(record.held_out, share, seed + 100)
    return [free_run(ude.simulate, run, truth)[1] for run, truth in zip(seen, record.held_out, strict=True)]


def picture(ude: tu.UDE, record: tu.datasets.Dataset) -> None:
    figure, axes = plt.subplots(len(record.held_out), 1, figsize=(9, 5), sharex=True, layout="constrained")
    for axis, run in zip(axes, record.held_out, strict=True):
        predicted, error = free_run(ude.simulate, run)
        axis.plot(run.t, run.Y, color="#999999", lw=3, label="measured")
        axis.plot(run.t, predicted, color="#0072B2", lw=1, label=f"free run, RMSE / std = {error:.4f}")
        axis.set_ylabel("angle [rad]")
        axis.margins(y=0.3)
        axis.legend(loc="upper right", ncols=2)
    axes[-1].set_xlabel("time since the start of the held-out swing [s]")
    figure.savefig("real_pendulum.png", dpi=110)
    print("wrote real_pendulum.png")


def main() -> None:
    folder, table, write = command_line()
    record = tu.datasets.multiarm_single(folder)
    if table:
        rows = learned_rows(lambda share, seed: errors(record, share, seed))
        show_table("real_pendulum", error_table(["first swing", "second swing"], rows), write)
        return
    ude = fit(list(record.runs))
    print(ude)
    picture(ude, record)


if __name__ == "__main__":
    main()
