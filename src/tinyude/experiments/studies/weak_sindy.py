"""The strongest other method found: pysindy's weak form, with the known physics subtracted. pysindy is optional.

It is given the times of the kicks and treats each segment between them as a separate run. Its library is fixed here, so
that changes to TinyUDE's library do not affect it: its thresholds cannot separate terms as similar as several smooth
signs, or all harmonics of an angle.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import lru_cache
from importlib.util import find_spec
from itertools import pairwise
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.expressions import numpy_function

Array = NDArray[np.float64]
SMOOTH_SIGN = 10.0  # tanh of a velocity in tenths of its RMS
HARMONICS = (1, 6)  # of an angle


def available() -> bool:
    return find_spec("pysindy") is not None


class WeakSindy:
    """Sparse regression of the accelerations on a library of terms."""

    def __init__(self, physics: Physics, half_width: float = 0.2, domains: int = 100, threshold: float = 0.05) -> None:
        self.physics = physics
        self.half_width = half_width  # seconds of each domain, on either side
        self.domains = domains  # in each run
        self.threshold = threshold  # smaller coefficients are removed

    def fit(self, samples: Array, period: float, kicks: list[int]) -> WeakSindy:
        """Learn from a record with a kick just before each of the given samples."""
        if not available():
            raise TinyUDEError("pysindy is not installed; pip install 'tinyude[compare]' brings it.")
        import pysindy

        rms = dict(zip(self.physics.states, np.sqrt(np.mean(samples**2, axis=0)), strict=True))
        self.terms = peer_terms(self.physics, rms)
        self.library = numpy_function(self.terms, [sp.Symbol(name, real=True) for name in self.physics.states])
        self.on = [state for state, rate in enumerate(self.physics.kinematic) if rate is None]
        edges = [0, *kicks, len(samples)]
        runs = [samples[a:b] for a, b in pairwise(edges) if (b - a) * period > 3.0 * self.half_width]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # pysindy's, about its dependencies
            parts = [self._integrals(run, period) for run in runs]
            design, target = (np.concatenate([part[k] for part in parts]) for k in (0, 1))
            fitted = pysindy.STLSQ(threshold=self.threshold, alpha=1e-9).fit(design, target)
        self.coefficients = np.asarray(fitted.coef_)  # (accelerations, terms)
        self.diagnostics_: dict[str, Any] = {
            "terms": [
                {"state": self.physics.states[state], "term": str(term), "coefficient": float(value)}
                for state, row in zip(self.on, self.coefficients, strict=True)
                for term, value in zip(self.terms, row, strict=True)
                if value
            ]
        }
        return self

    def residual(self, X: Array) -> Array:
        answer = np.zeros(X.shape)
        answer[..., self.on] = self.library(X) @ self.coefficients.T
        return answer

    def predict(self, X: Array) -> Array:
        return np.asarray(self.physics.field(X) + self.residual(X))

    def _integrals(self, run: Array, period: float) -> tuple[Array, Array]:
        """Integrals over the domains of one run: the library, and the derivative minus the known physics."""
        weak = domains(len(run), period, self.half_width, self.domains)
        columns = np.concatenate([self.library(run), self.physics.field(run)[:, self.on]], axis=1)
        integrals = np.asarray(weak.fit_transform(columns))
        count = len(self.terms)
        target = np.asarray(weak.convert_u_dot_integral(run[:, self.on])) - integrals[:, count:]
        return integrals[:, :count], target


@lru_cache(maxsize=4)
def domains(samples: int, period: float, half_width: float, count: int) -> Any:
    """pysindy's weak library that integrates given columns; it draws domains from NumPy's global generator."""
    import pysindy

    before = np.random.get_state()  # noqa: NPY002
    np.random.seed(0)  # noqa: NPY002
    weak = pysindy.WeakPDELibrary(
        pysindy.PolynomialLibrary(degree=1, include_bias=False),
        spatiotemporal_grid=np.arange(samples) * period,
        K=count,
        H_xt=[half_width],
    )
    np.random.set_state(before)  # noqa: NPY002
    return weak


def peer_terms(physics: Physics, rms: Mapping[str, float]) -> list[sp.Expr]:
    """Constant, linear, drag, dry friction, powers of velocities, two harmonics of each angle."""
    symbols = {name: sp.Symbol(name, real=True) for name in physics.states}
    terms: list[sp.Expr] = [sp.Integer(1), *symbols.values()]
    for state, rate in zip(physics.states, physics.kinematic, strict=True):
        angle = symbols[state]
        if rate is not None:
            v = symbols[physics.states[rate]]
            sharpness = sp.Float(f"{SMOOTH_SIGN / rms[physics.states[rate]]:.3g}")
            terms += [v * sp.Abs(v), sp.tanh(sharpness * v), v**2, v**3]
            terms += [wave(k * angle) for k in HARMONICS for wave in (sp.sin, sp.cos)]
    return terms
