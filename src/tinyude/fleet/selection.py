"""The terms that all machines of a fleet learn: only the same coefficients can be compared.

The same candidates are offered to a few machines, each with its own coefficients. Starting from no terms and from each
set of terms that a machine found, terms are added one by one while they explain a tenth of the remainder in most
machines, and removed if they do not. The set with the smallest remainder is kept. Known terms in which machines differ
are added, and all of them if nothing else is missing: a worn machine differs in those.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyude.errors import TinyUDEError
from tinyude.fleet.flags import LEAST
from tinyude.fleet.sums import Sums, solved

Found = frozenset[tuple[int, str]]  # residual states by number, with a term each
FOUND = 0.2  # share of machines: that found a form with numbers in it, that differ in a known term
OF_THE_REST = 0.1  # share of the unexplained square that a further term must explain: chance explains less
WORTH = 3e-5  # share of the explained square that it must add: half a per cent of the missing part's size
NEW = 0.02  # share of a term's square that the terms before it do not hold: collinear ones cannot be compared
COLLINEAR = 1e-8  # the same for a single machine: below, its equations cannot be solved
AS_GOOD = 0.9  # of the best term's gain, and of what it leaves: of these a known one, one found by most, the simplest
CERTAIN = 3.0  # jackknife standard errors
MOST_MACHINES = 0.5  # share of the machines that must need a term


def choose(
    parts: Sequence[Sums],
    terms: Mapping[str, int],
    parameters: int,
    known: Sequence[Mapping[str, float]] = (),
    sets: Sequence[Found] = (),
) -> list[str]:
    """The terms that the fleet needs, in the order of the candidates; each machine has its own coefficients.

    Parameters
    ----------
    parts
        The sums of each machine looked at, over parameters and then the candidate terms of every residual state.
    terms
        The candidates, with the number of machines whose own fit found them.
    parameters
        Number of learned parameters, always in.
    known
        For every residual state, the terms of its known right-hand side with their coefficients.
    sets
        Sets of terms to start from, in addition to the empty set.
    """
    texts = list(terms)
    places = {(state, text): parameters + state * len(texts) + n for n, text in enumerate(texts)
              for state in range((parts[0].columns - parameters) // len(texts))}  # fmt: skip
    value = {places[state, text]: size for state, pieces in enumerate(known) for text, size in pieces.items()}
    rank = {column: (column not in value, -terms[text], len(text)) for (_, text), column in places.items()}
    constants = {column: places[state, "1"] for (state, _), column in places.items() if "1" in terms}
    search = _Search(parts, list(range(parameters)), rank, constants)
    starts = [[], *(sorted(places[place] for place in found) for found in sets)]
    found = min((search.grown(start) for start in starts), key=search.cost)
    missing = len(found) > parameters
    for column in value:
        if column in found or not search.new(column, found):
            continue
        if not missing or search.share(found, column, LEAST * abs(value[column])) >= FOUND:
            found.append(column)
    names = {text for (_, text), column in places.items() if column in found}
    return [term for term in texts if term in names]


class _Search:
    """Columns added and taken out by what they explain in most machines."""

    def __init__(
        self,
        parts: Sequence[Sums],
        always: list[int],
        rank: Mapping[int, tuple[Any, ...]],
        constants: Mapping[int, int],  # of each column, the constant of the same state
    ) -> None:
        self.parts, self.always, self.rank, self.constants = parts, always, rank, constants
        self.machines = [_Machine(part) for part in parts]

    def grown(self, start: Sequence[int]) -> list[int]:
        """The start's columns that are needed, and further ones while they pay."""
        found = self.pruned([*self.always, *start])
        while (column := self._next(found)) is not None:
            found = [*found, column]
        return self.pruned(found)

    def _next(self, found: list[int]) -> int | None:
        """The best further column that is certain; of nearly equal ones the known, the most found, the simplest."""
        gains = self._gains(found)
        while gains:
            best = max(gains.values())
            close = [c for c, gain in gains.items() if gain >= AS_GOOD * best and AS_GOOD * (1.0 - gain) <= 1.0 - best]
            for column in sorted(close, key=lambda c: (self.rank[c], -gains[c])):
                if self.share(found, column) > MOST_MACHINES:
                    return column
                del gains[column]
        return None

    def pruned(self, found: list[int]) -> list[int]:
        """Without the columns that are made of others, not certain, or explain too little; the least first."""
        for column in found[len(self.always) :]:
            if not self.new(column, [c for c in found if c != column]):
                found = [c for c in found if c != column]
        while len(found) > len(self.always):
            rests = {column: [c for c in found if c != column] for column in found[len(self.always) :]}
            gains = {column: self._gain(rest, column) for column, rest in rests.items()}
            column = min(gains, key=lambda c: gains[c])
            if gains[column] > OF_THE_REST and self.share(rests[column], column) > MOST_MACHINES:
                return found
            found = rests[column]
        return found

    def cost(self, found: list[int]) -> float:
        """What is left in most machines; a further term must explain its share of it."""
        left = float(np.median([np.log(max(1.0 - machine.explained(found), 1e-12)) for machine in self.machines]))
        return left - len(found) * float(np.log(1.0 - OF_THE_REST))

    def new(self, column: int, found: list[int]) -> bool:
        """Whether a column, or what of it varies, can be distinguished from those found, in most machines."""
        constant = self.constants.get(column)
        return float(np.median([machine.news(column, found, constant) for machine in self.machines])) > NEW

    def _gains(self, found: list[int]) -> dict[int, float]:
        """Columns worth adding, with the share of what is unexplained that each explains."""
        gains = {c: self._gain(found, c) for c in self.rank if c not in found and self.new(c, found)}
        return {column: gain for column, gain in gains.items() if gain > OF_THE_REST}

    def _gain(self, found: list[int], column: int) -> float:
        """Share of what is unexplained that a column explains, median over the machines; 0 where that is hardly any."""
        base = np.array([machine.explained(found) for machine in self.machines])
        gain = np.array([machine.explained_with(found, column) for machine in self.machines]) - base
        share = float(np.median(gain / np.maximum(1.0 - base, 1e-12)))
        return share if float(np.median(gain)) > WORTH * float(np.median(base + gain)) else 0.0

    def share(self, found: list[int], column: int, least: float = 0.0) -> float:
        """Share of the machines in which a column's coefficient is above its jackknife error and a least size."""
        trial = [*found, column]
        sure = 0
        for part in self.parts:
            try:
                sure += bool(abs(part.solve(trial)[-1]) > max(CERTAIN * part.errors(trial)[-1], least))
            except (TinyUDEError, np.linalg.LinAlgError):
                continue  # this machine has never shown it
        return sure / len(self.parts)


