"""One residual state's regression: its whitened targets, and functions of the state as its windows filter them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from tinyude.training.batch.covariance import Whitener
from tinyude.training.batch.library import Entry, evaluate
from tinyude.training.batch.targets import Targets

Array = NDArray[Any]

KEPT_COLUMNS, KEPT_NUMBERS = 64, 4_000_000  # size of the cache: at least so many columns, and numbers in them
BLOCKS, BLOCK = 20, 20  # stretches of neighbouring windows, and windows in each, for fitting hyperparameters


class Expected(Protocol):
    """What a choice of terms needs of a whitener."""

    @property
    def expected(self) -> float:
        """Variance of whitened noise."""


class WhiteRows(Protocol):
    """Whitened rows of one or several rates, as the choice of terms sees them; see `Problem` for each member."""

    @property
    def targets(self) -> Targets: ...
    @property
    def y(self) -> Array: ...
    @property
    def rows(self) -> int: ...
    @property
    def size(self) -> float: ...
    @property
    def whitener(self) -> Expected: ...
    def filtered(self, entries: Sequence[Entry]) -> Array: ...
    def whitened(self, seen: Array) -> Array: ...
    def columns(self, entries: Sequence[Entry]) -> Array: ...
    def fresh(self, entries: Sequence[Entry]) -> Array: ...
    def rms(self, entries: Sequence[Entry]) -> Array: ...
    def fixed(self, values: Array) -> Array: ...


@dataclass(frozen=True)
class Problem:
    """Residual state `state`, with targets known to be zero (`helpers`) that share its noise."""

    targets: Targets
    state: int
    target: Array  # (windows,)
    helpers: Sequence[Array]
    whitener: Whitener
    prior: Array = field(default_factory=lambda: np.zeros((0, 0)))  # (rows, columns): prior rows of fixed columns

    @cached_property
    def y(self) -> Array:
        """The whitened target (rows,), then zeros for the prior rows."""
        return np.concatenate([self.whitener.rows(self.target, self.helpers), np.zeros(len(self.prior))])

    @property
    def rows(self) -> int:
        return self.targets.count

    @cached_property
    def size(self) -> float:
        """RMS of the residual in the windows, noise removed."""
        variance = self.whitener.variance[:, -1]
        weight = 1.0 / (variance + np.median(variance))
        power = float(np.sum(weight * (self.target**2 - variance)) / np.sum(weight))
        floor = float(np.sum(weight * variance) / np.sum(weight)) / len(variance)
        return float(np.sqrt(max(power, floor, 1e-300)))

    def design(self, values: Array) -> Array:
        """Functions at the nodes (nodes, functions) as whitened columns (rows, functions)."""
        return self.whitened(self.targets.filtered(values, self.state))

    def filtered(self, entries: Sequence[Entry]) -> Array:
        """Library entries as the windows filter them (windows, entries); not finite where one is not at some node."""
        names = self.targets.layout.names
        return self.targets.filtered_functions(lambda at: evaluate(entries, at, names), len(entries), self.state)

    def whitened(self, seen: Array) -> Array:
        """Values filtered by the windows (windows, functions) as whitened columns (rows, functions)."""
        white = self.whitener.rows(seen)
        return np.concatenate([white, np.zeros((len(self.prior), white.shape[1]))]) if len(self.prior) else white

    def columns(self, entries: Sequence[Entry]) -> Array:
        """Whitened columns of library entries (rows, entries); non-finite windows are set to 0."""
        made = [self._made(entry)[0] for entry in entries]
        return np.stack(made, axis=1) if made else np.zeros((len(self.y), 0))

    def fresh(self, entries: Sequence[Entry]) -> Array:
        """The same, not cached: for shapes that a search tries once."""
        with np.errstate(all="ignore"):
            seen = self.filtered(entries)
        return self.whitened(seen if np.isfinite(seen).all() else np.nan_to_num(seen, posinf=0.0, neginf=0.0))

    def rms(self, entries: Sequence[Entry]) -> Array:
        """RMS of library entries over the nodes (entries,)."""
        return np.array([self._made(entry)[1] for entry in entries])

    @cached_property
    def _made(self) -> Callable[[Entry], tuple[Array, float]]:
        """Column and RMS of an entry, cached: a search requests the same ones repeatedly."""
        targets, most = self.targets, max(KEPT_COLUMNS, KEPT_NUMBERS // len(self.y))

        @lru_cache(maxsize=most)
        def made(entry: Entry) -> tuple[Array, float]:
            with np.errstate(all="ignore"):
                values = evaluate([entry], targets.columns, targets.layout.names)
                seen = np.nan_to_num(targets.filtered(values, self.state), posinf=0.0, neginf=0.0)
                power = float(values[:, 0] @ values[:, 0]) / len(values)
            return self.whitened(seen)[:, 0], float(np.sqrt(power if np.isfinite(power) else 1e300)) + 1e-300

        return made

    def fixed(self, values: Array) -> Array:
        """Columns that always stay (nodes, columns), whitened, with the prior rows of the last of them."""
        design = self.design(values)
        known = len(self.prior)
        if known:
            design[-known:, design.shape[1] - self.prior.shape[1] :] = self.prior
        return design


@dataclass(frozen=True)
class Blocks:
    """A few hundred windows in stretches, each whitened on its own: enough to fit hyperparameters."""

    windows: Array  # (blocks, block)
    whitening: Array  # (blocks, rows, block): of the residual state
    y: Array  # (blocks, rows)


def make_blocks(problem: Problem) -> Blocks:
    """Stretches spread evenly over the record."""
    count = problem.targets.count
    size = min(BLOCK, count)
    number = max(1, min(BLOCKS, count // size))
    first = np.linspace(0, count - size, number).astype(np.intp)
    windows = first[:, None] + np.arange(size)
    whitener = problem.whitener
    each = whitener.interleaved
    whitening, y = [], []
    for block in windows:
        lower = np.linalg.cholesky(whitener.block(block[0] * each, len(block) * each))
        inverse = solve_triangular(lower, np.eye(len(lower)), lower=True)
        values = np.stack([*(helper[block] for helper in problem.helpers), problem.target[block]], axis=1)
        y.append(inverse @ values.ravel())
        whitening.append(inverse[:, each - 1 :: each])
    return Blocks(windows, np.array(whitening), np.array(y))
