"""Two public benchmarks of nonlinear system identification: Silverbox and cascaded tanks (nonlinearbenchmark.org).

The records are not part of the package: put `SNLS80mV.mat` and `dataBenchmark.csv` into a folder and name it in
TINYUDE_BENCHMARKS. Fits see the estimation data alone; errors are of free simulations over the test data.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tinyude.baselines import GreyBox
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.experiments.experiment import Config, Outcome, Result, Summary, Table, Unit, number
from tinyude.physics import Parameter, Physics

NAME = "benchmarks"
TITLE = "Public benchmarks: Silverbox and cascaded tanks"
FOLDER_VARIABLE = "TINYUDE_BENCHMARKS"
FILES = ("SNLS80mV.mat", "dataBenchmark.csv")
RATE = 610.35  # Hz, of Silverbox
ARROW, TRAINING = slice(0, 40_000), slice(40_650, 127_000)  # rows: the test, and the ten multisines
DECAYED = 100  # rows of the arrow until the effect of the initial state has decayed
PERIOD, TANK_ROWS, LIMIT = 4.0, 1024, 10.0  # s, rows, V: where the level sensor saturates
STARTS = (0.5, 1.0, 2.0)  # factors on the guesses of the tanks' parameters
PUBLISHED = (
    ("Silverbox", "collected baselines", None, "Champneys et al. 2024, arXiv:2405.10779"),
    ("cascaded tanks", "NLSS2", 0.343, "Table 2 of doi:10.1155/2021/6613425"),
    ("cascaded tanks", "PNLSS-I", 0.450, "Table 2 of doi:10.1155/2021/6613425"),
    ("cascaded tanks", "Volterra", 0.540, "Table 2 of doi:10.1155/2021/6613425"),
    ("cascaded tanks", "best linear approximation", 0.757, "Table 2 of doi:10.1155/2021/6613425"),
)


def units(quick: bool) -> list[Unit]:
    starts = STARTS[1:2] if quick else STARTS
    arrow, levels = (record(name) is not None for name in FILES)  # part of the unit's cache key
    return [Unit(silverbox, {"benchmark": "silverbox", "at_hand": arrow}, 20.0)] + [
        Unit(tanks, {"benchmark": "tanks", "start": start, "at_hand": levels}, 10.0) for start in starts
    ]


def record(name: str) -> Path | None:
    """Path of a benchmark's file, or None if it is missing."""
    folder = os.environ.get(FOLDER_VARIABLE)
    path = Path(folder) / name if folder else None
    return path if path is not None and path.is_file() else None


def silverbox(config: Config) -> Result:
    """RMSE over the arrow in mV."""
    from scipy.io import loadmat

    path = record(FILES[0])
    if path is None:
        return {"missing": FILES[0]}
    data = loadmat(path)
    u, y = data["V1"].ravel(), data["V2"].ravel()
    ude = UDE(oscillator(), measured=["y"], hidden=(), library=["y**2", "y**3", "v*y", "v*y**2"])
    ude.fit(y[TRAINING], t=1.0 / RATE, u=u[TRAINING])
    grey = GreyBox(oscillator(), ["y"], hold="cubic").fit(y[TRAINING][:12_000], t=1.0 / RATE, u=u[TRAINING][:12_000])
    times = np.arange(ARROW.stop) / RATE
    errors = {}
    for name, model in (("error", ude), ("grey", grey)):
        run = model.simulate([y[0], 0.0], times, u[ARROW])[:, 0]
        errors[name] = 1e3 * _rms(run[DECAYED:] - y[ARROW][DECAYED:])
    return {**errors, "best": _best(ude), "equation": ude.equations()[1], "hold": ude.diagnostics_["holds"]["u"][0]}


def oscillator() -> Physics:
    """A linear oscillator with an input offset; the spring's stiffening is to be learned."""
    positive = {
        name: Parameter(guess, learn=True, min=0.0) for name, guess in (("w2", 1.6e5), ("d", 20.0), ("b", 1.6e5))
    }
    return Physics(
        ["y", "v"], ["v", "-w2*y - d*v + b*(u - u0)"], inputs=["u"],
        parameters={**positive, "u0": Parameter(0.0, learn=True)},
    )  # fmt: skip