class _Machine:
    """Shares of one machine's squared target, with its own coefficients."""

    def __init__(self, sums: Sums) -> None:
        self.total = sums.total

    def explained(self, chosen: list[int]) -> float:
        square = self.total[-1, -1]
        return float(self.total[chosen, -1] @ solved(self.total, chosen) / square) if chosen and square else 0.0

    def explained_with(self, chosen: list[int], column: int) -> float:
        usable = self.novelty(column, chosen) > COLLINEAR
        return self.explained([*chosen, column] if usable else chosen)

    def news(self, column: int, chosen: list[int], constant: int | None) -> float:
        """The larger share of a column that the chosen ones do not hold: of its square, or of its variance.

        Roots of two levels are both nearly constant, and yet vary each in its own way.
        """
        whole = self.novelty(column, chosen)
        if constant is None or constant == column:
            return whole
        varying = self.novelty(column, [constant])
        beside = self.novelty(column, list(dict.fromkeys([*chosen, constant])))
        return max(whole, beside / varying) if varying > COLLINEAR else whole

    def novelty(self, column: int, chosen: list[int]) -> float:
        """Share of a column's square that the chosen columns do not hold."""
        square = self.total[column, column]
        if not square:
            return 0.0
        if not chosen:
            return 1.0
        share = np.linalg.lstsq(self.total[np.ix_(chosen, chosen)], self.total[chosen, column], rcond=None)[0]
        return float(1.0 - share @ self.total[chosen, column] / square)
