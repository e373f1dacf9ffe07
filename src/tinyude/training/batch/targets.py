"""From windows to regression targets: the filtered residual and the field at the nodes.

A window of half width h gives, for state i, the target  r_i = c * y - sum_q w_q f_i(x_q): its derivative row applied
to the samples, minus the known part filtered alike. Their noise: covariance.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

from tinyude.reference.signal.nodes import Nodes, nodes_gauss
from tinyude.reference.signal.window import Window, legendre, window_derivative_row, window_make
from tinyude.training.batch.windows import LONGEST, EqualWindows

Array = NDArray[Any]

NODES = ((5, 5), (20, 9), (80, 17), (LONGEST, 33))  # half widths up to which a window has so many nodes
INPUT_NODES = 40  # most nodes of a window where inputs are held between samples
DEGREES = 12  # of the expansion that corrects node states
AT_ONCE, VALUES_AT_ONCE = 4_096, 100_000  # nodes, or values, of functions evaluated together: they stay in the cache
PICARD = 2  # iterations of the correction
CONVERGING = 0.5  # of the first iteration's step: the largest last step of a window that converges


@dataclass(frozen=True)
class Layout:
    """The channel and derivative order of every state, and the sampling of the record."""

    channel: tuple[int, ...]
    order: tuple[int, ...]
    period: float
    names: tuple[str, ...]  # of the states, then the inputs
    carried: tuple[tuple[int, int], ...] = ()  # states whose angle is the integral of a rate, with the rate's channel

    @property
    def states(self) -> int:
        return len(self.channel)

    @property
    def inputs(self) -> int:
        return len(self.names) - len(self.channel)


@dataclass(frozen=True)
class Targets:
    """Regression targets, ordered by run and time; nodes are those of window 0, then of 1, ..."""

    layout: Layout
    batches: list[EqualWindows]
    place: list[Array]  # index of each batch's windows in that order
    run: Array
    centre: Array
    half: Array
    x: Array  # (windows, states) at the centre
    u: Array
    dx: Array  # (windows, states)
    owner: Array  # (nodes,) window
    columns: Array  # (nodes, states + inputs)
    weights: Array  # (nodes, states)

    @property
    def count(self) -> int:
        return len(self.run)

    @cached_property
    def node_time(self) -> Array:
        """Position of each node in its run, in samples."""
        first = self.first_nodes
        time = np.empty(len(self.owner))
        for batch, place in zip(self.batches, self.place, strict=True):
            count = int(first[place[0] + 1] - first[place[0]])
            tau, _ = node_places(batch.window, self.layout, count)
            time[first[place][:, None] + np.arange(count)] = batch.centre[:, None] + batch.window.half * tau
        return time

    def filtered(self, values: Array, state: int) -> Array:
        """Node values (nodes, ...) filtered by the windows of a state (windows, ...)."""
        flat = values.reshape(len(values), -1)
        return np.asarray(self._filters[state] @ flat).reshape(self.count, *values.shape[1:])

    def filtered_functions(self, functions: Callable[[Array], Array], count: int, state: int) -> Array:
        """Functions of the columns, (nodes, columns) to (nodes, count), filtered by the windows (windows, count)."""
        answer, starts = np.empty((self.count, count)), self.first_nodes
        nodes_at_once = max(AT_ONCE, VALUES_AT_ONCE // max(count, 1))
        bounds = np.searchsorted(starts[:-1], np.arange(0, len(self.owner), nodes_at_once))
        for first, last in zip(bounds, [*bounds[1:], self.count], strict=True):
            nodes = slice(starts[first], starts[last])
            seen = functions(self.columns[nodes]).T * self.weights[nodes, state]
            answer[first:last] = np.add.reduceat(seen, starts[first:last] - starts[first], axis=1).T
        return answer

    @cached_property
    def first_nodes(self) -> Array:
        """The first node of each window, then the number of nodes (windows + 1,)."""
        return np.searchsorted(self.owner, np.arange(self.count + 1))

    @cached_property
    def _filters(self) -> list[sparse.csr_matrix]:
        shape = (self.count, len(self.owner))
        nodes = np.arange(len(self.owner))
        return [
            sparse.csr_matrix((self.weights[:, i], nodes, self.first_nodes), shape) for i in range(self.layout.states)
        ]


def make_targets(layout: Layout, batches: Sequence[EqualWindows], inputs: Sequence[Array]) -> Targets:
    """Targets of the windows; inputs of each run (samples, inputs)."""
    parts, run, centre, half = [], [], [], []
    for batch in batches:
        nodes, held = _nodes(batch, layout, inputs)
        states = [
            batch.coefficients[:, channel] @ nodes.values[order].T
            for channel, order in zip(layout.channel, layout.order, strict=True)
        ]
        columns = np.concatenate([np.stack(states, axis=-1), held], axis=-1)
        parts.append((_jets(batch, layout, 0), _jets(batch, layout, 1), columns, nodes.weights))
        run.append(batch.run)
        centre.append(batch.centre)
        half.append(np.full(len(batch.run), batch.window.half))
    runs, centres, halves = np.concatenate(run), np.concatenate(centre), np.concatenate(half)
    sequence = np.lexsort((centres, runs))
    rank = np.empty(len(sequence), dtype=np.intp)
    rank[sequence] = np.arange(len(sequence))
    place = np.split(rank, np.cumsum([len(r) for r in run])[:-1])
    owner = np.concatenate([np.repeat(p, part[2].shape[1]) for p, part in zip(place, parts, strict=True)])
    by_window = np.argsort(owner, kind="stable")
    columns = np.concatenate([part[2].reshape(-1, part[2].shape[-1]) for part in parts])[by_window]
    weights = np.concatenate([np.tile(part[3], (len(part[2]), 1)) for part in parts])[by_window]
    x, dx = (np.concatenate([part[k] for part in parts])[sequence] for k in (0, 1))
    u = np.stack([inputs[r][c] for r, c in zip(runs[sequence], centres[sequence], strict=True)])
    return Targets(
        layout, list(batches), place, runs[sequence], centres[sequence], halves[sequence], x, u, dx,
        owner[by_window], columns, weights,
    )  # fmt: skip


def corrected(targets: Targets, field: Callable[[Array], Array]) -> Targets:
    """Targets whose node states follow the field, columns (nodes, columns) to (nodes, states), between the samples.

    Picard iterations, used only in windows where they converge. Where states converge to a slow path
    much faster than a window is long, following the field backwards only amplifies their noise.
    """
    begin, scale = targets.columns, np.ptp(targets.columns, axis=0)[: targets.layout.states]
    before, now = begin, _moved(targets, np.nan_to_num(field(begin)))
    first = last = _steps(targets, before, now, scale)
    for _ in range(1, PICARD):
        before, now = now, _moved(targets, np.nan_to_num(field(now)))
        last = _steps(targets, before, now, scale)
    away = _steps(targets, begin, now, scale)
    finite = np.isfinite(field(now)).all(axis=1)
    defined = np.minimum.reduceat(finite, targets.first_nodes[:-1])
    converging = defined & (last < CONVERGING * first) & (away <= 1.0)
    return replace(targets, columns=np.where(converging[targets.owner, None], now, begin))


def _steps(targets: Targets, before: Array, now: Array, scale: Array) -> Array:
    """Largest change of the states of each window, in units of their range (windows,)."""
    states = len(scale)
    moved = np.abs(now[:, :states] - before[:, :states]) / np.where(scale > 0.0, scale, 1.0)
    return np.asarray(np.maximum.reduceat(moved.max(axis=1), targets.first_nodes[:-1]))


def _moved(targets: Targets, field: Array) -> Array:
    """Node columns whose states follow the field (nodes, states) where it bends more than a window's polynomial can.

    The field along a window is expanded in Legendre polynomials and integrated; what the window's own
    polynomial, fitted to samples of the result, would miss is added to the states.
    """
    columns = targets.columns.copy()
    layout = targets.layout
    first_node = targets.first_nodes
    for batch, place in zip(targets.batches, targets.place, strict=True):
        window, count = batch.window, int(first_node[place[0] + 1] - first_node[place[0]])
        nodes = first_node[place][:, None] + np.arange(count)
        expand = _expansion(window.half, count, bool(layout.inputs))
        for state, (channel, order) in enumerate(zip(layout.channel, layout.order, strict=True)):
            top = _highest(layout, channel)
            series = field[nodes, top] @ expand
            for _ in range(layout.order[top] + 1):
                series = integral(series) * window.seconds
            moved = series @ _beyond(window.half, window.poly, count, bool(layout.inputs), series.shape[1], order).T
            columns[nodes.ravel(), state] += moved.ravel() / window.seconds**order
    return columns


@cache
def _expansion(half: int, count: int, held: bool) -> Array:
    """Legendre coefficients of a function from its values at a window's nodes (nodes, degrees)."""
    tau, gauss = _places(half, count, held)
    degree = min(count, DEGREES)
    return np.asarray((legendre(tau, degree) * gauss[:, None]) * (np.arange(degree) + 0.5))


