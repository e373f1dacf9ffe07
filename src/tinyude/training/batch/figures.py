"""A batch fit in the figures that every fit has: windows, counts, scales, as a streaming learner would state them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.windows import Visited
from tinyude.reference.signal.gates import REASONS
from tinyude.training.batch.fit import BatchResult
from tinyude.training.batch.windows import STEP

Array = NDArray[Any]

NEARLY_ALL = 0.8  # of the record, that windows of the half width stated cover


def usual_half(result: BatchResult) -> int:
    """The longest half width that nearly all of the record allows: what one window length for all of it would be."""
    halves = np.sort(result.targets.half)[::-1]
    time = np.maximum(1, halves // STEP)
    enough = np.flatnonzero(np.cumsum(time) >= NEARLY_ALL * time.sum())
    return int(halves[enough[0]])


def batch_state(result: BatchResult) -> dict[str, Any]:
    """What diagnostics, scores and boards read of a learner's state."""
    counts, model = result.counts, result.best.model
    rejected = np.array([counts.rejected.get(reason, 0) for reason in REASONS])
    return {
        "calibrated": 1,
        "window_half": usual_half(result),
        "window_spacing": 1,
        "second_order": 0.0,
        "snr2": 0.0,
        "sigma_scale": 1.0,
        "sigma": result.noise.sigma,
        "step": result.noise.step,
        "x_scale": model.x_scale,
        "dx_scale": model.dx_scale,
        "u_scale": model.u_scale,
        "deficient": result.deficient,
        "samples": counts.samples,
        "filled": counts.filled,
        "replaced": counts.outliers,
        "windows": result.targets.count + int(rejected.sum()),
        "accepted": result.targets.count,
        "rejected": rejected,
        "updates": 0,
        "rolled_back": 0,
        "recalibrations": 0,
        "changes": len(result.changes),
        "changed_at": np.round(np.array(result.changes) / result.targets.layout.period).astype(np.int64),
    }


def batch_visited(result: BatchResult, most: int) -> Visited:
    """About `most` windows of the usual length or longer, spread over the record; their centre stands for the nodes."""
    targets = result.targets
    usual = np.flatnonzero(targets.half >= usual_half(result))
    some = usual[:: max(1, len(usual) // most)]
    x, dx, u = targets.x[some], targets.dx[some], targets.u[some]
    return Visited(x, dx, u, x[:, None], u[:, None], np.ones((1, x.shape[1])))
