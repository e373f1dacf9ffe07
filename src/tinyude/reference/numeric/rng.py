"""PCG32 (O'Neill's XSH-RR): a small generator, bit-identical in both engines."""

from __future__ import annotations

from dataclasses import dataclass

_MULTIPLIER = 6364136223846793005
_MASK64 = (1 << 64) - 1


@dataclass
class Rng:
    state: int = 0
    increment: int = 1


def rng_seed(seed: int, stream: int = 0) -> Rng:
    """The generator after the published seeding sequence; streams with the same seed are independent."""
    rng = Rng(0, ((stream << 1) | 1) & _MASK64)
    rng_next(rng)
    rng.state = (rng.state + seed) & _MASK64
    rng_next(rng)
    return rng


def rng_next(rng: Rng) -> int:
    """32 random bits."""
    old = rng.state
    rng.state = (old * _MULTIPLIER + rng.increment) & _MASK64
    shifted = (((old >> 18) ^ old) >> 27) & 0xFFFFFFFF
    rotation = old >> 59
    return ((shifted >> rotation) | (shifted << (-rotation & 31))) & 0xFFFFFFFF


def rng_below(rng: Rng, bound: int) -> int:
    """An index in [0, bound). Multiply-shift: its bias, below bound / 2^32, is not worth a rejection loop."""
    return (rng_next(rng) * bound) >> 32


def rng_normal(rng: Rng) -> float:
    """Nearly normal, mean 0, variance 1: twelve uniforms (exact arithmetic, hence the same on every machine)."""
    total = 0
    for _ in range(12):
        total += rng_next(rng) >> 8  # 24 bits: exact in float32 once scaled
    # In float32 the sum of twelve 24-bit integers would round, so it is computed in integers.
    return float(total - 6 * (1 << 24)) / float(1 << 24)