@cache
def _beyond(half: int, poly: int, count: int, held: bool, degrees: int, order: int) -> Array:
    """A derivative by tau of L_0, L_1, ... at the nodes minus that of the polynomial that a window fits to its samples.

    With few samples a polynomial of lower degree represents much of a higher one: the window's coefficients include it.
    """
    tau, _ = _places(half, count, held)
    taps = np.arange(-half, half + 1) / half
    fitted = legendre(tau, poly + 1, order) @ (window_make(half, 1, poly, 1.0).rows @ legendre(taps, degrees))
    return np.asarray(legendre(tau, degrees, order) - fitted)


def _highest(layout: Layout, channel: int) -> int:
    """The state whose equation closes the chain of a channel's derivatives."""
    own = [i for i, c in enumerate(layout.channel) if c == channel]
    return max(own, key=lambda i: layout.order[i])


def integral(series: Array) -> Array:
    """Legendre coefficients (windows, degrees) integrated once, up to a constant."""
    degrees = series.shape[1]
    whole = np.zeros((len(series), degrees + 1))
    share = series / (2.0 * np.arange(degrees) + 1.0)
    whole[:, 1:] += share
    whole[:, : degrees - 1] -= share[:, 1:]
    return whole


def node_places(window: Window, layout: Layout, count: int) -> tuple[Array, Array]:
    """A window's nodes in [-1, 1], and their quadrature weights."""
    return _places(window.half, count, bool(layout.inputs))


