"""The terms that all machines of a fleet learn: only the same coefficients can be compared.

A few machines are looked at, each fitted on its own. What several of them found joins the default library and the
terms of the known physics; these candidates are offered to all of them alike, and terms are added one by one while they
explain a good part of what is left in most machines, each with coefficients of its own. Of nearly equal ones a known
one is taken, then that which more machines found. Known terms in which machines differ are added, and all of them where
nothing else is missing: a machine that wears differs in those.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.fleet.cluster import results
from tinyude.fleet.flags import LEAST
from tinyude.fleet.paths import Unit
from tinyude.fleet.sums import Sums, WindowPlan, solved, stream_sums
from tinyude.fleet.work import Recipe, local_logs, read_stream
from tinyude.physics.kinematics import residual_states
from tinyude.physics.library import MAX_COLUMNS, default_terms, given_terms, known_terms, term_text
from tinyude.training.data_defaults import rough_rms, two_way

Progress = Callable[[str, int, int], None]
PILOTS = 24  # machines looked at
FOUND = 0.2  # share of them that must have found a form with numbers in it for it to be offered to all
OF_THE_REST = 0.1  # share of the unexplained square that a further term must explain: chance explains less
WORTH = 3e-5  # share of the explained square that it must add: half a per cent of the missing part's size
NEW = 0.02  # share of a term's square that the terms before it do not hold: collinear ones cannot be compared
COLLINEAR = 1e-8  # the same for a single machine: below, its equations cannot be solved
AS_GOOD = 0.9  # of the best term's gain, and of what it leaves: of these a known one, one found by most, the simplest
CERTAIN = 3.0  # jackknife standard errors
MOST_MACHINES = 0.5  # share of the machines that must need a term
SAME_NUMBERS = 0.3  # relative difference up to which a found form is that of a known term, with its numbers


@dataclass(frozen=True)
class Survey:
    """What one machine's log shows before terms are chosen."""

    rms: Mapping[str, float]  # of the states
    speeds: Sequence[str]  # channels that go both ways
    terms: Sequence[str]  # that its own fit found
    plan: WindowPlan  # its windows


def choose_terms(client: Any, units: Sequence[Unit], recipe: Recipe, tell: Progress) -> tuple[str, ...]:
    """The terms for all machines, from a few of them; () where none can be fitted."""
    looked_at = pilots(units)
    what, total = "choosing terms", 2 * len(looked_at)
    surveys = []
    look = partial(survey, recipe=recipe)
    for count, (unit, found, _) in enumerate(results(client, look, looked_at, "survey")):
        tell(what, count + 1, total)
        surveys += [(unit, found)] if found else []
    if not surveys:
        return ()
    known = in_known_physics(recipe)
    terms = candidates(recipe, [found for _, found in surveys], known)
    work = partial(candidate_sums, recipe=recipe, terms=list(terms))
    parts = []
    plans = [(unit, found.plan) for unit, found in surveys]
    for count, (_, sums, _) in enumerate(results(client, work, plans, "sums")):
        tell(what, len(looked_at) + count + 1, total)
        parts += [sums] if sums is not None and sums.windows else []
    if not parts:
        return ()
    return tuple(choose(parts, terms, len(recipe.rig.physics.learned), known))


def in_known_physics(recipe: Recipe) -> list[dict[str, float]]:
    """The terms of the known right-hand side of each residual state, with their coefficients."""
    physics = recipe.rig.physics
    return [known_terms(physics, state) for state in residual_states(physics, recipe.rig.residual_on, "default")]


