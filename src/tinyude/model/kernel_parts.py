"""A kernel network of several inputs as a sum of curves of one input each, and what is left.

A machine wears part by part: friction, a curve of one speed, grows while the pull of the magnets, a curve of one angle,
stays. Each part has its own factor on a board.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tinyude.model.kernel import KernelNetwork, kernel_values

Array = NDArray[Any]
LEAST = 0.02  # of the curve's standard deviation that a part must have
APART = 0.75  # length scales between the units of a part
MOST_UNITS = 16  # of a part
RIDGE = 1e-6  # of the mean square of the columns


def kernel_parts(kernel: KernelNetwork) -> list[KernelNetwork]:
    """For each residual state that depends on several inputs, its curve of each of these alone, if they matter."""
    return [part for row in range(len(kernel.on)) for part in _parts_of_row(kernel, row)]


def with_gains_moved(kernel: KernelNetwork, steps: Array) -> KernelNetwork:
    """The same units for other gains: of every curve, then of every part; exact at the units' centres."""
    grown, parts = kernel.scaled(1.0 + np.asarray(steps[: len(kernel.on)])), kernel_parts(kernel)
    weights = grown.weights.copy()
    for row, state in enumerate(kernel.on):
        moved = zip(parts, steps[len(kernel.on) :], strict=True)
        own = [(part, step) for part, step in moved if part.on == (state,) and step]
        if not own:
            continue
        at = kernel.centres[row]
        added = sum(step * _values(part, at) for part, step in own)
        among = kernel_values(at, at, kernel.inverse_lengths[row])
        weights[row] += np.linalg.lstsq(among, added, rcond=1e-9)[0]
    return replace(grown, weights=weights)


def _parts_of_row(kernel: KernelNetwork, row: int) -> list[KernelNetwork]:
    columns = kernel.depends_on(row)
    if len(columns) < 2:
        return []
    at, inverse = kernel.centres[row], kernel.inverse_lengths[row]
    places = [_features_of(kernel, column) for column in columns]
    nodes = [_spread(at[:, place] * inverse[place]) for place in places]
    blocks = []
    for place, chosen in zip(places, nodes, strict=True):
        blocks.append(np.hstack([kernel_values(at[:, place], at[chosen][:, place], inverse[place]), at[:, place]]))
    design = np.hstack([*blocks, np.ones((len(at), 1))])
    scale = np.sqrt(np.mean(design**2, axis=0)) + np.finfo(np.float64).tiny
    design = design / scale
    curve = _values(_only(kernel, row), at)
    normal = design.T @ design + RIDGE * len(at) * np.eye(len(scale))
    solution = _rounded(np.linalg.solve(normal, design.T @ curve) / scale)
    parts, first = [], 0
    for place, chosen in zip(places, nodes, strict=True):
        own = solution[first : first + len(chosen) + len(place)]
        first += len(own)
        parts.append(_curve(kernel, row, place, at[chosen], own))
    serious = [part for part in parts if np.std(_values(part, at)) > LEAST * np.std(curve)]
    return serious if len(serious) > 1 else []  # one that is nearly all: the gain of the whole is enough


def _curve(kernel: KernelNetwork, row: int, place: list[int], centres: Array, solution: Array) -> KernelNetwork:
    """A curve of the features at `place` alone; 0 on average over the units' centres, as an offset is no part."""
    inverse, linear = np.zeros_like(kernel.inverse_lengths[row]), np.zeros_like(kernel.linear[row])
    inverse[place] = kernel.inverse_lengths[row][place]
    linear[1 + np.array(place)] = solution[len(centres) :]
    part = replace(
        kernel, on=(kernel.on[row],), centres=centres[None], inverse_lengths=inverse[None],
        weights=solution[None, : len(centres)], linear=linear[None],
    )  # fmt: skip
    linear[0] = _rounded(-np.mean(_values(part, kernel.centres[row])))
    return replace(part, linear=linear[None])


def _rounded(values: ArrayLike) -> Array:
    """To single precision less some bits: the same on every machine, whatever its linear algebra rounds."""
    mantissa, exponent = np.frexp(values)
    return np.asarray(np.ldexp(np.round(mantissa * 2.0**20) / 2.0**20, exponent))


def _only(kernel: KernelNetwork, row: int) -> KernelNetwork:
    """The curve of one residual state."""
    own = slice(row, row + 1)
    return replace(
        kernel, on=kernel.on[own], centres=kernel.centres[own], inverse_lengths=kernel.inverse_lengths[own],
        weights=kernel.weights[own], linear=kernel.linear[own],
    )  # fmt: skip


def _values(curve: KernelNetwork, z: Array) -> Array:
    """A curve of one residual state at rows of centred features."""
    units = kernel_values(z, curve.centres[0], curve.inverse_lengths[0])
    return np.asarray(units @ curve.weights[0] + curve.linear[0, 0] + z @ curve.linear[0, 1:])


def _features_of(kernel: KernelNetwork, column: int) -> list[int]:
    """The places of a column among the features."""
    first = 0
    for seen in kernel.sees:
        width = 2 if seen in kernel.angles else 1
        if seen == column:
            return list(range(first, first + width))
        first += width
    return []


def _spread(points: Array) -> Array:
    """Points, farthest first, until all others are near one of them."""
    if not points.any():
        return np.zeros(0, dtype=int)
    chosen = [int(np.argmin(points[:, 0]))]
    distance = np.linalg.norm(points - points[chosen[0]], axis=1)
    while len(chosen) < MOST_UNITS and distance.max() > APART:
        chosen.append(int(np.argmax(distance)))
        distance = np.minimum(distance, np.linalg.norm(points - points[chosen[-1]], axis=1))
    return np.array(chosen)
