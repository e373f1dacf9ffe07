"""A batch fit in the figures that every fit has: windows, counts, scales, as a streaming learner would state them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.gates import REASONS
from tinyude.training.batch.accepted import usual_half
from tinyude.training.batch.fit import BatchResult

Array = NDArray[Any]


def batch_state(result: BatchResult) -> dict[str, Any]:
    """What diagnostics, scores and boards read of a learner's state."""
    counts, model = result.counts, result.best.model
    rejected = np.array([counts.rejected.get(reason, 0) for reason in REASONS])
    return {
        "calibrated": 1,
        "window_half": usual_half(result.targets.half),
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
