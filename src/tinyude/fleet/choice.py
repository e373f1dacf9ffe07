"""The terms offered to all machines of a fleet, from the fits of a few of them.

Each of these is fitted on its own. The terms they find are added to the default library and the terms of the known
physics; `selection` chooses from these.
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
from tinyude.fleet import shapes
from tinyude.fleet.cluster import results
from tinyude.fleet.paths import Unit
from tinyude.fleet.selection import FOUND, Found, choose
from tinyude.fleet.shapes import form_text, term_form
from tinyude.fleet.sums import Sums, WindowPlan, stream_sums
from tinyude.fleet.work import Recipe, local_logs, read_stream
from tinyude.physics import Physics
from tinyude.physics.kinematics import residual_states
from tinyude.physics.library import MAX_COLUMNS, default_terms, given_terms, known_terms, term_text
from tinyude.training.data_defaults import rough_rms, two_way

Progress = Callable[[str, int, int], None]
PILOTS = 24  # machines that are examined
SETS = 6  # sets of terms found by machines that are tried as a start
SAME_NUMBERS = 0.3  # relative difference up to which a found form is that of a known term, with its numbers


@dataclass(frozen=True)
class Survey:
    """What one machine's log shows before terms are chosen."""

    rms: Mapping[str, float]  # of the states
    speeds: Sequence[str]  # channels that go both ways
    terms: Sequence[tuple[str, str]]  # state and term that its own fit found
    plan: WindowPlan  # its windows


def choose_terms(client: Any, units: Sequence[Unit], recipe: Recipe, report_progress: Progress) -> tuple[str, ...]:
    """The terms for all machines, from a few of them; () where none can be fitted."""
    looked_at = pilots(units)
    what, total = "choosing terms", 2 * len(looked_at)
    surveys = []
    look = partial(survey, recipe=recipe)
    for count, (unit, found, _) in enumerate(results(client, look, looked_at, "survey")):
        report_progress(what, count + 1, total)
        surveys += [(unit, found)] if found else []
    if not surveys:
        return ()
    known = in_known_physics(recipe)
    terms, sets = candidates(recipe, [found for _, found in surveys], known)
    plans = [(unit, found.plan) for unit, found in surveys]
    learned = len(recipe.rig.physics.learned)
    parts = _all_sums(client, plans, recipe, terms)
    if not parts:
        return ()
    chosen = choose([sums for _, sums in parts], terms, learned, known, sets)
    report_progress(what, len(looked_at) + len(plans), total)
    if not (term := _with_number(recipe, chosen, terms, known)):
        return tuple(chosen)
    beside = [text for text in chosen if text == term or not _numbers(recipe.rig.physics, text)]
    columns = [*range(learned), *(learned + list(terms).index(text) for text in beside)]
    starts = [(unit, dict(zip(beside, sums.solve(columns)[learned:], strict=True))) for unit, sums in parts]
    better = shapes.with_fitted_numbers(client, starts, recipe, residual_states_of(recipe)[0], term)
    terms = {better if text == term else text: count for text, count in terms.items()}
    sets = [frozenset((state, better if text == term else text) for state, text in found) for found in sets]
    parts = _all_sums(client, plans, recipe, terms)
    return tuple(choose([sums for _, sums in parts], terms, learned, known, sets))


def _all_sums(
    client: Any, plans: Sequence[tuple[Unit, WindowPlan]], recipe: Recipe, terms: Mapping[str, int]
) -> list[tuple[Unit, Sums]]:
    """The sums over candidate terms of every machine that has windows."""
    work = partial(candidate_sums, recipe=recipe, terms=list(terms))
    made = [(plan[0], sums) for plan, sums, _ in results(client, work, plans, "sums")]
    return [(unit, sums) for unit, sums in made if sums is not None and sums.windows]


def _with_number(
    recipe: Recipe, chosen: Sequence[str], terms: Mapping[str, int], known: Sequence[Mapping[str, float]]
) -> str:
    """Of the chosen terms with numbers in them, which are not the user's, the one that most machines found.

    "" where there is none, or several residual states share the terms.
    """
    theirs = {text for pieces in known for text in pieces}
    physics = recipe.rig.physics
    numbered = [text for text in chosen if text not in theirs and _numbers(physics, text)]
    return max(numbered, key=lambda text: terms[text]) if numbered and len(residual_states_of(recipe)) == 1 else ""


def _numbers(physics: Physics, text: str) -> list[float]:
    return term_form(given_terms(physics, [text])[0])[1]


def residual_states_of(recipe: Recipe) -> list[int]:
    """Numbers of the states whose rate is learned."""
    return list(residual_states(recipe.rig.physics, recipe.rig.residual_on, "default"))


