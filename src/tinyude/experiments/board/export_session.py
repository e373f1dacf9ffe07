"""Runs the commands of docs/export.md, a DC motor from its log to a board; each output is a generated block."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import polars as pl

from tinyude.errors import TinyUDEError

SECONDS, PERIOD, NOISE = 20.0, 1e-3, 0.005
MOTOR = """\
[states]
i = "(V - R*i - K*omega) / L"
omega = "K*i / J"
[measured]
i = "i"
omega = "omega"
[inputs]
V = "V"
[parameters]
R = 1.0
L = 0.05
K = 0.1
J = 0.001
"""
SESSIONS = {
    "session-physics": ["tinyude size --physics motor.toml --board rp2040"],
    "session-size": [
        "tinyude fit motor.csv --physics motor.toml --out motor.tinyude",
        "tinyude size motor.tinyude --ram 32k",
        "tinyude size motor.tinyude --ram 32k --no-network",
        "tinyude size motor.tinyude --ram 32k --no-network --kept-terms",
    ],
    "session-export": [
        "tinyude export motor.tinyude --target cortex-m --out motor-firmware --no-network",
        "make --silent -C motor-firmware",
    ],
    "session-predictor": [
        "tinyude export motor.tinyude --target cortex-m --out motor-predictor --inference-only",
        "make --silent -C motor-predictor STACK_BYTES=512",
    ],
}


def sessions() -> dict[str, str]:
    """Output of the commands, by block."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "motor.toml").write_text(MOTOR)
        motor_log().write_csv(folder / "motor.csv")
        return {
            name: f"```\n{''.join(_with_output(line, folder) for line in lines)}```" for name, lines in SESSIONS.items()
        }


def motor_log(seed: int = 0) -> pl.DataFrame:
    """A motor under voltage steps, with viscous and dry friction that its model lacks."""
    rng = np.random.default_rng(seed)
    rows, x, volt, parts = [], np.zeros(2), 0.0, 4
    for index in range(round(SECONDS / PERIOD)):
        volt = rng.uniform(-6.0, 6.0) if index % 250 == 0 else volt
        rows.append([*x, volt])
        for _ in range(parts):
            middle = x + PERIOD / parts / 2 * _field(x, volt)
            x = x + PERIOD / parts * _field(middle, volt)
    table = np.array(rows)
    table[:, :2] += NOISE * np.sqrt(np.mean(table[:, :2] ** 2, axis=0)) * rng.standard_normal((len(table), 2))
    return pl.DataFrame(
        {"time": PERIOD * np.arange(len(table)), **dict(zip(("i", "omega", "V"), table.T, strict=True))}
    )


def _field(x: np.ndarray, volt: float) -> np.ndarray:
    friction = 0.002 * x[1] + 0.01 * np.tanh(x[1])
    return np.array([(volt - 1.0 * x[0] - 0.1 * x[1]) / 0.05, (0.1 * x[0] - friction) / 0.001])


def _with_output(line: str, folder: Path) -> str:
    """The line after a prompt, and its output."""
    program, *arguments = line.split()
    command = [sys.executable, "-m", "tinyude", *arguments] if program == "tinyude" else [program, *arguments]
    environment = {**os.environ, "COLUMNS": "120", "NO_COLOR": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, env=environment)
    if done.returncode not in (0, 1, 3):
        raise TinyUDEError(f"{line!r} failed: {done.stderr.strip()[-500:]}; install what it needs.")
    printed = [] if arguments[0] == "fit" else done.stdout.rstrip().split("\n")  # the fit's report is shown elsewhere
    return "".join(f"{text.rstrip()}\n" for text in (f"$ {line}", *printed))
