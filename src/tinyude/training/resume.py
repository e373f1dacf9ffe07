"""Continuing from a fitted model: the state that a learner starts from, on a board and on the host."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import sympy as sp

from tinyude.model.result import FitResult, learner_part
from tinyude.reference.start import StartModel
from tinyude.training.engines import make_engine
from tinyude.training.session import Session, gains_of, with_gains

LIVE_RESERVOIR = 4096  # windows kept of an endless stream


def start_model(result: FitResult) -> StartModel:
    """The physics contains learned parameters at their fitted value, so their remaining steps are 0.

    So are those of the gains of a kernel network, which are parameters, too.
    """
    model, found = result.model, learner_part(result.calibration)
    gains = np.zeros(gains_of(model.kernel))
    steps = np.zeros(len(model.parameter_errors))
    return StartModel(
        window_half=found.half,
        window_spacing=found.spacing,
        sigma_scale=found.sigma_scale,
        x_scale=model.x_scale,
        u_scale=model.u_scale,
        dx_scale=model.dx_scale,
        weights=model.weights,
        network_on=model.network_on,
        coefficients=np.concatenate([steps, gains, model.coefficients.ravel()]),
        errors=np.concatenate([model.parameter_errors, gains, model.errors.ravel()]),
    )


def resumed_session(result: FitResult, engine: str, precision: str, offered: Sequence[sp.Expr] = ()) -> Session:
    """A learner on a live stream that starts with the predictions of the model and continues to learn.

    A kernel network keeps its shape, as on a board: its gain, terms and perceptron learn, and terms are `offered` that
    the model does not have.
    """
    result = result if result.model.kernel is None else with_terms(result, offered)
    model, config = result.model, learner_part(result.config)
    live = replace(
        with_gains(config, gains_of(model.kernel)),
        second_order=0.0,
        library_terms=len(model.terms),
        reservoir=min(config.reservoir, LIVE_RESERVOIR) if config.hidden else config.reservoir,
    )
    frozen = () if model.kernel is None else (model.kernel,)
    made, name = make_engine(
        engine, precision, live, model.physics, list(model.terms), frozen, result.diagnostics.get("visited")
    )
    made.start(start_model(result))
    return Session(made, name, live, list(model.terms), model.physics, time.perf_counter(), [], kernel=model.kernel)


def with_terms(result: FitResult, offered: Sequence[sp.Expr]) -> FitResult:
    """The same model with further terms, each 0."""
    model = result.model
    more = tuple(term for term in offered if term not in model.terms)
    none = np.zeros((len(model.on), len(more)))
    longer = replace(
        model,
        terms=(*model.terms, *more),
        forms=(),
        shapes={},
        coefficients=np.hstack([model.coefficients, none]),
        errors=np.hstack([model.errors, none]),
    )
    return replace(result, model=longer)