def in_known_physics(recipe: Recipe) -> list[dict[str, float]]:
    """The terms of the known right-hand side of each residual state, with their coefficients."""
    physics = recipe.rig.physics
    return [known_terms(physics, state) for state in residual_states_of(recipe)]


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
            warnings.simplefilter("ignore")  # of a fit that is not kept
            stream = read_stream(paths, recipe.rig)
            ude = recipe.with_terms(()).estimator().fit(stream)
    except Exception:  # the unit's row has the error
        return None
    rms = rough_rms(recipe.rig.physics, tuple(recipe.rig.measured), stream)
    rates = [(entry["state"], entry["term"]) for entry in ude.terms_ if entry["state"] in ude.physics.states]
    return Survey(rms, two_way(stream), rates, WindowPlan.of(ude))


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


def candidates(
    recipe: Recipe, surveys: Sequence[Survey], known: Sequence[Mapping[str, float]] = ()
) -> tuple[dict[str, int], list[Found]]:
    """Terms for all machines, with the number of them that found it: their own, known ones, the default library.

    And the sets of terms that machines found, the most frequent first.

    The same form with other numbers in it, such as tanh(18*omega) and tanh(22*omega), is one term, with the numbers of
    a known term or with medians.
    """
    physics = recipe.rig.physics
    on = residual_states_of(recipe)
    most = (MAX_COLUMNS - len(physics.learned)) // len(on)
    found: dict[sp.Expr, list[list[float]]] = {}
    for entry in surveys:
        for form, numbers in _forms(physics, entry).values():
            found.setdefault(form, []).append(numbers)
    named = {form: n for form, n in found.items() if not n[0] or len(n) >= FOUND * len(surveys)}
    theirs = given_terms(physics, list(dict.fromkeys(text for pieces in known for text in pieces)))
    texts = {form: _named(form, np.median(numbers, axis=0), theirs) for form, numbers in named.items()}
    offered = {texts[form]: len(numbers) for form, numbers in named.items()}
    for term in theirs:
        offered.setdefault(term_text(term), 0)
    rms = {name: float(np.median([entry.rms[name] for entry in surveys])) for name in physics.states}
    votes = Counter(name for entry in surveys for name in entry.speeds)
    speeds = [name for name, count in votes.items() if count > len(surveys) / 2]
    for term in default_terms(physics, rms, speeds, most):
        if term_form(term)[0] not in named:
            offered.setdefault(term_text(term), 0)
    for name in (state for state in physics.states if state not in physics.angles):
        for text in (f"sqrt(Abs({name}))", f"{name}*Abs({name})"):  # outflow and drag: some fits use powers instead
            offered.setdefault(text, 0)
    offered = dict(list(offered.items())[:most])
    names = [physics.states[state] for state in on]
    sets = Counter(_found(physics, entry, names, texts, offered) for entry in surveys)
    return offered, [terms for terms, _ in sets.most_common(SETS) if terms]


def _forms(physics: Physics, entry: Survey) -> dict[str, tuple[sp.Expr, list[float]]]:
    """The form of every term that a machine found, each form once."""
    terms = sorted({term for _, term in entry.terms})
    forms = {term: term_form(given) for term, given in zip(terms, given_terms(physics, terms), strict=True)}
    return {term: forms[term] for term in {form: term for term, (form, _) in forms.items()}.values()}


def _found(
    physics: Physics, entry: Survey, states: Sequence[str], texts: Mapping[sp.Expr, str], offered: Mapping[str, int]
) -> Found:
    """What a machine found, as places of residual states and texts of candidates."""
    text = {term: texts.get(form, "") for term, (form, _) in _forms(physics, entry).items()}
    usable = [(state, text.get(term, "")) for state, term in entry.terms if state in states]
    return frozenset((states.index(state), name) for state, name in usable if name in offered)


def _with_decimals(term: sp.Expr) -> sp.Expr:
    """tanh(20*w) as tanh(20.0*w)."""
    return term.replace(
        lambda part: part.is_Mul and part.args[0].is_Integer,
        lambda part: sp.Float(part.args[0]) * sp.Mul(*part.args[1:]),
    )


def _named(form: sp.Expr, numbers: Any, known: Sequence[sp.Expr]) -> str:
    """A form with its numbers as text: that of a known term where the numbers are about the same."""
    for term in known:
        other, values = term_form(_with_decimals(term))
        if other == form and np.all(np.abs(numbers - np.array(values)) <= SAME_NUMBERS * np.abs(values)):
            return term_text(term)
    return form_text(form, numbers, digits=3)
