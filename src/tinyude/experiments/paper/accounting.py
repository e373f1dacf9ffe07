"""The paper's way of counting bytes, multiply-accumulates and cycles, for its single pendulum."""

from __future__ import annotations

from itertools import pairwise

STATES, HIDDEN, BATCH, TAPS, LONGEST_SPACING, FLOAT = 2, (16, 16), 64, 11, 50, 4
CYCLES_MAC, CYCLES_TANH, CLOCK = 3, 60, 240e6  # its projection for an ESP32


def paper_arrays(reservoir: int) -> dict[str, int]:
    """The paper's static arrays for the single pendulum, in bytes at single precision."""
    parameters = sum(m * (n + 1) for n, m in _layers())
    return {
        f"reservoir, {reservoir} x 3n": reservoir * 3 * STATES * FLOAT,
        f"weights, gradient, two moments, average: 5 x {parameters}": 5 * parameters * FLOAT,
        f"ring, {TAPS} x {LONGEST_SPACING} x n": TAPS * LONGEST_SPACING * STATES * FLOAT,
        f"projector R, {TAPS} x {TAPS}": TAPS * TAPS * FLOAT,
        f"rows D0, D1, D2, 3 x {TAPS}": 3 * TAPS * FLOAT,
        "scales of x, dx, ddx, 3n": 3 * STATES * FLOAT,
    }


def work(order: int) -> int:
    """Multiply-accumulates of the network in one update: forward, cotangents, weight gradients; tangents at order 2."""
    weights = sum(n * m for n, m in _layers())
    inner = sum(n * m for n, m in _layers()[1:])  # the input itself needs no cotangent
    first = weights + inner + weights
    second = weights + weights + inner + weights  # tangents; J' for F's own part; their cotangents; their gradients
    return BATCH * (first + (second if order == 2 else 0))


def projected_ms(order: int) -> float:
    return 1e3 * (CYCLES_MAC * work(order) + CYCLES_TANH * BATCH * sum(HIDDEN)) / CLOCK


def _layers() -> list[tuple[int, int]]:
    sizes = (STATES, *HIDDEN, STATES)
    return list(pairwise(sizes))
