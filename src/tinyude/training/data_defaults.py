"""Data-dependent defaults, from a stream before anything is fitted."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.data.streams import Stream
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map
from tinyude.reference.config import Config
from tinyude.reference.numeric.elementary import TWO_PI
from tinyude.reference.signal.window import window_make

_FEWEST, _MOST = 20, 200  # stretches needed for the parabola test, and stretches used
_DOUBT = 3.0  # standard deviations by which noise alone may exceed its expected mean square


def rough_rms(physics: Physics, measured: Sequence[str] | None, stream: Stream) -> dict[str, float]:
    """RMS of each state, for the sharpness of a smooth sign; for an unmeasured rate, from coarse differences."""
    _, channel, order = measured_map(physics, measured)
    run = stream.longest
    lag = max(1, len(run.samples) // 400)
    values = {}
    for name, source, derivative in zip(physics.states, channel, order, strict=True):
        column = run.samples[:, source]
        for _ in range(derivative):
            column = (column[lag:] - column[:-lag]) / (lag * stream.period)
        missing = np.all(np.isnan(column))
        values[name] = 1.0 if missing else float(np.sqrt(np.nanmean(column**2))) or 1.0
    return values


def two_way(stream: Stream) -> list[str]:
    """Channels that take both signs, as a speed does and a level does not."""
    forward = np.nanmean(stream.longest.samples > 0.0, axis=0)
    return [name for name, share in zip(stream.names, forward, strict=True) if 0.05 < share < 0.95]


def rotating(stream: Stream) -> list[str]:
    """Channels that cover more than one revolution: only there does angle wrapping matter."""
    return [name for name, span in zip(stream.names, stream.span, strict=True) if span > TWO_PI]


def window_order(stream: Stream, half: int) -> int:
    """Order of the windows' polynomials: 2 where even the longest allowed windows fit a parabola.

    For a slow plant that is sampled fast: the windows cannot be longer, and fewer coefficients mean less noise. The
    third difference of neighbouring samples gives the noise.
    """
    rows, width = stream.longest.samples, 2 * half + 1
    count = min(len(rows) // width, _MOST)
    stretches = rows[: count * width].reshape(count, width, rows.shape[1])
    stretches = stretches[np.isfinite(stretches).all(axis=(1, 2))]
    if len(stretches) < _FEWEST:
        return Config.poly
    higher = window_make(half, 1, Config.poly, stream.period).rows[3:]
    found = np.einsum("kj,cji->kci", higher, stretches)
    noise = np.mean(np.diff(stretches, 3, axis=1) ** 2, axis=(0, 1)) / 20.0
    allowed = (1.0 + _DOUBT * np.sqrt(2.0 / len(stretches))) * noise * np.sum(higher**2, axis=1)[:, None]
    return 2 if np.all(np.mean(found**2, axis=1) < allowed) else Config.poly
