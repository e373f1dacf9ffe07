"""An angle and its rate both sensed: each coefficient of the angle's polynomial takes what the rate knows better.

The known equation theta' = omega holds exactly, so the rate's polynomial, integrated, is a second opinion on all of
the angle's but its mean. With L_j integrated to (L_{j+1} - L_{j-1}) / (2 j + 1), coefficient k of the integral is
T (w_{k-1} / (2 k - 1) - w_{k+1} / (2 k + 3)) for a half width of T seconds. Coefficient k of a fit has the noise
variance (2 k + 1) sigma^2 / samples, which weighs the two opinions.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.signal.window import Window

Array = NDArray[Any]


def fuse_rates(window: Window, coefficients: Array, rate_channel: tuple[int, ...], sigma: Array) -> Array:
    """Coefficients (poly + 1, channels) with sensed rates made use of; rate_channel as in Config."""
    fused = coefficients.copy()
    k = np.arange(1, window.poly + 1)
    for channel, rate in enumerate(rate_channel):
        if rate == 0:
            continue
        w = np.append(coefficients[:, rate - 1], 0.0)
        integral = window.seconds * (w[k - 1] / (2 * k - 1) - w[k + 1] / (2 * k + 3))
        own = sigma[channel] ** 2 * (2 * k + 1)
        above = np.where(k < window.poly, 1.0 / (2 * k + 3), 0.0)
        theirs = (sigma[rate - 1] * window.seconds) ** 2 * (1.0 / (2 * k - 1) + above)
        fused[1:, channel] += own / (own + theirs) * (integral - fused[1:, channel])
    return fused
