"""Whether the missing part acts through an input: terms of inputs and of rates, offered in one regression of all rates.

A missing torque enters every rate as the known one does, so one coefficient explains several equations.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.physics import Physics
from tinyude.physics.holds import CLEARLY_LIKELIER
from tinyude.physics.input_terms import InputTerm, acting_inputs, input_effects
from tinyude.training.batch.library import Entry, Factor, depends_on, evaluate, expression, plain_library
from tinyude.training.batch.problem import Problem
from tinyude.training.batch.targets import Targets
from tinyude.training.batch.terms_fit import Columns, TermsFit, choose_terms, fit_terms, make_columns, noise_scale

if TYPE_CHECKING:
    from tinyude.training.batch.regression import Regression
    from tinyude.training.batch.state_fit import StateFit

Array = NDArray[Any]

PLACE = "place"  # kind of an entry's first factor: the state whose rate, or the input, to which the entry is added


@dataclass(frozen=True)
class MeanNoise:
    """Variance of whitened noise over all residual states."""

    expected: float


@dataclass(frozen=True)
class Joint:
    """The problems of all residual states as one (`WhiteRows`)."""

    physics: Physics
    inputs: tuple[int, ...]  # through which terms may act
    problems: Sequence[Problem]

    @property
    def size(self) -> float:
        """RMS of the residuals, each in its own unit."""
        return 1.0

    @property
    def targets(self) -> Targets:
        """The windows, the same for all states."""
        return self.problems[0].targets

    @property
    def names(self) -> tuple[str, ...]:
        """Of the states, then the inputs."""
        return self.targets.layout.names

    @cached_property
    def y(self) -> Array:
        return np.concatenate([problem.y for problem in self.problems])

    @property
    def rows(self) -> int:
        return sum(problem.rows for problem in self.problems)

    @cached_property
    def whitener(self) -> MeanNoise:
        return MeanNoise(sum(p.whitener.expected * len(p.y) for p in self.problems) / len(self.y))

    @cached_property
    def effects(self) -> Array:
        """df/du at the nodes (nodes, states, inputs)."""
        columns, states = self.targets.columns, self.physics.n_states
        return input_effects(self.physics, self.inputs, columns[:, :states], columns[:, states:])

    def filtered(self, entries: Sequence[Entry]) -> Array:
        """Entries as the windows of every state filter them (windows of all states, entries)."""
        targets, states = self.targets, self.physics.n_states
        answer = np.zeros((len(self.problems), targets.count, len(entries)))
        by_shape: dict[Entry, list[int]] = {}
        for k, entry in enumerate(entries):
            by_shape.setdefault(entry[1:], []).append(k)
        for shape, places in by_shape.items():
            with np.errstate(all="ignore"):
                values = evaluate([shape], targets.columns, self.names)[:, 0]
            for k in places:
                place = entries[k][0].column
                for row, problem in enumerate(self.problems):
                    if place >= states:
                        effect = self.effects[:, problem.state, self.inputs.index(place - states)]
                        answer[row, :, k] = targets.filtered(effect * values, problem.state)
                    elif place == problem.state:
                        answer[row, :, k] = targets.filtered(values, problem.state)
        return answer.reshape(-1, len(entries))

    def whitened(self, seen: Array) -> Array:
        parts = np.split(seen, len(self.problems))
        return np.concatenate([problem.whitened(own) for problem, own in zip(self.problems, parts, strict=True)])

    def fixed(self, values: Array) -> Array:
        """Columns that always stay (nodes, columns, residual states)."""
        return np.concatenate([problem.fixed(values[..., k]) for k, problem in enumerate(self.problems)])

    def fresh(self, entries: Sequence[Entry]) -> Array:
        """Whitened columns of entries that are asked for once."""
        return self.whitened(np.nan_to_num(self.filtered(entries), posinf=0.0, neginf=0.0))

    def columns(self, entries: Sequence[Entry]) -> Array:
        made = [self._made(entry)[0] for entry in entries]
        return np.stack(made, axis=1) if made else np.zeros((len(self.y), 0))

    def rms(self, entries: Sequence[Entry]) -> Array:
        return np.array([self._made(entry)[1] for entry in entries])

    @cached_property
    def _made(self) -> Any:
        @lru_cache(maxsize=64)
        def made(entry: Entry) -> tuple[Array, float]:
            seen = np.nan_to_num(self.filtered([entry]), posinf=0.0, neginf=0.0)
            parts = np.split(seen[:, 0], len(self.problems))
            power = sum(np.mean((own / p.size) ** 2) for own, p in zip(parts, self.problems, strict=True))
            return self.whitened(seen)[:, 0], float(np.sqrt(power)) + 1e-300

        return made


def with_input_terms(work: Regression, fits: dict[int, StateFit]) -> Physics | None:
    """The physics with terms that act through its inputs, if these explain clearly more than terms of rates.

    fits: terms of every rate on its own.
    """
    inputs = acting_inputs(work.physics, work.on)
    if not inputs or work.carried or work.options.library not in ("auto", "rich"):
        return None
    joint = Joint(work.physics, inputs, [work.problem(i) for i in work.on])
    columns = _columns(work, joint)
    found = choose_terms(joint, columns, noise_scale(joint, columns))
    if found.evidence < sum(fit.evidence for fit in fits.values()) + CLEARLY_LIKELIER:
        return None
    more = _physics(work.physics, joint.names, found)
    return more if more.input_terms else None


def chosen_again(raw: Regression) -> Physics:
    """The physics of these targets with terms through its inputs chosen anew, along those that it has.

    Node states follow what was found between the samples, as for terms of rates: only then do sharp bends show.
    Shapes are fitted.
    """
    moved = raw.corrected()
    along = moved.with_physics(raw.physics.stated)
    slopes = moved.slopes - along.slopes
    inputs = acting_inputs(along.physics, along.on)
    joint = Joint(along.physics, inputs, [along.problem(i, slopes[:, i]) for i in along.on])
    columns = _columns(along, joint)
    found = fit_terms(joint, columns, noise_scale(joint, columns), along.angles, [])
    return _physics(along.physics, joint.names, found)


def _columns(work: Regression, joint: Joint) -> Columns:
    """Plain terms of the states, and the input's own multiple, added to each input; all plain terms added to each rate.

    The multiple of an input is its gain: a motor's torque constant. One that follows the states is not offered.
    """
    plain = plain_library(work.offer)
    own = [entry for entry in plain if all(k < work.states for k in depends_on(entry, joint.names))]
    offered: list[Entry] = []
    for place in (work.states + k for k in joint.inputs):
        gain: list[Entry] = [] if place in work.followed else [(Factor("power", place, (1.0,)),)]
        offered += [(Factor(PLACE, place), *entry) for entry in (*own, *gain)]
    offered += [(Factor(PLACE, i), *entry) for i in work.on for entry in plain]
    return make_columns(joint, offered, np.stack([work.sensitivity(i) for i in work.on], axis=-1))


def _through(found: TermsFit, states: int) -> list[int]:
    return [k for k, entry in enumerate(found.entries) if entry[0].column >= states]


def _physics(physics: Physics, names: tuple[str, ...], found: TermsFit) -> Physics:
    """The physics with the entries that act through inputs; those of rates are found again afterwards."""
    parameters = len(found.coefficients) - len(found.entries)
    plain = {sp.Symbol(name, real=True): sp.Symbol(name) for name in names}
    terms: list[InputTerm] = []
    values: dict[str, float] = {}

    def fresh(start: str) -> str:
        taken = {*names, *physics.parameters, *values}
        return next(name for n in range(1, len(taken) + 2) if (name := f"{start}_{n}") not in taken)

    for k in _through(found, physics.n_states):
        entry = found.entries[k]
        acts = names[entry[0].column]
        coefficient = fresh(acts)
        values[coefficient] = float(found.coefficients[parameters + k])
        free: dict[tuple[int, int], sp.Symbol] = {}
        for owner, (place, which) in found.free:
            if owner == k:
                shape = fresh(f"{acts}_shape")
                values[shape] = float(entry[place].shape[which])
                free[place - 1, which] = sp.Symbol(shape)
        form = expression(entry[1:], names, free).xreplace(plain)
        terms.append(InputTerm(acts, form, coefficient, tuple(symbol.name for symbol in free.values())))
    return physics.with_input_terms(terms, values) if terms else physics
