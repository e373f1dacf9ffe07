"""Rows that the model cannot explain: single ones are not used, several consecutive ones end a stretch."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.refinement.filter import JUMP, Passed
from tinyude.refinement.stretches import Batch, Stretch

Array = NDArray[Any]
GATE = 5.0  # standard deviations
MOST_REJECTED = 0.2  # share of rows: more is a wrong model, not outliers
SHORTEST = 12  # rows of a stretch


def rejected_rows(passed: Passed) -> Array:
    """Rows that have samples and were not used."""
    return np.asarray(np.isinf(passed.variances).any(axis=1))


def cut_at_jumps(batch: Batch, passed: Passed) -> list[Stretch]:
    """The stretches, cut where several consecutive rows were rejected; each part begins with the first of them.

    Rows before it whose innovations already have the jump's sign are left out.
    """
    rejected = rejected_rows(passed)
    parts: list[Stretch] = []
    for number, stretch in enumerate(batch.stretches):
        rows = batch.rows_of(number)
        jumps = _jumps(rejected[rows])
        begins, ends = [0, *jumps], [*_began(passed.innovations[rows], jumps), len(stretch)]
        parts.extend(
            stretch.cut(a, b) if (a, b) != (0, len(stretch)) else stretch
            for a, b in zip(begins, ends, strict=True)
            if b - a >= SHORTEST
        )
    return parts


def _began(innovations: Array, jumps: Sequence[int]) -> list[int]:
    """For each jump the row from which innovations have its sign: a jump of a rate shows in the position gradually."""
    if not jumps:
        return []
    power = np.cumsum(np.nan_to_num(innovations) ** 2, axis=0)
    count = np.cumsum(np.isfinite(innovations), axis=0)
    found = []
    for jump in jumps:
        if not count[jump - 1].all():
            found.append(jump)  # a channel was stuck or missing until then
            continue
        typical = np.sqrt(power[jump - 1] / count[jump - 1]) + 1e-300
        channel = int(np.nanargmax(np.abs(innovations[jump]) / typical))
        side, begin = innovations[:, channel] * np.sign(innovations[jump, channel]), jump
        while begin > 0 and side[begin - 1] > 0.0:
            begin -= 1
        found.append(begin)
    return found


def _jumps(rejected: Array) -> list[int]:
    """Rows where a jump begins: the first of at least JUMP rejected ones; at least SHORTEST rows apart."""
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rejected, [False]]).astype(np.int8)))
    found: list[int] = []
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        if end - begin >= JUMP and begin > 0 and (not found or begin - found[-1] >= SHORTEST):
            found.append(int(begin))
    return found


def cut_alike(whole: Sequence[Stretch], before: Sequence[Stretch], after: Sequence[Stretch]) -> list[Stretch]:
    """The whole record, cut where a part of it, `before`, was cut at jumps into `after`."""
    old = {(s.run, float(s.times[0])) for s in before}
    made: list[Stretch] = []
    for stretch in whole:
        new = [s.times[0] for s in after if s.run == stretch.run and (s.run, float(s.times[0])) not in old]
        inside = [t for t in new if stretch.times[0] < t <= stretch.times[-1]]
        begins = [0, *(int(k) for k in np.searchsorted(stretch.times, sorted(inside))), len(stretch)]
        made.extend(stretch.cut(a, b) for a, b in itertools.pairwise(begins) if b - a >= SHORTEST)
    return made


def pieces(stretches: Sequence[Stretch], longest: int) -> list[Stretch]:
    """Stretches cut into equal parts of at most `longest` rows."""
    made: list[Stretch] = []
    for stretch in stretches:
        count = max(1, -(-len(stretch) // longest))
        cuts = np.linspace(0, len(stretch), count + 1).astype(int)
        made.extend(stretch.cut(int(a), int(b)) for a, b in itertools.pairwise(cuts))
    return made


def spread_over(stretches: Sequence[Stretch], rows: int, count: int = 12) -> list[Stretch]:
    """At most `rows` rows of the stretches: about `count` parts, spread evenly over all of them."""
    total = sum(len(s) for s in stretches)
    if total <= rows:
        return list(stretches)
    parts = pieces(stretches, max(SHORTEST, total // count))
    share = rows / total
    return [part.cut(0, max(SHORTEST, int(share * len(part)))) for part in parts]
