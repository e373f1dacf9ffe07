"""The models tried for one residual state, and the choice between them by log evidence.

Nothing, terms, a kernel network, terms with a kernel network. Rich shapes are not tried where a few plain terms
already leave only noise, kernels where any terms do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model.kernel import KernelNetwork
from tinyude.training.batch.kernel_fit import Inputs, KernelFit, fit_kernel
from tinyude.training.batch.library import (
    Entry,
    Offer,
    depends_on,
    evaluate,
    expression,
    plain_library,
    relative_library,
    rich_library,
)
from tinyude.training.batch.problem import Problem
from tinyude.training.batch.terms_fit import (
    Columns,
    TermsFit,
    all_terms,
    choose_terms,
    fit_terms,
    make_columns,
    noise_scale,
    solve_terms,
    term_prior,
)

Array = NDArray[Any]

ONLY_NOISE = 1.15  # chi^2 per row, relative to noise alone, below which no network is tried after terms
FEW_TERMS = 2  # plain terms that suffice for a state; more are compared with rich shapes
KERNEL_PRICE = 10.0  # subtracted from the log evidence of models with a kernel


@dataclass(frozen=True)
class StateFit:
    """One way to explain a state's residual."""

    name: str  # "known", "terms", "kernel", "terms + kernel"
    state: int
    names: tuple[str, ...]  # of the states, then the inputs
    terms: TermsFit  # may be empty; with a kernel, the coefficients are fitted jointly
    kernel: KernelFit | None
    evidence: float
    parameters: int = 0  # columns of learned parameters, first in the coefficients

    @cached_property
    def network(self) -> tuple[KernelNetwork, Array] | None:
        """The kernel network and the covariance of [parameters, terms, its unknowns]."""
        return None if self.kernel is None else self.kernel.network(self.state)

    def values(self, columns: Array) -> Array:
        """The residual at rows of states and inputs (rows,)."""
        answer = np.zeros(len(columns))
        if self.terms.entries:
            found = evaluate(self.terms.entries, columns, self.names)
            answer += found @ self.terms.coefficients[self.parameters :]
        if self.network is not None:
            answer += self.network[0].evaluate(columns)[:, 0]
        return answer

    def slopes(self, columns: Array, states: int) -> Array:
        """Derivatives by the states at those rows (rows, states), by central differences."""
        answer = np.zeros((len(columns), states))
        used = set[int]().union(*(depends_on(entry, self.names) for entry in self.terms.entries))
        if self.network is not None:
            used |= set(self.network[0].depends_on(0))
        for k in used & set(range(states)):
            step = 1e-4 * (float(np.std(columns[:, k])) or 1.0)
            high, low = columns.copy(), columns.copy()
            high[:, k] += step
            low[:, k] -= step
            with np.errstate(all="ignore"):
                answer[:, k] = (self.values(high) - self.values(low)) / (2.0 * step)
        return np.nan_to_num(answer, posinf=0.0, neginf=0.0)


@dataclass(frozen=True)
class Choices:
    """Models that may be tried."""

    library: str | Sequence[Entry] | None = "auto"  # "auto", "rich", entries, or None
    kernel: bool = True
    keep: bool = False  # keep all given entries, whatever the evidence


def first_fit(problem: Problem, offer: Offer, choices: Choices, sensitivity: Array) -> StateFit:
    """Terms to start from, in the offered shapes."""
    columns = _plain_columns(problem, offer, choices, sensitivity)
    if choices.keep:
        terms = all_terms(problem, columns)
    else:
        terms = choose_terms(problem, columns, noise_scale(problem, columns))
    return _fit("terms", problem, terms, None, terms.evidence, sensitivity.shape[1])


def fit_state(problem: Problem, offer: Offer, choices: Choices, inputs: Inputs, sensitivity: Array) -> list[StateFit]:
    """All models tried, the best first."""
    parameters = sensitivity.shape[1]
    fixed = problem.fixed(sensitivity)
    nothing = solve_terms(problem, [], fixed, [], 1)
    found = [_fit("known", problem, nothing, None, nothing.evidence, parameters)]
    terms, offered = nothing, 1
    if choices.library is not None:
        terms, offered = _terms(problem, offer, choices, sensitivity)
        if terms.entries:
            found.append(_fit("terms", problem, terms, None, terms.evidence, parameters))
    if choices.kernel and inputs.sees and (choices.library is None or not only_noise(problem, terms)):
        found.append(_with_kernel(problem, inputs, nothing, fixed, parameters, 1))
        if terms.entries:
            found.append(_with_kernel(problem, inputs, terms, fixed, parameters, offered))
    asked = choices.keep and bool(terms.entries)
    return sorted(found, key=lambda fit: (asked and not fit.terms.entries, -fit.evidence))


