"""Differences of two signals on which forces and flows depend: relative motion, a drop of temperature or of level."""

from __future__ import annotations

from itertools import combinations

import sympy as sp

from tinyude.physics.physics import Physics

FEW = 3  # positions, or columns of a plant without any, up to which every two of them may be coupled


def differences(physics: Physics) -> list[tuple[int, int]]:
    """Pairs of columns (states, then inputs) whose difference the plant may depend on.

    Those that the known equations contain, those of few positions (or of few states and inputs, in a plant of levels,
    temperatures or voltages), and those of the rates of both.
    """
    symbols = [sp.Symbol(name) for name in (*physics.states, *physics.inputs)]
    rate = {i: j for i, j in enumerate(physics.kinematic) if j is not None and j != i}
    found, positions = _stated(physics, symbols), list(rate or range(len(symbols)))
    if len(positions) <= FEW:
        found += combinations(positions, 2)
    found += [(rate[a], rate[b]) for a, b in found if a in rate and b in rate and rate[a] != rate[b]]
    kept = {frozenset(pair): pair for pair in found if min(pair) < physics.n_states}  # that of two inputs is known
    return [_upright(*pair, symbols) for pair in kept.values()]


def relative_speeds(physics: Physics) -> list[tuple[int, int]]:
    """Those of the differences that are of two rates."""
    rates = {j for i, j in enumerate(physics.kinematic) if j is not None and j != i}
    return [pair for pair in differences(physics) if rates.issuperset(pair)]


def _stated(physics: Physics, symbols: list[sp.Symbol]) -> list[tuple[int, int]]:
    """Pairs that the known equations subtract from each other."""
    place = {symbol: k for k, symbol in enumerate(symbols)}
    found: list[tuple[int, int]] = []
    for rhs in physics.rhs:
        for node in sp.preorder_traversal(rhs):
            parts = [part.as_independent(*symbols, as_Add=False) for part in node.args] if node.is_Add else []
            single = [(factor, place[signal]) for factor, signal in parts if signal in place]
            found += [(a, b) for (f, a), (g, b) in combinations(single, 2) if f + g == 0]
    return found


def _upright(a: int, b: int, symbols: list[sp.Symbol]) -> tuple[int, int]:
    """In the order that SymPy keeps: sin(b - a) would be written -sin(a - b)."""
    return (b, a) if (symbols[a] - symbols[b]).could_extract_minus_sign() else (a, b)
