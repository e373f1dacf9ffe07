"""The terms that all machines of a fleet learn: only the same coefficients can be compared.

A few machines are looked at. Candidate terms are offered to all of them alike, their sums are merged, and terms are
added one by one while they explain more than a trifle; a term that most machines need, each with its own sign, is added
too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.fleet.paths import Unit
from tinyude.fleet.sums import GROUPS, Sums, WindowPlan, stream_sums
from tinyude.fleet.work import Recipe, local_logs, read_stream
from tinyude.physics.expressions import expression_text
from tinyude.physics.kinematics import residual_states
from tinyude.physics.library import MAX_COLUMNS, default_terms
from tinyude.reference.regression.library import MIN_GROUPS
from tinyude.training.data_defaults import rough_rms, two_way

PILOTS = 24  # machines looked at
WORTH = 0.003  # share of what is explained that a further term must add
NEW = 0.05  # share of a term's square that the terms before it do not hold: collinear ones cannot be compared
AS_GOOD = 0.9  # of the best term's gain: the simplest of these is taken
CERTAIN = 3.0  # jackknife standard errors, machines as groups where there are enough of them
WIDTHS = (2.5, 4.0, 6.3, 16.0, 25.0)  # of smooth dry friction, beside the library's 10 and 50 over the RMS speed
MOST_MACHINES = 0.5  # share that must need a term of varying sign


def pilots(units: Sequence[Unit], most: int = PILOTS) -> list[Unit]:
    """Units of machines spread over the fleet, the middle period of each."""
    machines: dict[str, list[Unit]] = {}
    for unit in units:
        machines.setdefault(unit.machine, []).append(unit)
    names = sorted(machines)
    chosen = names if len(names) <= most else [names[i] for i in np.linspace(0, len(names) - 1, most).astype(int)]
    return [machines[name][len(machines[name]) // 2] for name in chosen]


def survey(unit: Unit, recipe: Recipe) -> dict[str, Any] | None:
    """What a log shows before terms are chosen: RMS of the states, channels that go both ways; None: unreadable."""
    try:
        with local_logs(unit) as paths:
            stream = read_stream(paths, recipe.rig)
            measured = tuple(recipe.rig.measured)
            return {"rms": rough_rms(recipe.rig.physics, measured, stream), "speeds": two_way(stream)}
    except (TinyUDEError, OSError):
        return None


def candidate_sums(unit: Unit, recipe: Recipe, terms: Sequence[str]) -> Sums | None:
    """The sums of a unit's windows over candidate terms; None where it cannot be fitted."""
    try:
        with local_logs(unit) as paths:
            stream = read_stream(paths, recipe.rig)
            ude = recipe.with_terms(("1",)).estimator().fit(stream)
            return stream_sums(stream, ude.physics, WindowPlan.of(ude), terms)
    except (TinyUDEError, OSError):
        return None


def candidates(recipe: Recipe, surveys: Sequence[dict[str, Any]]) -> list[str]:
    """The default library for the typical machine of the fleet."""
    physics = recipe.rig.physics
    rms = {name: float(np.median([entry["rms"][name] for entry in surveys])) for name in physics.states}
    votes = Counter(name for entry in surveys for name in entry["speeds"])
    speeds = [name for name, count in votes.items() if count > len(surveys) / 2]
    on = residual_states(physics, recipe.rig.residual_on, "default")
    most = (MAX_COLUMNS - len(physics.learned)) // len(on)
    terms = default_terms(physics, rms, speeds, most)
    rates = {physics.states[j] for j in physics.kinematic if j is not None} or set(speeds)
    finer = [
        sp.tanh(sp.Float(f"{k / rms[name]:.3g}") * sp.Symbol(name, real=True))
        for name in physics.states
        if name in rates
        for k in WIDTHS
    ]
    return [expression_text(term) for term in [*terms, *finer][:most]]


def choose(parts: Sequence[Sums], terms: Sequence[str], parameters: int) -> list[str]:
    """The terms that the fleet needs, in the order of the candidates.

    Parameters
    ----------
    parts
        The sums of each machine looked at, over parameters and then the candidate terms of every residual state.
    terms
        The candidates.
    parameters
        Number of learned parameters, always in.
    """
    chosen = forward(_merged(parts), list(range(parameters)), terms)
    for _ in terms:
        votes = Counter(column for part in parts for column in forward(part, chosen, terms)[len(chosen) :])
        column, count = max(votes.items(), key=lambda entry: (entry[1], -entry[0]), default=(0, 0))
        if count <= MOST_MACHINES * len(parts):
            break
        chosen.append(column)
    names = {terms[(column - parameters) % len(terms)] for column in chosen if column >= parameters}
    return [term for term in terms if term in names]


def _merged(parts: Sequence[Sums]) -> Sums:
    """Machines as groups where there are enough of them, so that a term must hold in the fleet, not in one machine."""
    grouped = [part.in_one_group(i % GROUPS) for i, part in enumerate(parts)] if len(parts) >= MIN_GROUPS else parts
    whole = grouped[0]
    for part in grouped[1:]:
        whole = whole.merge(part)
    return whole


def forward(sums: Sums, chosen: list[int], terms: Sequence[str]) -> list[int]:
    """The chosen columns, and those that are worth adding one by one; of nearly equal ones the simplest."""
    found = list(chosen)
    length = {column: len(terms[(column - len(chosen)) % len(terms)]) for column in range(sums.columns)}
    while len(found) < sums.columns:
        base = sums.explained(found)
        fresh = [c for c in range(sums.columns) if c not in found and sums.novelty(c, found) > NEW]
        gains = {c: sums.explained([*found, c]) - base for c in fresh}
        best = max(gains.values(), default=0.0)
        if best <= WORTH * (base + best):
            break
        column = min((c for c in fresh if gains[c] >= AS_GOOD * best), key=lambda c: (length[c], -gains[c]))
        trial = [*found, column]
        if abs(sums.solve(trial)[-1]) <= CERTAIN * sums.errors(trial)[-1]:
            break
        found = trial
    return found
