"""Free runs of a model, compared with the measured record."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import GAP
from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.model.dynamics import known_dynamics
from tinyude.model.simulation import free_runs
from tinyude.model.start_state import state_at

Array = NDArray[np.float64]

VALID_ERROR = 0.4  # standard deviations: the error beyond which a prediction is not valid
STILL = 1e-9  # of its largest value: the spread of a signal that does not move
LONGEST = 100_000  # samples of a free run, so that a log of any length is judged in bounded memory


def free_run(
    ude: Any, times: Array, reference: Array, *, name: str, x0: Array, u: Array | None = None
) -> dict[str, Any]:
    """A free run from x0 at times[0], compared with `reference`: columns of measured states, called `name`.

    The known physics alone, with the given values, is also simulated, up to its divergence.
    """
    physics = ude.model_.physics
    channels = list(ude.measured or physics.states)
    columns = [physics.states.index(channel) for channel in channels]
    states = ude.simulate(x0, times, u)
    model = states[:, columns]
    run = {
        "warnings": ude.extrapolation(states, u, times - times[0]),
        "states": states,
        "inputs": u,
        "t": times - times[0],
        "names": channels,
        "reference": reference,
        "reference_name": name,
        "model": model,
    }
    holds = ude.diagnostics_.get("holds", {})
    alone = free_runs(known_dynamics(ude.physics), np.atleast_2d(x0), times, ude.model_.x_scale, u, hold=holds)
    run["known"] = alone.states[0][:, columns]
    return run | run_scores(run["t"], model, reference)


def run_scores(t: Array, model: Array, reference: Array) -> dict[str, Any]:
    """RMSE over the standard deviation, by channel and over all, and the seconds until the prediction is invalid.

    The error of a constant signal is NaN, and left out of the overall error.
    """
    if not np.isfinite(reference).any(axis=0).all():
        raise TinyUDEError("A measured signal has no valid value in this stretch; choose another one.")
    spread = np.nanstd(reference, axis=0)
    moves = spread > STILL * np.nanmax(np.abs(reference), axis=0)
    square = ((model - reference) / np.where(moves, spread, 1.0)) ** 2
    known = np.isfinite(square) & moves
    square = np.where(known, square, 0.0)  # missing samples are left out
    lost = np.flatnonzero(square.sum(axis=1) > VALID_ERROR**2 * known.sum(axis=1))
    error = np.sqrt(square.sum(axis=0) / np.maximum(known.sum(axis=0), 1))
    return {
        "error": np.where(moves, error, np.nan),
        "total_error": float(np.sqrt(square.sum() / known.sum())) if known.any() else float("nan"),
        "valid_seconds": float(t[lost[0]] if len(lost) else t[-1]),
    }


def validate(ude: Any, log: Log) -> dict[str, Any]:
    """A free run over a gap-free log that the model has not seen."""
    half = float(ude.diagnostics_["window"]["half_width_seconds"])
    start = int(np.searchsorted(log.t, log.t[0] + half))  # the first time with a whole window around it
    if start >= len(log.t) - 1:
        raise TinyUDEError(f"The held-out log has {len(log.t)} samples in a row; it needs more than one window.")
    held = None if log.u is None else log.u[start:]
    x0 = state_at(ude, log, float(log.t[start]))
    return free_run(ude, log.t[start:], log.Y[start:], name="measured", x0=x0, u=held)


def longest_stretch(pieces: Iterable[Log], most: int = LONGEST) -> Log:
    """The longest part of a log without a gap in time, or the first that is long enough: at most `most` rows."""
    best: list[Log] = []
    stretch: list[Log] = []
    usual = 0.0
    for piece in pieces:
        if not len(piece.t):
            continue
        usual = usual or (float(np.median(np.diff(piece.t))) if len(piece.t) > 1 else 0.0)
        steps = np.diff(piece.t, prepend=stretch[-1].t[-1] if stretch else piece.t[:1])
        breaks = np.flatnonzero((steps <= 0.0) | (steps > GAP * usual))
        for number, rows in enumerate(np.split(np.arange(len(piece.t)), breaks)):
            stretch = [*(stretch if number == 0 else []), _rows(piece, rows)]
            best = max(best, stretch, key=_length)
            if _length(best) >= most:
                return _rows(_joined(best), slice(most))
    if not best:
        raise TinyUDEError("The held-out log has no valid time stamp; check its time column.")
    return _joined(best)


def _length(parts: list[Log]) -> int:
    return sum(len(part.t) for part in parts)


def _rows(log: Log, rows: Any) -> Log:
    return Log(log.t[rows], log.Y[rows], None if log.u is None else log.u[rows])


def _joined(parts: list[Log]) -> Log:
    inputs = [part.u for part in parts if part.u is not None]
    t, Y = np.concatenate([part.t for part in parts]), np.concatenate([part.Y for part in parts])
    return Log(t, Y, np.concatenate(inputs) if inputs else None)
