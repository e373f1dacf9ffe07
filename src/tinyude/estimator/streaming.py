"""The streaming learner on a record: its configuration, library terms and session, and its result."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import sympy as sp

from tinyude.data.streams import Stream
from tinyude.errors import TinyUDEError
from tinyude.estimator.options import FitOptions
from tinyude.model.diagnostics import REASON_WORDS, diagnose, record_excerpt
from tinyude.model.model import Model
from tinyude.model.result import FitResult
from tinyude.model.uncertainty import spread, with_neighbours
from tinyude.model.windows import Windows
from tinyude.physics.holds import Hold, as_holds, learner_holds
from tinyude.physics.kinematics import (
    free_states,
    measured_map,
    perceptron_columns,
    rate_channels,
    residual_states,
    wrapped_channels,
)
from tinyude.physics.library import MAX_COLUMNS, default_terms, given_terms, harmonic, linear_terms
from tinyude.reference.config import Config
from tinyude.training.batch.accepted import accepted_windows
from tinyude.training.batch.figures import SHORTEST_HALF
from tinyude.training.batch.observe import Observed, observe
from tinyude.training.data_defaults import rotating, rough_rms, two_way, window_order
from tinyude.training.engines import make_engine
from tinyude.training.memory import memory_figures
from tinyude.training.presets import longest_half, make_config
from tinyude.training.restart import clearly_better
from tinyude.training.seed import seed_of
from tinyude.training.session import (
    Progress,
    Session,
    calibrate,
    most_updates,
    move_parameters,
    push_stream,
    read_result,
    restart,
    train,
)

PARAMETER_PASSES = 8
MOST_HALF = 8192  # samples, limit of the core (MAX_HALF in core/src/config.c)
LIVE_SAMPLES = 40_000  # default length for which a live stream is sized


def fit_streaming(
    options: FitOptions, stream: Stream, report_progress: Progress | None = None, observed: Observed | None = None
) -> tuple[FitResult, Session]:
    """Run the streaming learner over a whole record, then the remaining updates.

    Free states are inputs of a perceptron only if it then predicts held-out windows clearly better.
    """
    session = _learned(options, stream, report_progress)
    if options.sees is None and _may_see_free_states(options):
        wider = _learned(replace(options, sees=(*options.physics.states, *options.physics.inputs)), stream)
        states = wider.engine.state(), session.engine.state()
        session = wider if clearly_better(wider.config, states[0], session.config, states[1]) else session
    return streamed_result(options, session, stream, observed=observed), session


def _learned(options: FitOptions, stream: Stream, report_progress: Progress | None = None) -> Session:
    """A learner that has seen a whole record and made its updates."""
    session = learner_session(options, stream)
    calibrate(session, stream)
    if session.config.parameters:
        session = _learn_parameters(options, session, stream)
    total = stream.count + most_updates(session)
    done = push_stream(session, stream, lambda rows: report_progress(rows, total) if report_progress else None)
    train(session, lambda steps: report_progress(min(done + steps, total), total) if report_progress else None)
    if report_progress:
        report_progress(total, total)
    return session


def _may_see_free_states(options: FitOptions) -> bool:
    """Whether there are free states, and a perceptron that could use them as inputs."""
    return options.preset == "default" and bool(options.layers) and bool(free_states(options.physics))


def learner_session(options: FitOptions, stream: Stream, live: bool = False) -> Session:
    """Everything decided before the first sample."""
    options.check()
    terms, forced = offered_terms(options, stream)
    config = learner_config(options, stream, terms, forced, live)
    engine, name = make_engine(options.engine, options.precision, config, options.physics, terms)
    again = _second_start(options, terms, config.wrap, live) and bool(config.hidden)
    started = time.perf_counter()
    return Session(engine, name, config, terms, options.physics, started, [], options.updates is None, again)


def streamed_result(
    options: FitOptions, session: Session, stream: Stream, live: bool = False, observed: Observed | None = None
) -> FitResult:
    """The learner's result, with its diagnostics."""
    if not session.engine.state()["accepted"]:
        raise none_passed(session.engine.state())
    result = read_result(session)
    model, config = result.model, session.config
    seen = record_windows(options, stream, model, observed)
    if any(config.order) and not live:
        result.model = with_neighbours(model, seen.long())
    made = {"preset": options.preset, "engine": session.engine_name, "precision": options.precision}
    result.diagnostics = diagnose(result, stream, seen, **made, **memory_figures(result.model, config))
    result.diagnostics["seconds"] = time.perf_counter() - session.started
    if not live:
        result.spread = spread(result.model, seen.long())
        result.record = record_excerpt(seen, stream, model)
    return result