def tanks(config: Config) -> Result:
    """RMSE over the whole validation record in V; the level sensor's limit is known."""
    path = record(FILES[1])
    if path is None:
        return {"missing": FILES[1]}
    data = np.genfromtxt(path, delimiter=",", skip_header=1)[:TANK_ROWS, :4]
    pump, pump_test, level, level_test = data.T
    guess = {"x1": (5.0, 3.0)}
    ude = UDE(two_tanks(config["start"]), measured=["x2"], unmeasured=guess, hold="held").fit(level, t=PERIOD, u=pump)
    errors: Result = {"error": _tank_error(ude, ude.states_.values[0, 0], pump_test, level_test)}
    try:
        grey = GreyBox(two_tanks(config["start"], overflow=False), ["x2"], unmeasured=guess, segment=TANK_ROWS)
        grey.fit(level, t=PERIOD, u=pump)
        errors["grey"] = _tank_error(grey, float(grey.start_[0]), pump_test, level_test)
    except TinyUDEError as error:  # square roots of negative levels
        errors["grey_failed"] = str(error)
    return {**errors, "best": _best(ude), "equation": "; ".join(ude.equations())}


def two_tanks(start: float, overflow: bool = True) -> Physics:
    """Torricelli's outflows; the upper tank overflows at 10 V, partly into the lower one."""
    spill = "(x1 - 10)*(1 + tanh((x1 - 10)/0.3))/2"
    rhs = ["-k1*sqrt(x1) + k4*u", "k2*sqrt(x1) - k3*sqrt(x2)"]
    guesses = dict.fromkeys(("k1", "k2", "k3", "k4"), 0.05 * start)
    if overflow:
        rhs = [f"{rhs[0]} - k5*{spill}", f"{rhs[1]} + k6*{spill}"]
        guesses |= {"k5": 0.1, "k6": 0.1}
    parameters = {name: Parameter(guess, learn=True, min=0.0) for name, guess in guesses.items()}
    return Physics(["x1", "x2"], rhs, inputs=["u"], parameters=parameters)


def _tank_error(model: Any, upper: float, pump: Any, level: Any) -> float:
    """Both records start from the same state: the upper level is the one estimated from the estimation record."""
    run = model.simulate([upper, level[0]], PERIOD * np.arange(len(level)), pump)[:, 1]
    return _rms(np.minimum(run, LIMIT) - level)


def _rms(values: Any) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


def _best(ude: UDE) -> str:
    return str(next(candidate.name for candidate in ude.candidates_ if candidate.best))


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows = [{**config, **result} for config, result in outcomes]
    missing = sorted({row["missing"] for row in rows if "missing" in row})
    notes = [f"{name} was not found: set {FOLDER_VARIABLE} to the folder that holds it." for name in missing]
    for row in rows:
        if "error" in row:
            unit, what = ("mV", "Silverbox") if row["benchmark"] == "silverbox" else ("V", "Cascaded tanks")
            start = f" from guesses x{row['start']:g}" if "start" in row else ""
            notes.append(
                f"{what}{start}: {number(row['error'])} {unit}; grey-box {number(row.get('grey'))} {unit}; kept: "
                f"{row['best']}."
            )
    return {"rows": rows, "quick": quick, "quick_words": "one start", "notes": notes}


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    rows = []
    for row in summary["rows"]:
        name = "Silverbox, arrow, mV" if row["benchmark"] == "silverbox" else "cascaded tanks, validation, V"
        start = f"x{row['start']:g}" if "start" in row else "-"
        rows.append([name, start, number(row.get("grey")), number(row.get("error")), row.get("equation", "-")])
    ours = Table(
        "Free simulation over the test data, RMSE", ["benchmark", "guesses", "grey-box", "TinyUDE", "model"], rows
    )
    published = [[name, method, number(value), source] for name, method, value, source in PUBLISHED]
    return [ours, Table("Published", ["benchmark", "method", "RMSE", "source"], published)]
