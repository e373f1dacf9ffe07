"""Candidates where no model explains the rows up to sensor noise: fitted in several ways, chosen by free runs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.refinement.estimate import (
    Estimate,
    Setup,
    continuation,
    estimate_on,
    likeliest,
    simulation_fit,
    solve_with_noise,
)
from tinyude.refinement.forces import forces_of
from tinyude.refinement.guard import HeldBack, free_run_errors, paired
from tinyude.refinement.hybrid import Hybrid, hybrid
from tinyude.refinement.noise import robust_log_likelihood
from tinyude.refinement.search import Added, Offer, best_additions
from tinyude.refinement.stretches import Stretch
from tinyude.refinement.support import contradicted

Array = NDArray[Any]
MOST_TERMS = 4  # most terms that the search adds
NOISE_ROUNDS = 5  # most rounds of unknowns and noise after each: a variance falls by up to 100 in one
PROMISING = 6  # terms that are fitted on trial before one of them is added


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
    following : tuple of str
        Inputs that a controller computes from the states: their effects and those of the states are not separable, and
        how they act is stated in the physics. No terms of them are tried.
    """

    setup: Setup
    given: Physics
    parts: HeldBack
    whole: Sequence[Stretch]
    first: Estimate
    following: tuple[str, ...] = ()

    def run(
        self, hybrids: Mapping[str, Hybrid], terms: Sequence[sp.Expr]
    ) -> tuple[dict[str, Hybrid], dict[str, Estimate]]:
        """Every structure in its best fit, and further structures with terms that the windows did not find."""
        made, ways, alone = dict(hybrids), {}, self._likeliest(hybrids["known"])
        base = "parameters" if "parameters" in hybrids else "known"
        for name, own in hybrids.items():
            ways[name] = self._ways(own)
            if name == base and self.parts.enough and terms:
                last = ways[name][-1]
                for number, (larger, way) in enumerate(
                    self._additions(own.moved(last.unknowns.values), last, terms, alone)
                ):
                    made[f"{number + 1} more"], ways[f"{number + 1} more"] = larger, [way]
        return made, {name: self._best(own, alone) for name, own in ways.items()}

    def _likeliest(self, known: Hybrid) -> float:
        """One-step log-likelihood of the known physics as given."""
        bare = replace(self.first, field=known.field, solution=replace(self.first.solution, unknowns=known.unknowns))
        return likeliest(self.setup, bare, self.first.batch)

    def _additions(
        self, model: Model, found: Estimate, terms: Sequence[sp.Expr], alone: float
    ) -> list[tuple[Hybrid, Estimate]]:
        path: list[tuple[Hybrid, Estimate]] = []
        offer = forces_of(model, terms, self.following) or Added(terms, self.following)
        for left in range(MOST_TERMS, 0, -1):
            if self.setup.spent():
                break
            larger = self._larger(model, found, offer, self.setup.part(left))
            if larger is None:
                break
            own, found = larger
            if found.kappa and not self.setup.spent():  # the term may replace some process noise
                found = self._best([found, estimate_on(self.setup, own.field, found.unknowns, self.first)], alone)
            model = own.moved(found.unknowns.values)
            path.append((own, found))
        return path

    def _larger(
        self, model: Model, found: Estimate, offer: Offer, spent: Callable[[], bool]
    ) -> tuple[Hybrid, Estimate] | None:
        """Add one term: the most promising ones are fitted, and the one with the highest likelihood is kept.

        spent: whether to stop fitting further ones. The first is always fitted.
        """
        fitted: list[tuple[float, Hybrid, Estimate]] = []
        for larger in best_additions(self.setup, found, model, offer, PROMISING):
            if fitted and spent():
                break
            own = hybrid(larger)
            start = replace(found, field=own.field, solution=replace(found.solution, unknowns=own.unknowns))
            tried = solve_with_noise(self.setup, start, NOISE_ROUNDS)
            if np.isfinite(tried.solution.passed.cost):
                fitted.append((robust_log_likelihood(tried.solution.passed, tried.gate), own, tried))
        return max(fitted, key=lambda entry: entry[0])[1:] if fitted else None

    def _ways(self, own: Hybrid) -> list[Estimate]:
        """A structure fitted in several ways: most likely noise, less process noise, simulation error."""
        richest = own.field is self.first.field  # its values are already close
        likeliest = estimate_on(self.setup, own.field, self.first.unknowns if richest else own.unknowns, self.first)
        if not self.parts.enough:
            return [likeliest]
        if not len(own.unknowns):  # process noise of an unmeasured state would replace a term
            hidden = bool(self.setup.measurement.sensors.guess)
            return [likeliest, *([simulation_fit(self.setup, own.field, own.unknowns, self.whole)] if hidden else [])]
        fits = [simulation_fit(self.setup, own.field, start, self.whole) for start in self._starts(own)]
        fits.sort(key=_misfit, reverse=True)
        return [likeliest, *([] if self.setup.spent() else continuation(self.setup, likeliest)), *fits]

    def _best(self, ways: Sequence[Estimate], alone: float) -> Estimate:
        """The likeliest fit, which is the first, unless one that the record does not contradict simulates better.

        Held-back free runs of few blocks hardly distinguish ways to fit the same unknowns; a difference within a
        standard error does not count.
        """
        if len(ways) == 1:
            return ways[0]
        scores = [free_run_errors(self.setup, way, self.parts) for way in ways]
        order = np.argsort([score.mean() for score in scores], kind="stable").tolist()
        sound = [k for k in order if not contradicted(self.setup, ways[k], self.first.batch, alone)]
        best = next(iter(sound), order[0])
        apart, error = paired(scores[0], scores[best])
        return ways[0] if 0 in sound and apart <= error else ways[best]

    def _starts(self, own: Hybrid) -> list[Any]:
        """Start values: those of the windows, and the user's guess of the parameters if different."""
        starts = [own.unknowns]
        values = own.unknowns.values.copy()
        guess = [self.given.parameters[name].value for name in own.model.physics.learned]
        values[: len(guess)] = guess
        if not np.allclose(values, own.unknowns.values):
            starts.append(replace(own.unknowns, values=values))
        return starts


def _misfit(found: Estimate) -> float:
    """Mean squared innovation, in the units of the channels."""
    passed = found.solution.passed
    known = np.isfinite(passed.innovations)
    return float(np.mean(passed.innovations[known] ** 2)) if np.isfinite(passed.cost) and known.any() else np.inf
