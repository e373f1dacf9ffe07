"""Thinning: a dense record is sampled more coarsely before any part of it is left out.

Whole runs at a lower rate distinguish models better than short pieces at the full rate: model errors grow with the
length of a free run, not with its number of samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.polynomial import legendre
from numpy.typing import NDArray

from tinyude.refinement.gating import spread_over
from tinyude.refinement.stretches import Stretch

Array = NDArray[Any]
NODES, WEIGHTS = (legendre.leggauss(4)[0] + 1.0) / 2.0, legendre.leggauss(4)[1] / 2.0  # on 0 .. 1, exact to order 7
LEGENDRE = np.array([[1.0, 0.0, 0.0, 0.0], [-1.0, 2.0, 0.0, 0.0], [1.0, -6.0, 6.0, 0.0], [-1.0, 12.0, -30.0, 20.0]])


def reduced(stretches: Sequence[Stretch], rows: int, longest: float, count: int = 12) -> list[Stretch]:
    """About `rows` rows of the stretches: thinned to intervals of at most `longest` seconds, then spread over them."""
    total = sum(len(s) for s in stretches)
    period = float(np.median(np.concatenate([np.diff(s.times) for s in stretches])))
    stride = min(-(-total // max(rows, 1)), max(1, int(longest / period + 1e-9)))
    return spread_over([thinned(s, stride) for s in stretches], rows, count)


def thinned(stretch: Stretch, stride: int) -> Stretch:
    """Every stride-th row; the inputs between two of them become the best-fitting cubics.

    A cubic with the same first four moments has the same effect on a smooth field, up to fifth order in the interval.
    """
    count = (len(stretch) - 1) // max(stride, 1)
    if stride <= 1 or count < 1:
        return stretch
    rows = np.arange(count + 1) * stride
    times, inputs = stretch.times[rows], stretch.inputs[rows].copy()
    if inputs.shape[1]:
        fine = stretch.times[: rows[-1] + 1]
        length = np.diff(times)[:, None]
        begin = (fine[:-1].reshape(count, stride) - times[:-1, None]) / length
        width = np.diff(fine).reshape(count, stride) / length
        old = stretch.inputs[: rows[-1]].reshape(count, stride, -1, 4)
        values = old @ NODES[None, :] ** np.arange(4)[:, None]  # (count, stride, inputs, nodes)
        place = begin[..., None] + width[..., None] * NODES
        basis = place[..., None] ** np.arange(4) @ LEGENDRE.T  # (count, stride, nodes, 4)
        moments = np.einsum("csin,csnk,cs,n->cik", values, basis, width, WEIGHTS)
        inputs[:-1] = moments * (2.0 * np.arange(4) + 1.0) @ LEGENDRE
    return replace(stretch, times=times, samples=stretch.samples[rows], inputs=inputs)