def combinations(found: dict[int, list[StateFit]]) -> list[tuple[str, dict[int, StateFit]]]:
    """The best for every state; and, where they differ, the known physics alone, terms alone, kernels alone."""
    best = {i: offered[0] for i, offered in found.items()}
    kinds = {fit.name for fit in best.values()} - {"known"}
    named = " and ".join(sorted(kinds)) or "known"
    answer = [(named, best)]
    for name in ("known", "terms", "kernel", "terms + kernel"):
        states = {i: _of_kind(offered, name) for i, offered in found.items()}
        if any(fit.name == name for fit in states.values()) and states != best:
            answer.append((name, states))
    return answer


def _of_kind(offered: list[StateFit], name: str) -> StateFit:
    """The fit of that kind, or the known physics where the state has no such fit."""
    known = next(fit for fit in offered if fit.name == "known")
    return next((fit for fit in offered if fit.name == name), offered[0] if offered[0].name == "known" else known)


def _terms(problem: Problem, offer: Offer, choices: Choices, sensitivity: Array) -> tuple[TermsFit, int]:
    """Terms of the plain, the relative or the rich library, whichever has the most evidence, and the number offered."""
    plain = _plain_columns(problem, offer, choices, sensitivity)
    if choices.keep:
        return all_terms(problem, plain), len(plain.entries)
    first = best = fit_terms(problem, plain, noise_scale(problem, plain), offer.angles)
    entries = plain_library(offer)
    for library in (relative_library, rich_library) if choices.library in ("auto", "rich") else ():
        if choices.library == "auto" and _explained(problem, best):
            break
        entries = library(offer)
        columns = make_columns(problem, entries, sensitivity)
        more = fit_terms(problem, columns, noise_scale(problem, columns), offer.angles, first.entries)
        best = max(best, more, key=lambda fit: fit.evidence)
    return best, len(entries)


def _explained(problem: Problem, terms: TermsFit) -> bool:
    """Whether a few terms leave only noise; more may be a series of one shape."""
    return len(terms.entries) <= FEW_TERMS and only_noise(problem, terms)


def _plain_columns(problem: Problem, offer: Offer, choices: Choices, sensitivity: Array) -> Columns:
    """Terms of the plain library, or the user's terms."""
    given = choices.library if not isinstance(choices.library, str) else None
    columns = make_columns(problem, plain_library(offer) if given is None else list(given), sensitivity)
    if choices.keep and given is not None and (lost := [entry for entry in given if entry not in columns.entries]):
        term = expression(lost[0], problem.targets.layout.names)
        raise TinyUDEError(
            f"keep=True keeps the term {term}, but it is 0 throughout this record, or beyond all numbers: leave it "
            "out, or record motions in which it acts."
        )
    return columns


def only_noise(problem: Problem, terms: TermsFit) -> bool:
    """Whether the terms leave only noise."""
    return terms.chi2 < ONLY_NOISE * problem.whitener.expected * len(problem.y)


def _with_kernel(
    problem: Problem, inputs: Inputs, base: TermsFit, fixed: Array, parameters: int, offered: int
) -> StateFit:
    """A kernel network in addition to these terms, which keep their shapes."""
    size = np.linalg.norm(fixed, axis=0)
    unit = np.linalg.norm(problem.y) / np.where(size > 0.0, size, 1.0)
    prior = np.concatenate([unit, term_prior(problem, base.entries)])
    extra = np.concatenate([fixed, problem.columns(base.entries)], axis=1) * prior
    kernel = fit_kernel(problem, inputs, extra)
    kernel = replace(kernel, posterior=kernel.posterior.scaled(prior))
    count = len(prior)
    mean, covariance = kernel.posterior.mean[:count], kernel.posterior.covariance[:count, :count]
    noise = max(kernel.posterior.noise / np.sqrt(problem.whitener.expected), 1.0)
    terms = TermsFit(base.entries, mean, [], lambda: covariance, base.chi2, float(noise), base.evidence)
    price = KERNEL_PRICE + len(base.entries) * float(np.log(max(offered, 2)))
    name = "terms + kernel" if base.entries else "kernel"
    return _fit(name, problem, terms, kernel, kernel.posterior.evidence - price, parameters)


def _fit(
    name: str, problem: Problem, terms: TermsFit, kernel: KernelFit | None, evidence: float, parameters: int
) -> StateFit:
    return StateFit(name, problem.state, problem.targets.layout.names, terms, kernel, evidence, parameters)
