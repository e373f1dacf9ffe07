"""A uniform sample of an unbounded stream in fixed memory (Vitter's algorithm R), or the most recent entries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.numeric.rng import Rng, rng_below


@dataclass
class Reservoir:
    entries: NDArray[np.float64]  # (capacity, width)
    fresh: NDArray[np.bool_]  # (capacity,) stored since reservoir_settle
    rolling: bool = False  # keep the newest instead of a uniform sample
    seen: int = 0  # entries offered since the last clear


def reservoir_init(capacity: int, width: int, rolling: bool = False) -> Reservoir:
    return Reservoir(np.zeros((capacity, width)), np.zeros(capacity, dtype=bool), rolling)


def reservoir_clear(res: Reservoir) -> None:
    """Remove all entries."""
    res.seen = 0


def reservoir_settle(res: Reservoir) -> None:
    """From here on the entries held are old ones."""
    res.fresh[:] = False


def reservoir_is_fresh(res: Reservoir, index: int) -> bool:
    """Whether an entry was stored since."""
    return bool(res.fresh[index])


def reservoir_count(res: Reservoir) -> int:
    return min(res.seen, len(res.entries))


def reservoir_offer(res: Reservoir, entry: NDArray[np.float64], rng: Rng) -> None:
    capacity = len(res.entries)
    slot = res.seen
    if slot >= capacity:
        slot = slot % capacity if res.rolling else rng_below(rng, res.seen + 1)
    if slot < capacity:
        res.entries[slot] = entry
        res.fresh[slot] = True
    res.seen += 1


def reservoir_draw(res: Reservoir, batch: int, rng: Rng) -> NDArray[np.intp]:
    """Indices of a minibatch, with replacement."""
    count = reservoir_count(res)
    return np.array([rng_below(rng, count) for _ in range(batch)], dtype=np.intp)
