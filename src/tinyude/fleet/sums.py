"""Normal equations over accepted windows, as sums that merge: many logs, wherever they are summed, one regression.

The windows of a run depend on that run alone, so the sums of partitions at run borders add up to those of a
single pass. Sums are kept as a high and a low part (two-sum), so that the order of adding does not show in the result.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.grid import Run
from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.fleet.windows import good_windows, window_jets
from tinyude.model.result import learner_part
from tinyude.physics import Physics
from tinyude.physics.library import given_terms
from tinyude.reference.config import Config
from tinyude.reference.signal.nodes import nodes_gauss, nodes_intervals
from tinyude.reference.signal.window import Window, window_make
from tinyude.reference.state import Known
from tinyude.training.known import known_functions

Array = NDArray[Any]

GROUPS = 16  # for jackknife errors
BLOCK = 200  # windows in a row that go to one group
NODES = 9


@dataclass(frozen=True)
class WindowPlan:
    """What decides which windows are accepted and how they are weighed; shared by all partitions of a regression."""

    config: Config
    half: int
    spacing: int
    sigma: Array  # noise of each channel
    step: Array  # resolution of each channel
    unit: Array  # RMS rate of each state, which its equations are divided by

    @classmethod
    def of(cls, ude: UDE) -> WindowPlan:
        """The windows of a fitted UDE."""
        config, found = learner_part(ude.result_.config), learner_part(ude.result_.calibration)
        sigma = found.sigma * found.sigma_scale
        return cls(config, found.half, found.spacing, sigma, found.step, np.asarray(ude.model_.dx_scale))


class Sums:
    """Sums of products of regression columns and target over windows.

    Parameters
    ----------
    columns
        Number of regression columns.
    groups
        Parts that the windows are dealt to; leaving one out at a time gives the errors.

    Examples
    --------
    >>> left, right = Sums(2), Sums(2)
    >>> left.add(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([2.0, 5.0]), group=0)
    >>> right.add(np.array([[1.0, 2.0]]), np.array([8.0]), group=1)
    >>> left.merge(right).solve().tolist()
    [2.0, 3.0]
    """

    def __init__(self, columns: int, groups: int = GROUPS) -> None:
        self.high = np.zeros((groups, columns + 1, columns + 1))
        self.low = np.zeros_like(self.high)
        self.windows = 0

    def add(self, design: Array, target: Array, group: int) -> None:
        """Rows of the regression that belong to one group."""
        rows = np.column_stack([design, target])
        self._accumulate(group, rows.T @ rows, 0.0)
        self.windows += len(rows)

    def merge(self, other: Sums) -> Sums:
        """Both sums in one; neither is changed."""
        if other.high.shape != self.high.shape:
            raise TinyUDEError(
                f"Sums of shape {self.high.shape} and {other.high.shape} do not merge; use the same terms and groups."
            )
        merged = Sums(self.columns, len(self.high))
        for part in (self, other):
            merged._accumulate(slice(None), part.high, part.low)
            merged.windows += part.windows
        return merged

    def in_one_group(self, group: int) -> Sums:
        """The same windows as one group among as many."""
        moved = Sums(self.columns, len(self.high))
        for high, low in zip(self.high, self.low, strict=True):
            moved._accumulate(group, high, low)
        moved.windows = self.windows
        return moved

    def _accumulate(self, group: int | slice, high: Array, low: Array | float) -> None:
        total = self.high[group] + high
        shifted = total - self.high[group]
        lost = (self.high[group] - (total - shifted)) + (high - shifted)
        rest = self.low[group] + lost + low
        self.high[group] = total + rest
        self.low[group] = rest - (self.high[group] - total)

    @property
    def columns(self) -> int:
        return int(self.high.shape[1] - 1)

    @property
    def total(self) -> Array:
        """(columns + 1, columns + 1), the target last."""
        whole = self.in_one_group(0)
        return np.asarray(whole.high[0] + whole.low[0])

    def solve(self, chosen: Sequence[int] | None = None) -> Array:
        """Least-squares coefficients of all columns, or of the chosen ones."""
        return solved(self.total, chosen)

    def errors(self, chosen: Sequence[int] | None = None) -> Array:
        """Delete-a-group jackknife standard errors of `solve`; infinite with fewer than two groups."""
        whole = np.asarray(self.high + self.low)
        filled = [group for group in whole if group[-1, -1] > 0.0]
        if len(filled) < 2:
            return np.full(self.columns if chosen is None else len(chosen), np.inf)
        total = self.total
        left_out = np.array([solved(total - group, chosen) for group in filled])
        count = len(filled)
        return np.asarray(np.sqrt((count - 1) / count * ((left_out - left_out.mean(axis=0)) ** 2).sum(axis=0)))


def solved(total: Array, chosen: Sequence[int] | None) -> Array:
    """Least-squares coefficients of the chosen columns from the products of columns and target."""
    index = list(range(len(total) - 1) if chosen is None else chosen)
    scale = np.sqrt(np.diag(total)[index])
    if not np.all(scale > 0.0):
        raise TinyUDEError("A regression column is zero in every window; leave that term out.")
    normal = total[np.ix_(index, index)] / np.outer(scale, scale)
    return np.asarray(np.linalg.solve(normal, total[index, -1] / scale) / scale)


def stream_sums(stream: Stream, physics: Physics, plan: WindowPlan, terms: Sequence[str]) -> Sums:
    """The sums of a log's accepted windows.

    Parameters
    ----------
    stream
        Runs of samples.
    physics
        The known part; its learned parameters are the first columns.
    plan
        Which windows, the same for all logs whose sums are merged.
    terms
        Library terms as text, a column each for every residual state.

    Returns
    -------
    Sums
    """
    library = given_terms(physics, list(terms))
    on = list(plan.config.on)
    sums = Sums(len(physics.learned) + len(on) * len(library))
    known = known_functions(physics, library, on)
    window = window_make(plan.half, plan.spacing, plan.config.poly, stream.period)
    for run in stream.runs:
        first = zlib.crc32(np.ascontiguousarray(run.samples[:8]).tobytes())  # by content: the same in any partition
        for block, rows in enumerate(_blocks(run, window, plan.config.stride)):
            design, target = _regression(rows, window, plan, known, len(library))
            if not len(target):
                continue
            sums.add(design.reshape(-1, sums.columns), target.ravel(), (first + block) % GROUPS)
    return sums


def _blocks(run: Run, window: Window, stride: int) -> Iterator[Run]:
    """The rows of a few hundred windows at a time, so that memory stays bounded."""
    width = 2 * window.reach + 1
    starts = range(0, len(run.samples) - width + 1, stride)
    for first in range(0, len(starts), BLOCK):
        rows = slice(starts[first], starts[min(first + BLOCK, len(starts)) - 1] + width)
        yield Run(run.start, run.samples[rows], run.inputs[rows])


def _regression(run: Run, window: Window, plan: WindowPlan, known: Known, terms: int) -> tuple[Array, Array]:
    """Design (windows, residual states, columns) and target (windows, residual states) of a run's accepted windows."""
    config, on = plan.config, list(plan.config.on)
    nodes = nodes_intervals(window, config.order) if config.inputs else nodes_gauss(window, NODES, config.order)
    centre, coefficients = good_windows(config, window, run.samples, plan.sigma, plan.step, config.stride)
    if not len(centre):
        return np.empty((0, len(on), 0)), np.empty((0, len(on)))
    pairs = list(zip(config.channel, config.order, strict=True))
    x = np.stack([coefficients[:, channel] @ nodes.values[order].T for channel, order in pairs], axis=-1)
    u = run.inputs[centre[:, None] + window.reach - nodes.ticks]
    _, dx = window_jets(config, window, coefficients)
    shape = x.shape[:2]
    flat = x.reshape(-1, x.shape[-1]), u.reshape(len(x) * len(nodes.weights), -1)
    field = known.field(*flat).reshape(*shape, -1)
    target = (dx - np.einsum("qi,wqi->wi", nodes.weights, field))[:, on]
    weights = nodes.weights[:, on]
    sensitivity = known.sensitivity(*flat).reshape(*shape, len(on), -1)
    values = known.terms(*flat).reshape(*shape, terms)
    parameters = sensitivity.shape[-1]
    design = np.zeros((len(x), len(on), parameters + len(on) * terms))
    design[:, :, :parameters] = np.einsum("qi,wqip->wip", weights, sensitivity)
    for i in range(len(on)):
        start = parameters + i * terms
        design[:, i, start : start + terms] = np.einsum("q,wqk->wk", weights[:, i], values)
    unit = plan.unit[on]
    return design / unit[:, None], target / unit


def pooled_sums(streams: Sequence[Stream], physics: Physics, plan: WindowPlan, terms: Sequence[str]) -> Sums:
    """The merged sums of several logs; on a cluster each worker sums its own and these are merged alike."""
    whole: Sums | None = None
    for stream in streams:
        part = stream_sums(stream, physics, plan, terms)
        whole = part if whole is None else whole.merge(part)
    if whole is None:
        raise TinyUDEError("There is no log to sum; give at least one.")
    return whole
