"""Candidates where no model explains the rows up to sensor noise: fitted in several ways, told apart by free runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.refinement.estimate import Estimate, Setup, continuation, estimate_on, simulation_fit
from tinyude.refinement.guard import HeldBack, free_run_errors
from tinyude.refinement.hybrid import Hybrid, hybrid
from tinyude.refinement.search import best_addition, offered
from tinyude.refinement.stretches import Stretch

Array = NDArray[Any]
MOST_TERMS = 4  # that the search adds


@dataclass(frozen=True)
class Incomplete:
    """A search among incomplete models.

    Attributes
    ----------
    setup : Setup
    given : Physics
        With parameters at their first guess.
    parts : HeldBack
    whole : sequence of Stretch
        Not cut at jumps.
    first : Estimate
        Of the richest structure, over stretches cut at jumps.
    """

    setup: Setup
    given: Physics
    parts: HeldBack
    whole: Sequence[Stretch]
    first: Estimate

    def run(
        self, hybrids: Mapping[str, Hybrid], terms: Sequence[sp.Expr]
    ) -> tuple[dict[str, Hybrid], dict[str, Estimate]]:
        """Every structure in its best fit, and further ones with terms that the windows did not find."""
        ways = {name: self._ways(own) for name, own in hybrids.items()}
        found = {name: self._best(tried) for name, tried in ways.items()}
        made = dict(hybrids)
        if self.parts.enough and terms:
            base = "parameters" if "parameters" in hybrids else "known"
            last = ways[base][-1]  # of a structure with unknowns the least squares of simulated stretches
            model = hybrids[base].moved(last.unknowns.values)
            for count, (own, result) in enumerate(self._additions(model, last, terms), 1):
                made[f"{count} term{'s' * (count > 1)}"], found[f"{count} term{'s' * (count > 1)}"] = own, result
        order = [n for n in made if n not in ("network", "windows")] + [n for n in ("network", "windows") if n in made]
        return {name: made[name] for name in order}, found

    def _additions(self, model: Model, found: Estimate, terms: Sequence[sp.Expr]) -> list[tuple[Hybrid, Estimate]]:
        path: list[tuple[Hybrid, Estimate]] = []
        for _ in range(MOST_TERMS):
            if self.setup.spent():
                break
            larger = best_addition(self.setup, found, offered(model, terms))
            if larger is None:
                break
            own = hybrid(larger)
            found = estimate_on(self.setup, own.field, own.unknowns, found, search=False)
            if not np.isfinite(found.solution.passed.cost):
                break
            model = own.moved(found.unknowns.values)
            path.append((own, found))
        return path

    def _ways(self, own: Hybrid) -> list[Estimate]:
        """A structure fitted in several ways: likeliest, with less process noise, by simulation."""
        ways = [estimate_on(self.setup, own.field, own.unknowns, self.first)]
        if self.parts.enough and len(own.unknowns) and not self.setup.spent():
            ways += continuation(self.setup, ways[0])
            ways += [simulation_fit(self.setup, own.field, start, self.whole) for start in self._starts(own)]
        return ways

    def _best(self, ways: Sequence[Estimate]) -> Estimate:
        """The way with the smallest held-back free-run error."""
        if len(ways) == 1:
            return ways[0]
        errors = [float(np.mean(free_run_errors(self.setup, way, self.parts))) for way in ways]
        return ways[int(np.argmin(errors))]

    def _starts(self, own: Hybrid) -> list[Any]:
        """The windows' numbers, and the user's first guess of the parameters where that is another."""
        starts = [own.unknowns]
        values = own.unknowns.values.copy()
        guess = [self.given.parameters[name].value for name in own.model.physics.learned]
        values[: len(guess)] = guess
        if not np.allclose(values, own.unknowns.values):
            starts.append(replace(own.unknowns, values=values))
        return starts
