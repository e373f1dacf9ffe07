"""The regression of a record: its targets and the problem of each residual state, given physics and holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.data.grid import MOSTLY_BAD
from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.differences import differences, relative_speeds
from tinyude.physics.holds import CLEARLY_LIKELIER, Hold, as_holds, interval_means
from tinyude.physics.kinematics import free_states, residual_states, seen_columns, unread_states
from tinyude.physics.programs import program_numpy
from tinyude.reference.numeric.elementary import TWO_PI
from tinyude.training.batch.carried_angle import offset_shapes
from tinyude.training.batch.covariance import Whitener, noise_rows
from tinyude.training.batch.feedback import followed_states
from tinyude.training.batch.kernel_fit import make_inputs
from tinyude.training.batch.library import Offer, Signal, corner_places, given_entry
from tinyude.training.batch.observe import observe
from tinyude.training.batch.problem import Problem
from tinyude.training.batch.state_fit import Choices, StateFit, first_fit, fit_state
from tinyude.training.batch.targets import Targets, corrected, make_targets
from tinyude.training.batch.windows import chosen_windows, enough_windows, with_run_ends

Array = NDArray[Any]
CONTRADICTION = 3.0  # chi^2 per row, relative to noise alone, at which a stated rate is not the measured one
NOT_A_RATE = 0.05  # of the rate's RMS: the least difference that counts; a latency of some samples causes less
HOLDS = tuple(Hold(kind, shift) for shift in (1, 0, -1) for kind in ("linear", "held"))  # by delay of the input
TO_AND_FRO = 0.75  # of its range, covered by both halves of a record where an angle swings between two ends
LARGEST = 1e100  # value of the known physics: squares of more, in units of noise, overflow
TWO_WAY = 0.05  # least share of samples on either side of 0 for a state to count as a speed


@dataclass(frozen=True)
class BatchOptions:
    """The user's choices; names as in tinyude.UDE."""

    measured: Sequence[str] | None = None
    on: Sequence[str] | None = None
    sees: Sequence[str] | None = None
    library: str | Sequence[sp.Expr] | None = "auto"  # "auto", "rich", terms, or None
    network: str | None = "auto"  # "auto", "kernel", or None
    keep: bool = False  # all terms of a given library
    window: float | None = None  # the longest, seconds
    hold: str | Mapping[str, Any] = "auto"  # what inputs do between samples; "auto": by evidence


def evidence_of(fits: Mapping[int, StateFit]) -> float:
    """Log evidence of the fits of all residual states together."""
    return sum(fit.evidence for fit in fits.values())


def _rotates(angle: Array) -> bool:
    """Whether an angle leaves one revolution, other than by swinging between the same two ends.

    A state that swings between two ends need not be an angle: it may also enter directly, even if its sine is known.
    """
    whole = np.ptp(angle)
    to_and_fro = min(np.ptp(half) for half in np.array_split(angle, 2)) > TO_AND_FRO * whole
    return bool(whole > TWO_PI and not (to_and_fro and whole < 2.0 * TWO_PI))