@cache
def _places(half: int, count: int, held: bool) -> tuple[Array, Array]:
    """The same; held: inputs are, between samples."""
    if not held:
        return np.polynomial.legendre.leggauss(count)
    bounds = np.arange(count + 1) * 2 * half // count
    return (bounds[:-1] + bounds[1:]) / (2.0 * half) - 1.0, np.diff(bounds) / half


def _jets(batch: EqualWindows, layout: Layout, derivative: int) -> Array:
    """A derivative of every state at the place of each window's derivative."""
    window = batch.window
    columns = []
    for channel, order in zip(layout.channel, layout.order, strict=True):
        row = legendre(batch.tau, window.poly + 1, order + derivative) / window.seconds ** (order + derivative)
        columns.append(batch.coefficients[:, channel] @ row)
    return np.stack(columns, axis=-1)


def _nodes(batch: EqualWindows, layout: Layout, inputs: Sequence[Array]) -> tuple[Nodes, Array]:
    """Nodes of a batch's windows, and the inputs there (windows, nodes, inputs)."""
    window = batch.window
    if not layout.inputs:
        nodes = node_rule(batch, layout)
        return nodes, np.zeros((len(batch.run), len(nodes.weights), 0))
    nodes, bounds = nodes_held(window, layout.order, batch.tau)
    held = np.empty((len(batch.run), len(nodes.weights), layout.inputs))
    for index in np.unique(batch.run):
        mine = batch.run == index
        sums = np.concatenate([np.zeros((1, layout.inputs)), np.cumsum(inputs[index], axis=0)])
        first = batch.centre[mine][:, None] - window.half
        held[mine] = (sums[first + bounds[1:]] - sums[first + bounds[:-1]]) / np.diff(bounds)[:, None]
    return nodes, held


def node_rule(batch: EqualWindows, layout: Layout) -> Nodes:
    """Node values and weights of a batch's windows."""
    window = batch.window
    return _rule(window.half, window.seconds, window.poly, layout.order, bool(layout.inputs), batch.tau)


@cache
def _rule(half: int, seconds: float, poly: int, orders: tuple[int, ...], held: bool, tau: float) -> Nodes:
    window = window_make(half, 1, poly, seconds / half)
    if held:
        return nodes_held(window, orders, tau)[0]
    return nodes_gauss(window, next(count for most, count in NODES if half <= most), orders, tau)


def nodes_held(window: Window, orders: tuple[int, ...], at: float = 0.0) -> tuple[Nodes, Array]:
    """Nodes for inputs held between samples: groups of sampling intervals, each with its mean input.

    The group's weight is the integral of the window's kernel over it, its place the kernel's centre of mass there,
    so what is linear in the inputs or in the states passes exactly. at: where the derivative is taken. Also the first
    interval of each group.
    """
    half, count = window.half, min(2 * window.half, INPUT_NODES)
    bounds = np.arange(count + 1) * 2 * half // count
    weights = np.empty((count, len(orders)))
    tau = (bounds[:-1] + bounds[1:]) / (2.0 * half) - 1.0
    for state, order in enumerate(orders):
        kernel = -np.cumsum(window_derivative_row(window, order + 1, at))[:-1]
        for _ in range(order):
            knots = -np.concatenate([[0.0], np.cumsum(kernel)]) / half
            kernel = (knots[:-1] + knots[1:]) / 2.0
        weights[:, state] = np.add.reduceat(kernel / half, bounds[:-1])
    values = tuple(legendre(tau, window.poly + 1, d) / window.seconds**d for d in range(max(orders) + 1))
    return Nodes(values, weights, 2 * half - bounds[:-1]), bounds
