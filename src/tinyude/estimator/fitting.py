"""From a record to a model: the batch estimator with refinement, or the streaming learner."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import sympy as sp

from tinyude.data.left_out import Span, without
from tinyude.data.streams import IN_MEMORY, Stream
from tinyude.errors import TinyUDEError
from tinyude.estimator.options import FitOptions
from tinyude.estimator.streaming import fit_streaming, learner_config
from tinyude.model.collect_evidence import rates_over_noise
from tinyude.model.diagnostics import diagnose, record_excerpt, smoothed_excerpt
from tinyude.model.model import Model
from tinyude.model.result import FitResult
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.holds import Hold, learner_holds
from tinyude.physics.kinematics import residual_states, seen_columns
from tinyude.physics.library import default_terms, given_terms
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.refinement.apply import RefineOptions, refine_fit, refined_figures, smoothed_states
from tinyude.refinement.hidden import bare_model, hidden_figures
from tinyude.training.batch.accepted import accepted_windows
from tinyude.training.batch.figures import batch_calibration, batch_counters
from tinyude.training.batch.fit import batch_fit
from tinyude.training.batch.observe import Observed
from tinyude.training.batch.regression import BatchOptions
from tinyude.training.data_defaults import two_way
from tinyude.training.memory import memory_figures
from tinyude.training.session import Progress, Session

ROWS_USED = 1_000  # rows used for the figures of a model with unmeasured states
REFINE_SECONDS = 2.0  # time of refinement, or as long as the windows took


class Fit(NamedTuple):
    """A fit's result; the windows of a batch fit, and the final learner of a streamed one.

    seen: the windows compared with the model, unless refinement changed it.
    """

    result: FitResult
    observed: Observed | None = None
    session: Session | None = None
    seen: Windows | None = None


def fit_record(options: FitOptions, stream: Stream, report_progress: Progress | None = None) -> Fit:
    """Learn from a whole record: by the batch estimator, by the streaming learner, or by refinement alone."""
    options.check()
    started = time.perf_counter()
    if options.unseen():
        fit = Fit(_fit_hidden(options, stream))
    elif options.wants_streaming(stream):
        result, session = fit_streaming(options, stream, report_progress)
        fit = Fit(result, session=session)
    else:
        fit = _fit_batch(options, stream)
        if report_progress:
            report_progress(stream.count, stream.count)
    fit.result.diagnostics["seconds"] = time.perf_counter() - started
    return fit


def _fit_batch(options: FitOptions, stream: Stream) -> Fit:
    """Local windows, then models by evidence, then refinement."""
    library = options.library
    if library is not None and not isinstance(library, str):
        library = given_terms(options.physics, list(library)) or None
    network = options.network if options.layers else None
    chosen = BatchOptions(
        options.measured, options.on, options.sees, library, network, options.keep, options.window, options.hold
    )
    found = batch_fit(options.physics, stream, chosen)
    options = replace(options, physics=_given(options.physics, found.best.model.physics))
    model = found.best.model.with_learned(options.physics.learned)
    config = learner_config(options, stream, model.terms, on=model.on, holds=found.holds)
    weights = mlp_init(config.sizes, rng_seed(config.seed)) if config.hidden else np.zeros(0)
    result = FitResult(
        replace(model, sees=config.sees, hidden=config.hidden, weights=weights),
        config=config,
        calibration=batch_calibration(found, config.max_half),
        counters=batch_counters(found),
    )
    seen = accepted_windows(found.observed, result.model, holds=found.holds)
    made = {"preset": options.preset, "engine": "batch", "precision": options.precision}
    result.diagnostics = diagnose(result, stream, seen, **made, **memory_figures(model, config))
    result.diagnostics["holds"] = _named(options, found.holds)
    result.parameters = result.diagnostics["parameters"]
    result.record = record_excerpt(seen, stream, result.model)
    if not options.refine or stream.count > IN_MEMORY:
        return Fit(result, found.observed, seen=seen)
    refined = _refined(options, result, stream, found.observed, seen)
    same = refined.model is result.model and not refined.diagnostics["holds"]
    return Fit(refined, found.observed, seen=seen if same else None)


def _given(stated: Physics, found: Physics) -> Physics:
    """The stated physics with the angles of the fit, and with terms through inputs that have no effect yet."""
    none = {name: found.parameters[name].value for term in found.input_terms for name in term.shapes}
    none |= {term.coefficient: 0.0 for term in found.input_terms}
    return stated.with_angles(found.angles).with_input_terms(found.input_terms, none)


def _fit_hidden(options: FitOptions, stream: Stream) -> FitResult:
    """Windows cannot estimate a state that no channel measures: the physics goes directly to refinement."""
    physics, unseen = options.physics, options.unseen()
    if not options.refine or options.preset != "default" or stream.count > IN_MEMORY:
        raise TinyUDEError(
            f"{', '.join(unseen)} is not measured, which takes refinement: use refine=True, the preset 'default' and "
            f"at most {IN_MEMORY:,} rows (there are {stream.count:,})."
        )
    on, sees = residual_states(physics, options.on, options.preset), seen_columns(physics, options.sees)
    model = bare_model(physics, stream, options.measured, unseen, on, sees)
    made = {"preset": options.preset, "engine": "refinement", "precision": "float64"}
    result = _refined(options, FitResult(model, made), stream, None)
    seen = np.sqrt(np.mean(result.states.values**2, axis=0)) + 1e-12  # replaces the guess
    result = replace(result, model=replace(result.model, x_scale=seen))
    noise = result.diagnostics["refinement"]["noise"]
    inputs = np.concatenate([run.inputs for run in stream.runs])
    thin = inputs[:: max(1, len(inputs) // ROWS_USED)]
    values = result.states.values[:: max(1, len(result.states.values) // max(len(thin), 1))][: len(thin)]
    result.diagnostics |= hidden_figures(stream, values, thin[: len(values)], physics)
    result.diagnostics |= {"noise": noise, "noise_relative": noise / stream.rms}
    result.record = smoothed_excerpt(stream, result.states.times, result.states.values, result.states.run)
    return result


def _refined(
    options: FitOptions, result: FitResult, stream: Stream, observed: Observed | None, seen: Windows | None = None
) -> FitResult:  # fmt: skip
    """The result after prediction-error refinement, which also compares candidates on held-back stretches.

    seen: the windows of a batch fit. All learned parameters are refined, even those at a bound in the windows.
    """
    seconds = REFINE_SECONDS * (10.0 if options.refine == "thorough" else 1.0)  # of expected work, not clock time
    streamed: list[FitResult] = []

    def streaming_model(holds: Sequence[Hold], left_out: Sequence[Span]) -> Model | None:
        """The streaming learner's model of the record without these spans; None if it accepts no window."""
        held = replace(options, hold=dict(zip(options.physics.inputs, holds, strict=True)))
        try:
            if left_out:
                return fit_streaming(held, without(stream, options.physics.inputs, left_out))[0].model
            streamed.append(fit_streaming(held, stream, observed=observed)[0])
        except TinyUDEError:
            return None
        return streamed[-1].model

    chosen = RefineOptions(
        options.measured, options.unseen(), options.hold, _offered(options, result.model, stream), seconds,
        streaming_model if observed is not None and options.asks_for_streaming() else None,
        None if seen is None else partial(rates_over_noise, seen=seen),
    )  # fmt: skip
    physics = options.physics
    refined, holds = refine_fit(result.model, physics, stream, chosen)
    taken = any(c.best and c.name == "streaming" for c in refined.candidates)
    base = streamed[-1] if taken else result
    states = smoothed_states(refined)
    figures: dict[str, Any] = refined_figures(refined, physics, states)
    figures["holds"] = _named(options, holds)
    diagnostics = base.diagnostics | figures
    config = base.config and replace(base.config, **learner_holds(holds))
    if config and config.parameters != len(refined.model.physics.learned):  # forces were added
        wider = replace(options, physics=refined.model.physics)
        config = learner_config(wider, stream, refined.model.terms, on=refined.model.on, holds=holds)
        config = replace(config, sees=refined.model.sees, hidden=refined.model.hidden)  # as the weights are
    return replace(
        base,
        model=refined.model,
        config=config,
        diagnostics=diagnostics,
        candidates=refined.candidates,
        states=states,
        parameters=diagnostics["parameters"],
    )


def _named(options: FitOptions, holds: Sequence[Hold]) -> dict[str, tuple[str, int]]:
    """Kind and shift of each input's hold, by name."""
    return {name: (hold.kind, hold.shift) for name, hold in zip(options.physics.inputs, holds, strict=True)}


def _offered(options: FitOptions, model: Model, stream: Stream) -> list[sp.Expr]:
    """Terms that refinement may try in addition to those that the windows found."""
    physics, library = options.physics, options.library
    if library is None:
        return []
    if isinstance(library, str):
        rms = {name: float(value) for name, value in zip(physics.states, model.x_scale, strict=True)}
        return default_terms(physics, rms, two_way(stream))
    return given_terms(physics, list(library))