class Regression:
    """Targets of a record and the problems of its residual states."""

    def __init__(self, physics: Physics, stream: Stream, options: BatchOptions) -> None:
        self.physics, self.options = physics, options
        self.on = residual_states(physics, options.on, "default")
        self.runs = stream.runs if isinstance(stream.runs, list) else [stream.longest]
        seen = self.observed = observe(physics, stream, options.measured, self.on, options.window)
        if not seen.batches:
            raise TinyUDEError(
                "No window fits into this record without touching missing or stuck samples; check the sensors, or "
                "give a longer record."
            )
        self.lengths, self.noise, self.carried, self.prior = seen.lengths, seen.noise, seen.carried, seen.prior
        self.holds = as_holds("held" if options.hold == "auto" else options.hold, physics.inputs)
        self.batches = enough_windows(seen.batches)
        self.targets = self._make_targets()
        self.sees = seen_columns(physics, options.sees)
        self._leave_out_undefined()
        if options.library is None:  # a formula extrapolates to the ends, a network is reliable only where it has data
            self.batches = with_run_ends(self.batches)
        self.targets = self._make_targets()
        self.__dict__.pop("field", None)

    def _make_targets(self) -> Targets:
        seen = self.observed
        inputs = [interval_means(held, self.holds) for held in seen.inputs]
        return make_targets(seen.layout, self.batches, inputs)

    def first_pass(self) -> tuple[Regression, Regression, dict[int, StateFit]]:
        """The corrected targets and their rough fits, under the holds with the most evidence.

        A state that no equation uses may be an angle, of which a sine is missing: one that rotates is treated as an
        angle if the evidence is clearly higher.
        """
        found = self._under_likeliest_hold()
        columns, physics = self.targets.columns, self.physics
        rotating = [name for name in unread_states(physics) if _rotates(columns[:, physics.states.index(name)])]
        if new := [name for name in rotating if name not in physics.angles]:
            other = self.with_physics(physics.with_angles([*physics.angles, *new]))._under_likeliest_hold()
            if evidence_of(other[2]) > evidence_of(found[2]) + CLEARLY_LIKELIER:
                return other
        return found

    def _under_likeliest_hold(self) -> tuple[Regression, Regression, dict[int, StateFit]]:
        """The user's holds; with "auto", held unless another has clearly more evidence.

        The search starts with held inputs and tries earlier and later ones, as long as that helps.
        """
        if self.options.hold != "auto" or not self.physics.inputs:
            return self.passed()
        passes: dict[int, tuple[Regression, Regression, dict[int, StateFit]]] = {}

        def evidence(place: int) -> float:
            if not 0 <= place < len(HOLDS):
                return -np.inf
            if place not in passes:
                passes[place] = (self if HOLDS[place] == Hold() else self._with_hold(HOLDS[place])).passed()
            return evidence_of(passes[place][2])

        held = best = HOLDS.index(Hold())
        step = -1 if evidence(held - 1) > evidence(held) else 1
        while evidence(best + step) > evidence(best):
            best += step
        return passes[best if evidence(best) > evidence(held) + CLEARLY_LIKELIER else held]

    def passed(self) -> tuple[Regression, Regression, dict[int, StateFit]]:
        """These targets, those along the known field, and their rough fits."""
        work = self.corrected()
        return self, work, work.rough()

    def _with_hold(self, hold: Hold) -> Regression:
        work = self._fresh()
        work.holds = (hold,) * len(self.holds)
        work.targets = work._make_targets()
        return work

    def contradicted(self) -> list[int]:
        """States whose measured rate contradicts that they are the integral of another: their equation may lack a term.

        A late channel differs too, but by little.
        """
        found = []
        for i in self.helpers if self.options.on is None else ():
            rows = noise_rows(self.targets, self.lengths, self.noise.sigma, {i: self.slopes[:, i]})
            problem = Problem(self.targets, i, self.known_targets[i], [], Whitener(rows))
            differs = float(np.mean(problem.y**2)) > CONTRADICTION * problem.whitener.expected
            if differs and problem.size > NOT_A_RATE * float(np.sqrt(np.mean(self.field[:, i] ** 2))):
                found.append(i)
        return found

    def with_physics(self, physics: Physics) -> Regression:
        """The same windows with other parameter values, or with other angles."""
        work = self._fresh()
        work.physics = physics
        return work

    def corrected(self, fits: dict[int, StateFit] | None = None) -> Regression:
        """With node states that follow the known field and the fitted residual between the samples."""

        def field(columns: Array) -> Array:
            with np.errstate(all="ignore"):
                whole = np.array(self.physics.field(*self._split(columns)), dtype=np.float64)
                for i, fit in (fits or {}).items():
                    whole[:, i] += fit.values(columns)
            return whole

        work = self._fresh()
        work.targets = corrected(self.targets, field)
        return work

    def _fresh(self) -> Regression:
        work = object.__new__(Regression)
        stale = {"field", "slopes", "_sensitivities", "known_targets", "offer", "problems", "angles", "rotating"}
        work.__dict__ = {k: v for k, v in self.__dict__.items() if k not in stale}
        return work

    @property
    def states(self) -> int:
        return self.physics.n_states

    @cached_property
    def angles(self) -> tuple[int, ...]:
        return tuple(self.physics.states.index(name) for name in self.physics.angles)

    @cached_property
    def rotating(self) -> tuple[int, ...]:
        """Angles that rotate: only there does angle wrapping matter."""
        return tuple(k for k in self.angles if _rotates(self.targets.columns[:, k]))

    @cached_property
    def offer(self) -> Offer:
        columns = self.targets.columns
        rates = {j for i, j in enumerate(self.physics.kinematic) if j is not None and i not in self.on}
        if not rates:
            forward = np.mean(columns[:, : self.states] > 0.0, axis=0)
            rates = set(np.flatnonzero((forward > TWO_WAY) & (forward < 1.0 - TWO_WAY)).tolist()) - set(self.angles)
        rms = np.sqrt(np.mean(columns**2, axis=0)) + 1e-300
        return Offer(
            self.states, self.angles, tuple(sorted(rates)), rms, columns.min(axis=0), columns.max(axis=0),
            self.rotating, switched=self.switched, differences=self._differences(),
            corners=tuple(map(corner_places, columns.T)),
        )  # fmt: skip

    def _differences(self) -> tuple[Signal, ...]:
        columns, speeds, found = self.targets.columns, relative_speeds(self.physics), []
        for a, b in differences(self.physics):
            apart = columns[:, a] - columns[:, b]
            rms, angle = float(np.sqrt(np.mean(apart**2))) + 1e-300, bool({a, b} & set(self.rotating))
            low, high, corners = float(apart.min()), float(apart.max()), corner_places(apart)
            found.append(Signal(a, rms, low, high, b, (a, b) in speeds, angle, corners))
        return tuple(found)

    @cached_property
    def switched(self) -> tuple[int, ...]:
        """Columns of inputs that take two values, as a valve or a transistor does."""
        logged = np.concatenate(self.observed.inputs)
        return tuple(self.states + k for k, column in enumerate(logged.T) if len(np.unique(column)) <= 2)

    @cached_property
    def followed(self) -> tuple[int, ...]:
        """Columns of inputs that follow the states: their effect cannot be distinguished from that of a state."""
        named = followed_states(self.runs, self.physics.inputs, self.holds)
        return tuple(self.states + self.physics.inputs.index(name) for name in named)

    @cached_property
    def helpers(self) -> tuple[int, ...]:
        """States whose equation is known to be complete and whose rate is measured separately."""
        layout, kinematic = self.targets.layout, self.physics.kinematic
        return tuple(
            i
            for i in range(self.states)
            if i not in self.on
            and layout.channel[i] not in self.carried
            and not (layout.channel[i] == layout.channel[kinematic[i] or 0] and kinematic[i] != i)
        )

    @cached_property
    def field(self) -> Array:
        return np.asarray(self.physics.field(*self._split(self.targets.columns)), dtype=np.float64)

    @cached_property
    def slopes(self) -> Array:
        """df/dx at the nodes (nodes, states, states)."""
        return np.nan_to_num(self._field_by(range(self.states)))

    @cached_property
    def known_targets(self) -> list[Array]:
        return [self.targets.dx[:, i] - self.targets.filtered(self.field[:, i], i) for i in range(self.states)]

    @cached_property
    def choices(self) -> Choices:
        library = self.options.library
        if library is None or isinstance(library, str):
            return Choices(library, self.options.network is not None)
        return Choices([given_entry(term) for term in library], self.options.network is not None, self.options.keep)

    def sensitivity(self, state: int) -> Array:
        """df_i/dp at the nodes (nodes, learned parameters)."""
        return self._sensitivities[:, state]

    @cached_property
    def _sensitivities(self) -> Array:
        first = self.targets.columns.shape[1]
        return self._field_by(range(first, first + len(self.physics.learned)))

    def _field_by(self, wrt: Sequence[int]) -> Array:
        """The known field at the nodes differentiated by states, inputs or learned parameters (nodes, states, wrt).

        From its program: SymPy's derivatives of a long equation take longer than a fit.
        """
        columns, physics = self.targets.columns, self.physics
        values = np.array([physics.parameters[name].value for name in physics.learned])
        rows = np.concatenate([columns, np.broadcast_to(values, (len(columns), len(values)))], axis=1)
        with np.errstate(all="ignore"):
            found = program_numpy(program_derivative(physics.field_program(), wrt), rows)
        return np.asarray(found.reshape(len(columns), self.states, len(wrt)))

    def always_in(self, state: int) -> Array:
        """Columns that are never left out: learned parameters, then the offsets of carried angles."""
        parts = [self.sensitivity(state)]
        parts += [self.slopes[:, state, angle, None] * self.offsets for angle in self.carried_states]
        return np.concatenate(parts, axis=1)

    @property
    def carried_states(self) -> list[int]:
        layout = self.targets.layout
        return [i for i in range(self.states) if layout.channel[i] in self.carried and layout.order[i] == 0]

    @cached_property
    def offsets(self) -> Array:
        targets = self.targets
        return offset_shapes(targets.node_time, targets.run[targets.owner], self.lengths)

    def shifted(self, fits: dict[int, StateFit]) -> Regression:
        """With carried angles moved by the offset fitted with the known physics of the residual states."""
        columns = self.targets.columns.copy()
        start = len(self.physics.learned)
        knots = self.offsets.shape[1]
        for k, angle in enumerate(self.carried_states):
            place = slice(start + k * knots, start + (k + 1) * knots)
            weight = [np.sum(self.slopes[:, i, angle] ** 2) for i in self.on]
            seen = [fits[i].terms.coefficients[place] for i in self.on]
            columns[:, angle] += self.offsets @ (np.array(weight) @ np.array(seen) / (np.sum(weight) + 1e-300))
        work = self._fresh()
        work.targets = replace(self.targets, columns=columns)
        return work

    def problem(self, state: int, learned: Array | None = None) -> Problem:
        """The regression of one state; learned: slopes (nodes, states) of the first pass's fit."""
        targets, sigma = self.targets, self.noise.sigma
        own = self.slopes[:, state] if learned is None else self.slopes[:, state] + learned
        slopes = {i: self.slopes[:, i] for i in self.helpers} | {state: own}
        whitener = Whitener(noise_rows(targets, self.lengths, sigma, slopes), len(slopes))
        known = self.known_targets
        return Problem(targets, state, known[state], [known[i] for i in self.helpers], whitener, self.prior)

    def rough(self) -> dict[int, StateFit]:
        """First pass: terms of the plain library, whose slopes show how noise in the states enters."""
        choices = self.choices if self.choices.library is not None else Choices("auto")
        return {i: first_fit(self.problem(i), self.offer, choices, self.always_in(i)) for i in self.on}

    def final(self, fits: dict[int, StateFit]) -> dict[int, list[StateFit]]:
        """Second pass: all allowed models, by evidence."""
        sees = tuple(k for k in self.sees if self.options.sees is not None or k not in self.followed)
        free = [self.physics.states.index(name) for name in free_states(self.physics) if self.options.sees is None]
        inputs = make_inputs(self.targets.columns, sees, self.rotating, free)
        offer = replace(self.offer, followed=self.followed)
        self.problems = {i: self.problem(i, fits[i].slopes(self.targets.columns, self.states)) for i in self.on}
        return {
            i: fit_state(problem, offer, self.choices, inputs, self.always_in(i))
            for i, problem in self.problems.items()
        }

    def distance(self, other: Regression) -> float:
        """Largest RMS difference of the node states, in units of their spread."""
        ours, theirs = (work.targets.columns[:, : self.states] for work in (self, other))
        spread = np.std(ours, axis=0)
        return float(np.max(np.sqrt(np.mean((ours - theirs) ** 2, axis=0)) / np.where(spread > 0.0, spread, np.inf)))

    def left(self, state: int, fit: StateFit) -> float:
        """chi^2 per row of a fit, relative to noise alone."""
        problem = self.problems[state]
        rest = problem.y - problem.design(fit.values(self.targets.columns)[:, None])[:, 0]
        rest = rest - problem.fixed(self.always_in(state)) @ fit.terms.coefficients[: fit.parameters]
        return float(np.mean(rest**2)) / problem.whitener.expected

    def _split(self, columns: Array) -> tuple[Array, Array | None]:
        return columns[:, : self.states], columns[:, self.states :] if self.physics.n_inputs else None

    def _leave_out_undefined(self) -> None:
        """Without windows where the known physics has no value: noise may make a level negative, which has no root."""
        with np.errstate(all="ignore"):
            bad = ~(np.abs(self.field) < LARGEST)
        if not bad.any():
            return
        defined = np.ones(self.targets.count, dtype=bool)
        defined[self.targets.owner[bad.any(axis=1)]] = False
        share = 1.0 - float(defined.mean())
        if share > MOSTLY_BAD:
            node, state = np.argwhere(bad)[0]
            place = ", ".join(
                f"{name} = {value:.4g}"
                for name, value in zip(self.targets.layout.names, self.targets.columns[node], strict=True)
            )
            told = f"beyond {LARGEST:g}" if np.isfinite(self.field[node, state]) else "not finite"
            raise TinyUDEError(
                f"The known physics of {self.physics.states[state]} is {told} at {place}, and so in {share:.0%} of "
                f"the windows; at most {MOSTLY_BAD:.0%} can be left out: check the equation and the units, or give a "
                "value there, e.g. sqrt(abs(x))."
            )
        self.batches = chosen_windows(self.batches, defined)
        self.observed = replace(self.observed, batches=self.batches)
