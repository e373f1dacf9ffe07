"""Runs refinement for a fit and writes its results into the attributes and diagnostics that users see."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.data.left_out import Span
from tinyude.data.streams import Stream
from tinyude.model.diagnostics import network_share
from tinyude.model.equations import NORMAL, parameter_table, term_table
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.physics.holds import Hold, as_holds
from tinyude.physics.kinematics import measured_map
from tinyude.refinement.budget import Budget
from tinyude.refinement.choose import WHOLE
from tinyude.refinement.estimate import Setup
from tinyude.refinement.gating import rejected_rows
from tinyude.refinement.hybrid import fixed_field, hybrid, without_parts
from tinyude.refinement.likeliest_holds import likeliest_holds
from tinyude.refinement.prepare import make_setup
from tinyude.refinement.records import Record, records_of, without_saturation
from tinyude.refinement.refine import Refined, refine
from tinyude.refinement.residual_analysis import residual_analysis
from tinyude.refinement.several_starts import likeliest_start
from tinyude.refinement.smoother import States, directions_of
from tinyude.refinement.starts import Sensors
from tinyude.refinement.support import Rates

Array = NDArray[Any]
ROWS_USED = 1000
PASSES_SHARE = 0.5  # of the time, for filter passes; the rest is for programs and the streaming learner
HOLDS_SHARE = 0.1  # of the passes, for the choice of holds


@dataclass(frozen=True)
class RefineOptions:
    """The user's choices in addition to the physics.

    Attributes
    ----------
    measured : sequence of str, optional
    unmeasured : mapping
        State to (guess, spread), for states that no channel measures.
    hold : str or mapping
        What inputs do between samples; "auto": the most likely.
    offered : sequence of expressions
        Terms to try where no candidate explains the rows.
    seconds : float
    streamed : callable, optional
        Takes the holds found and the spans of the record to leave out; returns the streaming learner's model, or None.
    rates : callable, optional
        A model's remainder of the rates estimated by the windows, in units of noise.
    """

    measured: Sequence[str] | None = None
    unmeasured: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    hold: str | Mapping[str, Any] = "auto"
    offered: Sequence[sp.Expr] = ()
    seconds: float = 2.0
    streamed: Callable[[Sequence[Hold], Sequence[Span]], Model | None] | None = None
    rates: Rates | None = None


def refine_fit(
    model: Model, given: Physics, stream: Stream, options: RefineOptions
) -> tuple[Refined, tuple[Hold, ...]]:
    """Refine a model of a stream; also returns the hold found for each input."""
    _, channel, order = measured_map(given, options.measured, options.unmeasured)
    guess = {given.states.index(name): pair for name, pair in options.unmeasured.items()}
    records = without_saturation(records_of(stream))
    plain = Sensors(channel, order, as_holds("held", given.inputs), guess)
    budget = Budget(PASSES_SHARE * options.seconds)
    setup = make_setup(model, records, plain, budget)
    if guess:
        model = likeliest_start(model, records, plain, setup, budget)
    holds = as_holds("held" if options.hold == "auto" else options.hold, given.inputs)
    open_ = options.hold == "auto" and bool(given.inputs)
    if open_ and not guess:
        holds = _likeliest(model, records, setup, budget)
    refined = _refined(model, given, records, replace(plain, holds=holds), setup, budget, options)
    if open_ and guess:  # only a model that explains the rows can decide the holds
        likelier = _likeliest(refined.model, records, setup, budget)
        if likelier != holds:
            holds = likelier
            refined = _refined(model, given, records, replace(plain, holds=holds), setup, budget, options)
    return refined, holds


def _refined(
    model: Model, given: Physics, records: Sequence[Record], sensors: Sensors, setup: Setup, budget: Budget,
    options: RefineOptions,
) -> Refined:  # fmt: skip
    streamed = None if options.streamed is None else partial(options.streamed, sensors.holds)
    return refine(model, given, records, sensors, setup, budget, options.offered, streamed, options.rates)


def _likeliest(model: Model, records: Sequence[Record], setup: Setup, budget: Budget) -> tuple[Hold, ...]:
    budget.grant(HOLDS_SHARE)
    return likeliest_holds(model, records, setup, HOLDS_SHARE * budget.seconds)


def smoothed_states(refined: Refined) -> States:
    """Smoothed states: given all rows of their stretch, under the chosen model, whose errors count too."""
    found = refined.estimate
    own = np.zeros((len(found.unknowns),) * 2)
    if refined.model.covariance is not None and len(own):
        places = hybrid(refined.model).places
        own = refined.model.covariance[np.ix_(places, places)]
    filter_ = refined.setup.make(found.field, found.batch, refined.setup.plan)
    values, variances = filter_.smooth(found.unknowns.values, found.noise, found.gate, directions_of(own))
    run = np.concatenate([np.full(len(s), s.run) for s in found.batch.stretches])
    return States(found.batch.times, values, np.sqrt(variances), run)


def refined_figures(refined: Refined, given: Physics, states: States) -> dict[str, Any]:
    """Changed diagnostics, and those of refinement itself; given: the physics before the fit."""
    model, found = refined.model, refined.estimate
    best = next(c for c in refined.candidates if c.best)
    thin = slice(None, None, max(1, len(states.times) // ROWS_USED))
    inputs = found.batch.inputs[thin, :, 0]
    figures: dict[str, Any] = {"refinement": _figures(refined, best.name)}
    sensed = refined.setup.plan.measured
    known = fixed_field(replace(without_parts(model), physics=given.stated))
    alone = refined.setup.make(known, found.batch, refined.setup.plan).run(np.zeros(0), found.noise, 0.0, False)
    figures["innovations"] = residual_analysis(model, found.batch, found.solution.passed, sensed, alone)
    figures["network"] = network_share(model, states.values[thin], inputs)
    if best.name not in WHOLE:
        figures["terms"] = term_table(model, NORMAL)
        figures["parameters"] = parameter_table(model, NORMAL)
    return figures


def _figures(refined: Refined, best: str) -> dict[str, Any]:
    found, passed = refined.estimate, refined.estimate.solution.passed
    return {
        "best": best,
        "following": list(refined.following),
        "candidates": [c.to_dict() for c in refined.candidates],
        "held_back_runs": len(refined.held_back.runs),
        "chosen_by": "evidence" if refined.by_evidence else "held-back free runs",
        "noise": np.sqrt(found.noise.measurement),
        "process_noise": found.kappa,
        "stretches": len(found.batch.stretches),
        "rows": found.batch.rows,
        "rejected": float(rejected_rows(passed).mean()),
        "mean_square": float(passed.squares.sum() / max(passed.counts.sum(), 1.0)),
        "converged": bool(found.solution.converged),
    }
