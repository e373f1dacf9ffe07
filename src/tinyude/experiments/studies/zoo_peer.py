"""pysindy's weak form on the zoo: known physics subtracted, width and threshold chosen by validation. Optional.

It is set up as a careful user would: polynomials up to degree 3 of states and inputs, sines and cosines of angles,
columns scaled to their RMS; domain width and threshold are chosen on the last quarter of every run.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter

from tinyude.errors import TinyUDEError
from tinyude.experiments.studies.weak_sindy import available, domains
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map, residual_states

Array = NDArray[Any]

WIDTHS = (5, 15, 45, 135)  # samples on either side of a domain's centre
THRESHOLDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)  # of a scaled coefficient
DEGREE, DOMAINS, TRAINING = 3, 200, 0.75


class TunedWeakSindy:
    """Sparse regression of the rates minus the known ones; `residual` is that of a UDE."""

    def __init__(self, physics: Physics, measured: Sequence[str] | None = None) -> None:
        self.physics, self.measured = physics, measured
        self.on = residual_states(physics, None, "default")

    def fit(self, runs: Sequence[Array], u: Sequence[Array] | None, t: float) -> TunedWeakSindy:
        """Learn from runs (samples, measured states) with their inputs."""
        if not available():
            raise TinyUDEError("pysindy is not installed; pip install 'tinyude[compare]' brings it.")
        inputs = list(u) if u is not None else [np.zeros((len(run), 0)) for run in runs]
        pairs = [(self._states(run, t), given) for run, given in zip(runs, inputs, strict=True)]
        rows = np.concatenate([np.concatenate(pair, axis=1) for pair in pairs])
        self.centre, self.spread = rows.mean(axis=0), rows.std(axis=0) + 1e-300
        early = [(x[: int(TRAINING * len(x))], v[: int(TRAINING * len(x))]) for x, v in pairs]
        late = [(x[int(TRAINING * len(x)) :], v[int(TRAINING * len(x)) :]) for x, v in pairs]
        widths = [w for w in WIDTHS if 4 * w < min(len(x) for x, _ in late)] or [WIDTHS[0]]
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # pysindy's, about its dependencies and regressions without a term
            judges = self._integrals(late, t, widths[len(widths) // 2])
            best = min(
                (self._error(self._regress(self._integrals(early, t, width), threshold), judges), width, threshold)
                for width in widths
                for threshold in THRESHOLDS
            )
            self.coefficients = self._regress(self._integrals(pairs, t, best[1]), best[2])
        return self

    def residual(self, x: Array, u: Array | None = None) -> Array:
        answer = np.zeros(x.shape)
        answer[..., self.on] = self._library(x, u) @ self.coefficients
        return answer

    def _states(self, run: Array, period: float) -> Array:
        """All states of a run; unmeasured ones are smoothed derivatives of measured ones."""
        _, channel, order = measured_map(self.physics, self.measured)
        width = min(21, 2 * ((len(run) - 1) // 2) + 1)
        columns = [
            savgol_filter(run[:, c], width, 4, deriv=d, delta=period) if d else run[:, c]
            for c, d in zip(channel, order, strict=True)
        ]
        return np.stack(columns, axis=1)

    def _library(self, x: Array, u: Array | None) -> Array:
        rows = x if u is None else np.concatenate([x, u], axis=-1)
        scaled = (rows - self.centre) / self.spread
        names = [k for k in range(rows.shape[-1]) if self.spread[k] > 1e-200]
        columns = [np.ones(rows.shape[:-1])]
        for degree in range(1, DEGREE + 1):
            columns += [
                np.prod(scaled[..., list(pick)], axis=-1) for pick in combinations_with_replacement(names, degree)
            ]
        for angle in self.physics.angles:
            value = x[..., self.physics.states.index(angle)]
            columns += [np.sin(value), np.cos(value)]
        return np.stack(columns, axis=-1)

    def _integrals(self, pairs: Sequence[tuple[Array, Array]], period: float, width: int) -> tuple[Array, Array]:
        """Integrals over the domains of all runs: the library, and the derivative minus the known physics."""
        designs, targets = [], []
        for x, u in pairs:
            held = u if self.physics.n_inputs else None
            weak = domains(len(x), period, width * period, DOMAINS)
            library = self._library(x, held)
            found = np.asarray(
                weak.fit_transform(np.concatenate([library, self.physics.field(x, held)[:, self.on]], axis=1))
            )
            count = library.shape[1]
            designs.append(found[:, :count])
            targets.append(np.asarray(weak.convert_u_dot_integral(x[:, self.on])) - found[:, count:])
        return np.concatenate(designs), np.concatenate(targets)

    def _regress(self, parts: tuple[Array, Array], threshold: float) -> Array:
        import pysindy

        design, target = parts
        size, scale = np.sqrt(np.mean(design**2, axis=0)) + 1e-300, np.sqrt(np.mean(target**2, axis=0)) + 1e-300
        fitted = pysindy.STLSQ(threshold=threshold, alpha=1e-9).fit(design / size, target / scale)
        return np.asarray(fitted.coef_).T * scale / size[:, None]

    def _error(self, coefficients: Array, parts: tuple[Array, Array]) -> float:
        left = parts[1] - parts[0] @ coefficients
        return float(np.mean(np.mean(left**2, axis=0) / (np.mean(parts[1] ** 2, axis=0) + 1e-300)))