def pilots(units: Sequence[Unit], most: int = PILOTS) -> list[Unit]:
    """Units of machines spread over the fleet, the middle period of each."""
    machines: dict[str, list[Unit]] = {}
    for unit in units:
        machines.setdefault(unit.machine, []).append(unit)
    names = sorted(machines)
    chosen = names if len(names) <= most else [names[i] for i in np.linspace(0, len(names) - 1, most).astype(int)]
    return [machines[name][len(machines[name]) // 2] for name in chosen]


def survey(unit: Unit, recipe: Recipe) -> Survey | None:
    """A machine fitted on its own; None where it cannot be."""
    try:
        with local_logs(unit) as paths, warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of a first look, which is not kept
            stream = read_stream(paths, recipe.rig)
            ude = recipe.with_terms(()).windows_only().estimator().fit(stream)
    except (TinyUDEError, OSError):
        return None
    rms = rough_rms(recipe.rig.physics, tuple(recipe.rig.measured), stream)
    return Survey(rms, two_way(stream), [entry["term"] for entry in ude.terms_], WindowPlan.of(ude))


def candidate_sums(looked_at: tuple[Unit, WindowPlan], recipe: Recipe, terms: Sequence[str]) -> Sums | None:
    """The sums of a machine's windows over candidate terms; None where they cannot be made."""
    unit, plan = looked_at
    try:
        return file_sums(unit, recipe, plan, terms)
    except (TinyUDEError, OSError):
        return None


def file_sums(unit: Unit, recipe: Recipe, plan: WindowPlan, terms: Sequence[str]) -> Sums:
    """The sums of a unit's windows."""
    with local_logs(unit) as paths:
        return stream_sums(read_stream(paths, recipe.rig), recipe.rig.physics, plan, terms)


def candidates(recipe: Recipe, surveys: Sequence[Survey], known: Sequence[Mapping[str, float]] = ()) -> dict[str, int]:
    """Terms for all machines, with the number of them that found it: their own, known ones, the default library.

    The same form with other numbers in it, such as tanh(18*omega) and tanh(22*omega), is one term, with the numbers of
    a known term or with medians.
    """
    physics = recipe.rig.physics
    on = residual_states(physics, recipe.rig.residual_on, "default")
    most = (MAX_COLUMNS - len(physics.learned)) // len(on)
    found: dict[sp.Expr, list[list[float]]] = {}
    for entry in surveys:
        for form, numbers in dict(_form(term) for term in given_terms(physics, sorted(set(entry.terms)))).items():
            found.setdefault(form, []).append(numbers)
    named = {form: n for form, n in found.items() if not n[0] or len(n) >= FOUND * len(surveys)}
    theirs = given_terms(physics, list(dict.fromkeys(text for pieces in known for text in pieces)))
    offered: dict[str, int] = {}
    for form, numbers in named.items():
        offered[_named(form, np.median(numbers, axis=0), theirs)] = len(numbers)
    for term in theirs:
        offered.setdefault(term_text(term), 0)
    rms = {name: float(np.median([entry.rms[name] for entry in surveys])) for name in physics.states}
    votes = Counter(name for entry in surveys for name in entry.speeds)
    speeds = [name for name, count in votes.items() if count > len(surveys) / 2]
    for term in default_terms(physics, rms, speeds, most):
        if _form(term)[0] not in named:
            offered.setdefault(term_text(term), 0)
    for name in (state for state in physics.states if state not in physics.angles):
        for text in (f"sqrt(Abs({name}))", f"{name}*Abs({name})"):  # outflow and drag: some fits use powers instead
            offered.setdefault(text, 0)
    return dict(list(offered.items())[:most])


def _form(term: sp.Expr) -> tuple[sp.Expr, list[float]]:
    """A term with symbols in place of its decimal numbers, and these numbers."""
    numbers = list(dict.fromkeys(part for part in sp.preorder_traversal(term) if isinstance(part, sp.Float)))
    return term.xreplace({number: _place(i) for i, number in enumerate(numbers)}), [float(n) for n in numbers]


def _with_decimals(term: sp.Expr) -> sp.Expr:
    """tanh(20*w) as tanh(20.0*w)."""
    return term.replace(
        lambda part: part.is_Mul and part.args[0].is_Integer,
        lambda part: sp.Float(part.args[0]) * sp.Mul(*part.args[1:]),
    )


def _named(form: sp.Expr, numbers: Any, known: Sequence[sp.Expr]) -> str:
    """A form with its numbers as text: that of a known term where the numbers are about the same."""
    for term in known:
        other, values = _form(_with_decimals(term))
        if other == form and np.all(np.abs(numbers - np.array(values)) <= SAME_NUMBERS * np.abs(values)):
            return term_text(term)
    return term_text(form.xreplace({_place(i): sp.Float(f"{value:.3g}") for i, value in enumerate(numbers)}))


def _place(number: int) -> sp.Symbol:
    return sp.Symbol(f"_number{number}", real=True)


def choose(
    parts: Sequence[Sums], terms: Mapping[str, int], parameters: int, known: Sequence[Mapping[str, float]] = ()
) -> list[str]:
    """The terms that the fleet needs, in the order of the candidates; each machine has coefficients of its own.

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
    """
    machines = [_Machine(part) for part in parts]
    texts = list(terms)
    columns = range(parameters, parts[0].columns)
    text = {column: texts[(column - parameters) % len(texts)] for column in columns}
    value = {
        column: pieces[text[column]]
        for column in columns
        for pieces in known[(column - parameters) // len(texts) :][:1]
        if text[column] in pieces
    }
    found = list(range(parameters))
    while gains := _gains(machines, found, [column for column in columns if column not in found]):
        best = max(gains.values())
        close = [c for c, gain in gains.items() if gain >= AS_GOOD * best and AS_GOOD * (1.0 - gain) <= 1.0 - best]
        close.sort(key=lambda c: (c not in value, -terms[text[c]], len(text[c]), -gains[c]))
        certain = next((column for column in close if _share(parts, found, column) > MOST_MACHINES), None)
        if certain is None:
            break
        found.append(certain)
    missing = len(found) > parameters
    for column in value:
        if column in found or not _new(machines, column, found):
            continue
        if not missing or _share(parts, found, column, LEAST * abs(value[column])) >= FOUND:
            found.append(column)
    names = {text[column] for column in found[parameters:]}
    return [term for term in texts if term in names]


class _Machine:
    """Shares of one machine's squared target, with coefficients of its own."""

    def __init__(self, sums: Sums) -> None:
        self.total = sums.total

    def explained(self, chosen: list[int]) -> float:
        square = self.total[-1, -1]
        return float(self.total[chosen, -1] @ solved(self.total, chosen) / square) if chosen and square else 0.0

    def novelty(self, column: int, chosen: list[int]) -> float:
        """Share of a column's square that the chosen columns do not hold."""
        square = self.total[column, column]
        if not square:
            return 0.0
        if not chosen:
            return 1.0
        share = np.linalg.lstsq(self.total[np.ix_(chosen, chosen)], self.total[chosen, column], rcond=None)[0]
        return float(1.0 - share @ self.total[chosen, column] / square)


def _gains(machines: Sequence[_Machine], found: list[int], columns: Sequence[int]) -> dict[int, float]:
    """Columns worth adding, with the share of what is unexplained that each explains, median over the machines."""
    base = np.array([machine.explained(found) for machine in machines])
    gains = {}
    for column in columns:
        if not _new(machines, column, found):
            continue
        gain = np.array([_explained_with(machine, found, column) for machine in machines]) - base
        share = float(np.median(gain / np.maximum(1.0 - base, 1e-12)))
        if share > OF_THE_REST and float(np.median(gain)) > WORTH * float(np.median(base + gain)):
            gains[column] = share
    return gains


def _explained_with(machine: _Machine, found: list[int], column: int) -> float:
    usable = machine.novelty(column, found) > COLLINEAR
    return machine.explained([*found, column] if usable else found)


def _new(machines: Sequence[_Machine], column: int, found: list[int]) -> bool:
    """Whether a column can be told from those found, in most machines."""
    return float(np.median([machine.novelty(column, found) for machine in machines])) > NEW


def _share(parts: Sequence[Sums], found: list[int], column: int, least: float = 0.0) -> float:
    """Share of the machines in which a column's coefficient is above its jackknife error, and above a least size."""
    trial = [*found, column]
    sure = 0
    for part in parts:
        try:
            sure += bool(abs(part.solve(trial)[-1]) > max(CERTAIN * part.errors(trial)[-1], least))
        except (TinyUDEError, np.linalg.LinAlgError):
            continue  # this machine has never shown it
    return sure / len(parts)