def learner_config(
    options: FitOptions,
    stream: Stream,
    terms: Sequence[sp.Expr],
    forced: int = 0,
    live: bool = False,
    on: tuple[int, ...] | None = None,
    holds: Sequence[Hold] = (),
) -> Config:
    """The learner's configuration for a record and these terms; holds: those found by a fit."""
    physics, measured = options.physics, options.measured
    sees = perceptron_columns(physics, options.sees, options.preset)
    _, channel, order = measured_map(physics, measured)
    on = residual_states(physics, options.on, options.preset) if on is None else on
    given = options.learner_settings
    if options.keep:
        given.setdefault("threshold", 0.0)  # of the streaming learner
    samples = max(stream.count, LIVE_SAMPLES) if live else stream.count
    wrap = wrapped_channels(physics, measured, None if live else rotating(stream))
    if live:
        given.setdefault("calibration", 10_000)
        given["reservoir"] = given["reservoir"] or 4096
    elif options.preset == "default":
        whole = isinstance(stream.runs, list)  # a window lies within one run; pieces of a long log continue
        if options.window is not None:
            asked = int(min(0.5 * options.window / stream.period, MOST_HALF))
            given.setdefault("max_half", max(asked, SHORTEST_HALF))
        given.setdefault("max_half", longest_half(len(stream.longest.samples) if whole else stream.count))
        given.setdefault("poly", window_order(stream, given["max_half"]))
    compared = _second_start(options, terms, wrap, live) or (not live and _may_see_free_states(options))
    if not holds and options.hold != "auto":
        holds = as_holds(options.hold, physics.inputs)
    return make_config(
        options.preset, samples, stream.period, given, compared,
        channels=len(stream.names), channel=channel, order=order,
        rate_channel=rate_channels(physics, measured, on),
        wrap=wrap, inputs=physics.n_inputs, **learner_holds(holds), on=on, sees=sees,
        hidden=options.layers,
        parameters=len(physics.learned), library_terms=len(terms), forced=len(physics.learned) + forced * len(on),
        seed=seed_of(options.random_state),
    )  # fmt: skip


def record_windows(
    options: FitOptions,
    stream: Stream,
    model: Model,
    observed: Observed | None = None,
    holds: Mapping[str, Sequence[Any]] | None = None,
) -> Windows:
    """Accepted windows of a record: those of the fit, or newly estimated ones of another record."""
    between = as_holds(holds or {}, model.physics.inputs)
    observed = observed or observe(model.physics, stream, options.measured, model.on, options.window)
    return accepted_windows(observed, model, holds=between)


def none_passed(state: Mapping[str, Any]) -> TinyUDEError:
    """The error if every window was rejected."""
    counts = ", ".join(f"{n} {words}" for words, n in zip(REASON_WORDS.values(), state["rejected"], strict=True) if n)
    return TinyUDEError(
        f"None of {state['windows']} windows passed the acceptance test ({counts or 'record too short'}); "
        "check the sample period and the units, or give a longer record."
    )


def _second_start(options: FitOptions, terms: Sequence[sp.Expr], wrap: Sequence[int], live: bool) -> bool:
    """Whether a network with a rotating angle as input, without harmonics, is trained from a second start."""
    return options.preset == "default" and not live and any(wrap) and not harmonic(list(terms))


def offered_terms(options: FitOptions, stream: Stream) -> tuple[list[sp.Expr], int]:
    """Library terms, and how many of them are forced (the linear skip of a network alone)."""
    physics = options.physics
    if options.preset != "default":
        return [], 0
    most = (MAX_COLUMNS - len(physics.learned)) // len(residual_states(physics, options.on, options.preset))
    if options.library is None:
        skip = linear_terms(physics) if options.skip else []
        return skip, len(skip)
    if isinstance(options.library, str):
        rms = rough_rms(physics, options.measured, stream)
        return default_terms(physics, rms, two_way(stream), most), 0
    return given_terms(physics, list(options.library), most), 0


def _learn_parameters(options: FitOptions, session: Session, stream: Stream) -> Session:
    """Gauss-Newton over the record: steps of the physical parameters from the linearised equations."""
    physics = session.physics
    for _ in range(PARAMETER_PASSES):
        trial = restart(session, physics, options.engine, options.precision, network=False)
        calibrate(trial, stream)
        push_stream(trial, stream, lambda rows: None)
        trial.engine.solve()
        steps = trial.engine.state()["coefficients"][: session.config.parameters]
        moved, physics = move_parameters(physics, steps)
        if moved < 1e-6:
            break
    session = restart(session, physics, options.engine, options.precision, network=True)
    calibrate(session, stream)
    return session
