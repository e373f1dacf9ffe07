"""UDE: two lines to fit a hybrid model, in the manners of scikit-learn and pysindy."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from os import PathLike
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from tinyude.data.frames import numbers, seconds
from tinyude.data.streams import IN_MEMORY, Stream, as_stream, turns
from tinyude.errors import TinyUDEError
from tinyude.fitted import Fitted, shown
from tinyude.model.diagnostics import diagnose, record_excerpt
from tinyude.model.equations import describe, equation_lines, interval_factor
from tinyude.model.model import Model
from tinyude.model.simulation import extrapolation, free_runs, refuse_divergence
from tinyude.model.uncertainty import posterior_error, residual_error, spread, with_neighbours
from tinyude.model.windows import run_jets, visited
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map, rate_channels, residual_states, seen_columns, wrapped_channels
from tinyude.physics.library import MAX_COLUMNS, default_terms, given_terms, harmonic, linear_terms
from tinyude.reference.config import Config
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.reference.signal.window import window_make
from tinyude.refinement.apply import Options as RefineOptions
from tinyude.refinement.apply import parameter_table, refine_fit, refined_figures, smoothed_states
from tinyude.refinement.hidden import bare_model, hidden_figures
from tinyude.training.batch.figures import batch_state, batch_visited
from tinyude.training.batch.fit import Options, batch_fit
from tinyude.training.data_defaults import rotating, rough_rms, two_way, window_order
from tinyude.training.engines import make_engine
from tinyude.training.presets import PRESETS, longest_half, make_config
from tinyude.training.resume import resumed_session
from tinyude.training.seed import seed_of
from tinyude.training.session import (
    Session,
    calibrate,
    most_updates,
    move_parameters,
    push_stream,
    read_model,
    restart,
    train,
)

Array = NDArray[Any]
Progress = Callable[[int, int], None]

PARAMETER_PASSES = 8
LIVE_SAMPLES = 40_000  # what a live stream is sized for when nobody says
LOOKED_AT = 1_000  # windows behind the intervals and the warnings
FEW_SEEN = 50  # windows of one length: fewer say little, and those of the fit are taken
MAX_HIDDEN, MAX_UNITS = 3, 256
HIDDEN = (16, 16)
SHORTEST_HALF = 5  # samples, of a window that stands for a whole record
NETWORKS = ("auto", "kernel", "mlp", None)
REFINE_SECONDS = 2.0  # that refinement may take, or as long as the windows took
POSTERIOR_GROUPS = 10**6  # a posterior's spread is known, not estimated from groups
REASON_NAMES = ("across a gap", "non-finite", "stuck", "misfit", "jump", "angle against rate", "without motion")


class UDE(Fitted, BaseEstimator):  # type: ignore[misc]
    """A universal differential equation dx/dt = f_known(x, u) + N(x, u), trained from noisy samples without a solver.

    physics: what is known. network: "auto" or "kernel" (a kernel network where the evidence asks for one), "mlp" (the
    perceptron of the streaming learner), or None. library: "auto", "rich", a list of terms, or None for the network
    alone. preset: "default", "paper-v2" or "paper-v1". hidden: layer sizes of the perceptron; () for no network of any
    kind. skip: a linear part beside a perceptron without a library. Giving hidden layers, updates, reservoir, batch,
    settings, an engine or a precision of your own, or skip=False, asks for the streaming learner, as network="mlp"
    does. measured: the sensed states, in the order of Y's columns; the others are their derivatives. on / sees: where
    the residual acts and what the network sees. wraps: measured angles that jump by a turn, which is undone: ["theta"]
    in radians, {"theta": 360} otherwise.
    settings: further fields of tinyude.reference.config.Config, for those who know them.
    refine: after the solver-free fit of a record (preset "default") move its numbers to where one-step predictions are
    best, and keep the candidate that predicts held-back motions best, even if it is the known physics alone. False:
    the solver-free result. "thorough": take ten times as long. hold: what inputs do between samples, "held", "linear"
    or "cubic", for all or by name; "auto" takes the likeliest. unmeasured: guess and spread of states that are neither
    measured nor the derivative of a measured one, e.g. {"level": (4.0, 2.0)}.
    """

    def __init__(
        self,
        physics: Physics,
        hidden: Sequence[int] = HIDDEN,
        *,
        preset: str = "default",
        network: str | None = "auto",
        library: str | Sequence[sp.Expr | str] | None = "auto",
        skip: bool = True,
        measured: Sequence[str] | None = None,
        on: Sequence[str] | None = None,
        sees: Sequence[str] | None = None,
        wraps: Sequence[str] | Mapping[str, float] | None = None,
        updates: int | None = None,
        reservoir: int | None = None,
        batch: int | None = None,
        engine: str = "native",
        precision: str = "float64",
        settings: Mapping[str, Any] | None = None,
        refine: bool | str = True,
        hold: str | Mapping[str, Any] = "auto",
        unmeasured: Mapping[str, Sequence[float]] | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.physics = physics
        self.hidden = hidden
        self.preset = preset
        self.network = network
        self.library = library
        self.skip = skip
        self.measured = measured
        self.on = on
        self.sees = sees
        self.wraps = wraps
        self.updates = updates
        self.reservoir = reservoir
        self.batch = batch
        self.engine = engine
        self.precision = precision
        self.settings = settings
        self.refine = refine
        self.hold = hold
        self.unmeasured = unmeasured
        self.random_state = random_state

    def fit(
        self, Y: Any, y: Any = None, u: Any = None, progress: Progress | bool | None = None, *, t: Any = None
    ) -> UDE:
        """Learn from a record: (samples, measured states), or a list of runs; t is the sample period or time stamps.

        t may be given second by position too; through a Pipeline named `ude` it is passed as `ude__t`.
        A Stream (tinyude.data.logs.log_stream) is taken as it is, and may be longer than memory; then, for the paper
        presets, and when a perceptron is asked for, the streaming learner does the work, else the batch estimator.
        """
        started = time.perf_counter()
        tell: Progress | None = shown(progress)
        stream = self._stream(Y, _times(y, t, None), u)
        if self._hidden_states():
            return self._fit_hidden(stream, started)
        if not self._wants_streaming(stream):
            return self._fit_batch(stream, started, tell)
        session = self._session(stream, started)
        calibrate(session, stream)
        if session.config.parameters:
            session = self._learn_parameters(session, stream)
        total = stream.count + most_updates(session)
        done = push_stream(session, stream, lambda rows: tell(rows, total) if tell else None)
        train(session, lambda steps: tell(min(done + steps, total), total) if tell else None)
        self._adopt(session, stream)
        self._judge(stream)
        if tell:
            tell(total, total)
        return self

    def partial_fit(self, Y: Any, y: Any = None, u: Any = None, *, t: Any = None) -> UDE:
        """Go on learning from the next stretch of a live stream.

        The first stretch calibrates; a UDE that is fitted, loaded or copied goes on from its model.
        """
        self._refuse_unseen("partial_fit")
        stream = self._stream(Y, _times(y, t, self._period), u, shortest=1)
        if not hasattr(self, "_session_"):
            model: Model | None = getattr(self, "model_", None)
            self._session_ = (
                self._session(stream, time.perf_counter(), live=True)
                if model is None
                else resumed_session(model, self.config_, self._state_, self.engine, self.precision)
            )
        session = self._session_
        if abs(stream.period - session.config.sample_period) > 0.01 * session.config.sample_period:
            raise TinyUDEError(
                f"The sample period changed from {session.config.sample_period:g} s to {stream.period:g} s; "
                "start a new UDE."
            )
        for run in stream.runs:
            session.engine.push(run.rows)
        if session.engine.state()["accepted"]:
            session.engine.judge()
            self._adopt(session, stream, live=True)
        return self

    def predict(self, X: Any, u: Any = None) -> Array:
        """dx/dt at the states X, shaped like X."""
        model, states, held = self._arguments(X, u)
        return model.field(states, held)

    def residual(self, X: Any, u: Any = None) -> Array:
        """What was learned beyond the known physics, shaped like X."""
        model, states, held = self._arguments(X, u)
        return model.residual(states, held)

    def residual_interval(self, X: Any, u: Any = None, level: float = 0.9) -> tuple[Array, Array]:
        """Low and high ends of an interval that holds the true residual with the given confidence, shaped like X."""
        model, states, held = self._arguments(X, u)
        if not 0.0 < level < 1.0:
            raise TinyUDEError(f"level is {level}; give a number between 0 and 1, e.g. 0.9.")
        middle = model.residual(states, held)
        if model.covariance is not None:
            half = interval_factor(POSTERIOR_GROUPS, level) * posterior_error(model, states, held)
            return middle - half, middle + half
        if not hasattr(self, "spread_"):
            raise TinyUDEError("Intervals on the residual come with fit(), not with partial_fit(); fit a record.")
        error = residual_error(model, self.spread_, states, held)
        half = interval_factor(len(self.spread_.terms), level) * error
        return middle - half, middle + half

    def simulate(self, x0: Any, times: Any, u: Any = None, *, hold: str | None = None) -> Array:
        """Free (simulation) runs: the states at the given times.

        Parameters
        ----------
        x0 : array_like of shape (states,) or (runs, states)
            Where the run begins at times[0], or where each of several runs does.
        times : array_like of shape (times,)
            Rising, in seconds; steps between them are as long as the dynamics allow.
        u : array_like of shape (times, inputs) or (runs, times, inputs), optional
            The inputs at these times; needed by physics that has inputs.
        hold : {"held", "linear", "cubic"}, optional
            What inputs do from one time to the next: held, in a straight line, or along a spline. By default what the
            fit found or was told.

        Returns
        -------
        ndarray of shape (times, states), or (runs, times, states) for several starts
            Of several runs, those that diverge are NaN from there on.

        Raises
        ------
        TinyUDEError
            When a single run diverges; it says when. `extrapolation` tells whether a run left what was visited.
        """
        model = self._fitted()
        start = numbers(x0, model.physics.states, "x0")
        held = None if u is None else numbers(u, model.physics.inputs, "u")
        between = getattr(self, "diagnostics_", {}).get("holds", {}) if hold is None else hold
        instants = seconds(times, "times")
        runs = free_runs(model.dynamics, np.atleast_2d(start), instants, model.x_scale, held, hold=between)
        if start.ndim == 2:
            return runs.states
        refuse_divergence(runs)
        return np.asarray(runs.states[0])

    def extrapolation(self, X: Any, u: Any = None, times: Any = None) -> list[str]:
        """Sentences that say which states (and when) are outside what was visited in training; none when all are in."""
        model, states, held = self._arguments(X, u)
        columns = (
            states
            if held is None
            else np.concatenate([states, np.broadcast_to(held, (*states.shape[:-1], held.shape[-1]))], axis=-1)
        )
        names = (*model.physics.states, *(model.physics.inputs if held is not None else ()))
        ranges = self.diagnostics_["visited"]
        return extrapolation(columns, names, ranges, model.physics.angles, None if times is None else np.asarray(times))

    def score(self, Y: Any, y: Any = None, u: Any = None, *, t: Any = None) -> float:
        """R^2 of the predicted derivatives against those estimated from a record, mean over residual states."""
        model = self._fitted()
        self._refuse_unseen("score")
        stream = self._stream(Y, _times(y, t, self._period), u)
        config, state = self.config_, self._state_
        window = window_make(state["window_half"], state["window_spacing"], config.poly, stream.period)
        sigma = state["sigma"] * state["sigma_scale"]
        parts = []
        for run in stream.runs:
            centre, x, dx = run_jets(config, window, run.samples, sigma, state["step"], config.stride)
            parts.append((dx, model.field(x, run.inputs[centre] if config.inputs else None)))
        dx = np.concatenate([part[0] for part in parts])[:, list(config.on)]
        predicted = np.concatenate([part[1] for part in parts])[:, list(config.on)]
        if len(dx) < 2:
            raise TinyUDEError("No window of this record passes the gates, so there is nothing to score against.")
        spread = ((dx - dx.mean(axis=0)) ** 2).sum(axis=0)
        return float(np.mean(1.0 - ((dx - predicted) ** 2).sum(axis=0) / spread))

    def equations(self) -> list[str]:
        """The model in words: one line for each state's equation, with what was learned and how sure it is."""
        return equation_lines(self._fitted(), self.diagnostics_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a .tinyude file (safetensors: plain numbers and text)."""
        from tinyude.model.file import save_model

        self._fitted()
        save_model(self, path)

    def to_sympy(self) -> dict[str, sp.Expr]:
        """dx/dt of every state as a SymPy expression; see tinyude.export.sympy_model."""
        from tinyude.export.sympy_model import to_sympy

        return to_sympy(self._fitted())

    def to_casadi(self, name: str = "field") -> Any:
        """dx/dt as a CasADi function `name(x, u) -> dx`; see tinyude.export.casadi_model."""
        from tinyude.export.casadi_model import to_casadi

        return to_casadi(self._fitted(), name)

    def to_control(self, at: Any = None, u: Any = None) -> Any:
        """A system of python-control, linearised about `at` if given; see tinyude.export.control_model."""
        from tinyude.export.control_model import to_control

        return to_control(self._fitted(), at, u)

    def to_jax(self) -> Any:
        """dx/dt in JAX, as a function of states, inputs and what was learned; see tinyude.export.jax_model."""
        from tinyude.export.jax_model import to_jax

        return to_jax(self._fitted())

    def __str__(self) -> str:
        return describe(self._fitted(), self.diagnostics_) if hasattr(self, "model_") else repr(self)

    def __getstate__(self) -> dict[str, Any]:
        """Without the learner at work: a copy goes on from the model."""
        return {key: value for key, value in super().__getstate__().items() if key != "_session_"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    @property
    def _period(self) -> float | None:
        """Seconds between samples when nobody says: those of the fit."""
        return float(self.config_.sample_period) if hasattr(self, "config_") else None

    def _stream(self, Y: Any, t: Any, u: Any, shortest: int | None = None) -> Stream:
        if not isinstance(self.physics, Physics):
            raise TinyUDEError(f"physics is {type(self.physics).__name__}; give a tinyude.Physics.")
        names, _, _ = measured_map(self.physics, self.measured, self.unmeasured or ())
        if isinstance(Y, Stream):
            if Y.names != names or Y.longest.inputs.shape[1] != self.physics.n_inputs:
                raise TinyUDEError(
                    f"The stream holds {', '.join(Y.names)}; it must hold {', '.join(names)} and inputs."
                )
            return Y
        if t is None:
            raise TinyUDEError(
                "t is missing; give the sample period in seconds or one time stamp for each row, as in "
                "fit(Y, t=1e-3), or in a Pipeline fit(Y, ude__t=1e-3)."
            )
        mixed = bool(self.refine) and self.preset == "default" and shortest is None
        return as_stream(Y, t, u, names, self.physics.inputs, shortest, turns(self.wraps, names), mixed)

    def _wants_streaming(self, stream: Stream) -> bool:
        """Whether the streaming learner is to do the work: by preset, by what was asked for, or for want of memory."""
        self._check_choices()
        own = (self.updates, self.reservoir, self.batch, self.settings)
        perceptron = tuple(self.hidden) not in ((), HIDDEN) or self.network == "mlp" or not self.skip
        engine = (self.engine, self.precision) != ("native", "float64")
        asked = perceptron or engine or any(value is not None for value in own)
        return self.preset != "default" or asked or not isinstance(stream.runs, list)

    def _check_choices(self) -> None:
        if self.preset not in PRESETS:
            raise TinyUDEError(f"preset is {self.preset!r}; use one of {', '.join(PRESETS)}.")
        if self.preset != "default" and not self.physics.smooth:
            raise TinyUDEError(
                f"The preset {self.preset} differentiates the physics twice, which abs, sign, max and min forbid; "
                "use the preset 'default', or a smooth form such as tanh(k*x) for sign(x)."
            )
        if self.network not in NETWORKS:
            raise TinyUDEError(f"network is {self.network!r}; use 'auto', 'kernel', 'mlp' or None.")
        if isinstance(self.library, str) and self.library not in ("auto", "rich"):
            raise TinyUDEError(f"library is {self.library!r}; use 'auto', 'rich', a list of terms, or None.")
        given = {"updates": self.updates, "reservoir": self.reservoir, "batch": self.batch, **dict(self.settings or {})}
        _check_numbers(self.hidden, given)

    def _fit_batch(self, stream: Stream, started: float, progress: Progress | None) -> UDE:
        """Local windows, then models by evidence."""
        library = self.library
        if library is not None and not isinstance(library, str):
            library = given_terms(self.physics, list(library))
        network = self.network if tuple(self.hidden) else None
        result = batch_fit(self.physics, stream, Options(self.measured, self.on, self.sees, library, network))
        model, state = result.best.model, batch_state(result)
        self.batch_ = result
        self.config_ = self._config(stream, list(model.terms), 0, on=model.on)
        state["window_half"] = min(max(state["window_half"], SHORTEST_HALF), self.config_.max_half)
        weights = mlp_init(self.config_.sizes, rng_seed(self.config_.seed)) if self.config_.hidden else np.zeros(0)
        self.model_ = replace(model, hidden=self.config_.hidden, weights=weights)
        self._state_ = state
        for stale in ("_session_", "spread_"):
            self.__dict__.pop(stale, None)
        self.history_ = {"update": np.zeros(0), "loss": np.zeros(0)}
        made = {"preset": self.preset, "engine": "batch", "precision": self.precision}
        seen = visited(self.config_, state, stream, LOOKED_AT)
        seen = seen if len(seen.x) >= FEW_SEEN else batch_visited(result, LOOKED_AT)
        self.diagnostics_ = diagnose(self.model_, self.config_, state, stream, seen, **made)
        self.diagnostics_["seconds"] = time.perf_counter() - started
        self.record_ = record_excerpt(self.config_, state, stream)
        self.n_features_in_ = len(stream.names)
        self._refine(stream)
        self._judge(stream)
        if progress:
            progress(stream.count, stream.count)
        return self

    def _session(self, stream: Stream, started: float, live: bool = False) -> Session:
        """Everything decided before the first sample."""
        self._check_choices()
        terms, forced = self._terms(stream)
        config = self._config(stream, terms, forced, live)
        engine, name = make_engine(self.engine, self.precision, config, self.physics, terms)
        again = self._second_start(terms, config.wrap, live) and bool(config.hidden)
        return Session(engine, name, config, terms, self.physics, started, [], self.updates is None, again)

    def _second_start(self, terms: list[sp.Expr], wrap: Sequence[int], live: bool) -> bool:
        """Whether a network that sees a rotating angle, without harmonics, is trained from a second start."""
        return self.preset == "default" and not live and any(wrap) and not harmonic(terms)

    def _config(
        self, stream: Stream, terms: list[sp.Expr], forced: int, live: bool = False, on: tuple[int, ...] | None = None
    ) -> Config:
        """The learner's configuration for this record and these terms."""
        physics = self.physics
        _, channel, order = measured_map(physics, self.measured)
        on = residual_states(physics, self.on, self.preset) if on is None else on
        seed = seed_of(self.random_state)
        given = {"updates": self.updates, "reservoir": self.reservoir, "batch": self.batch, **dict(self.settings or {})}
        samples = max(stream.count, LIVE_SAMPLES) if live else stream.count
        wrap = wrapped_channels(physics, self.measured, None if live else rotating(stream))
        if live:
            given.setdefault("calibration", 10_000)
            given["reservoir"] = given["reservoir"] or 4096
        elif self.preset == "default":
            given.setdefault("max_half", longest_half(len(stream.longest.samples)))  # a window lies within one run
            given.setdefault("poly", window_order(stream, given["max_half"]))
        second_start = self._second_start(terms, wrap, live)
        return make_config(
            self.preset, samples, stream.period, given, second_start,
            channels=len(stream.names), channel=channel, order=order,
            rate_channel=rate_channels(physics, self.measured, on),
            wrap=wrap, inputs=physics.n_inputs, on=on, sees=seen_columns(physics, self.sees),
            hidden=tuple(int(h) for h in self.hidden),
            parameters=len(physics.learned), library_terms=len(terms), forced=len(physics.learned) + forced * len(on),
            seed=seed,
        )  # fmt: skip

    def _terms(self, stream: Stream) -> tuple[list[sp.Expr], int]:
        """Library terms, and how many of them are forced (the linear skip of a network alone)."""
        if self.preset != "default":
            return [], 0
        most = (MAX_COLUMNS - len(self.physics.learned)) // len(residual_states(self.physics, self.on, self.preset))
        if self.library is None:
            skip = linear_terms(self.physics) if self.skip else []
            return skip, len(skip)
        if isinstance(self.library, str):
            rms = rough_rms(self.physics, self.measured, stream)
            return default_terms(self.physics, rms, two_way(stream), most), 0
        return given_terms(self.physics, list(self.library), most), 0

    def _learn_parameters(self, session: Session, stream: Stream) -> Session:
        """Gauss-Newton over the record: physical parameters move to where the linearised equations want them."""
        physics = session.physics
        for _ in range(PARAMETER_PASSES):
            trial = restart(session, physics, self.engine, self.precision, network=False)
            calibrate(trial, stream)
            push_stream(trial, stream, lambda rows: None)
            trial.engine.solve()
            steps = trial.engine.state()["coefficients"][: session.config.parameters]
            moved, physics = move_parameters(physics, steps)
            if moved < 1e-6:
                break
        session = restart(session, physics, self.engine, self.precision, network=True)
        calibrate(session, stream)
        return session

    def _adopt(self, session: Session, stream: Stream, live: bool = False) -> None:
        """Take the learner's result over into plain attributes."""
        state = session.engine.state()
        if not state["accepted"]:
            raise _none_passed(state)
        self.config_ = session.config
        self._state_ = state
        self._session_ = session
        self.history_ = {
            "update": np.array([update for update, _ in session.losses]),
            "loss": np.array([loss for _, loss in session.losses]),
        }
        seen = visited(session.config, state, stream, LOOKED_AT)
        model = read_model(session, state)
        self.model_ = with_neighbours(model, seen) if any(session.config.order) and not live else model
        made = {"preset": self.preset, "engine": session.engine_name, "precision": self.precision}
        self.diagnostics_ = diagnose(self.model_, session.config, state, stream, seen, **made)
        self.diagnostics_["seconds"] = time.perf_counter() - session.started
        if not live:
            self.spread_ = spread(model, seen)
            self.record_ = record_excerpt(session.config, state, stream)
        self.n_features_in_ = len(stream.names)

    def _refine(self, stream: Stream) -> None:
        """Prediction-error refinement of the fitted model, if it was asked for and the record is in memory."""
        if self.refine not in (True, False, "thorough"):
            raise TinyUDEError(f"refine is {self.refine!r}; use True, False or 'thorough'.")
        if not self.refine or self.preset != "default" or stream.count > IN_MEMORY:
            return
        started = time.perf_counter()
        seconds = REFINE_SECONDS * (10.0 if self.refine == "thorough" else 1.0)  # never by the clock: results repeat
        offered = self._offered(stream)
        options = RefineOptions(self.measured, self._unseen(), self.hold, offered, seconds)
        refined, holds = refine_fit(self.model_, self.physics, stream, options)
        self.model_ = refined.model
        if refined.model.covariance is not None:
            self.__dict__.pop("spread_", None)  # that was of the windows' numbers
        self.candidates_ = refined.candidates
        self.states_ = smoothed_states(refined)
        self.parameters_ = parameter_table(refined.model)
        self.diagnostics_ |= refined_figures(refined, self.states_)
        names = self.physics.inputs
        self.diagnostics_["holds"] = {n: (h.kind, h.shift) for n, h in zip(names, holds, strict=True)}
        self.diagnostics_["seconds"] += time.perf_counter() - started

    def _offered(self, stream: Stream) -> list[sp.Expr]:
        """Terms that refinement may try beside those that the windows found."""
        if self.library is None:
            return []
        if isinstance(self.library, str):
            known = {n: float(v) for n, v in zip(self.physics.states, self.model_.x_scale, strict=True)}
            return default_terms(self.physics, known)
        return given_terms(self.physics, list(self.library))

    def _unseen(self) -> dict[str, tuple[float, float]]:
        """Guess and spread of the states that no channel sees."""
        found = {}
        for name, pair in (self.unmeasured or {}).items():
            if name not in self.physics.states:
                raise TinyUDEError(f"unmeasured names {name}; the states are {', '.join(self.physics.states)}.")
            guess, spread = (float(value) for value in pair)
            if not (np.isfinite(guess) and 0.0 < spread < np.inf):
                raise TinyUDEError(f"unmeasured[{name!r}] is {pair!r}; give a guess and a spread above 0.")
            found[name] = (guess, spread)
        _, channel, _ = measured_map(self.physics, self.measured, found)
        return {name: pair for name, pair in found.items() if channel[self.physics.states.index(name)] < 0}

    def _hidden_states(self) -> bool:
        return bool(self.unmeasured) and bool(self._unseen())

    def _refuse_unseen(self, what: str) -> None:
        if self._hidden_states():
            raise TinyUDEError(
                f"{what} needs windows over every state, and {', '.join(self._unseen())} is not measured; use fit and "
                "simulate."
            )

    def _fit_hidden(self, stream: Stream, started: float) -> UDE:
        """Windows cannot see a state that no channel tells of: the physics goes straight to refinement."""
        if not self.refine or self.preset != "default":
            raise TinyUDEError(
                f"{', '.join(self._unseen())} is not measured, which takes refinement: use refine=True and the preset "
                "'default'."
            )
        physics, unseen = self.physics, self._unseen()
        on, sees = residual_states(physics, self.on, self.preset), seen_columns(physics, self.sees)
        self.model_ = bare_model(physics, stream, self.measured, unseen, on, sees)
        self.diagnostics_ = {"preset": self.preset, "engine": "refinement", "precision": "float64", "seconds": 0.0}
        self.history_ = {"update": np.zeros(0), "loss": np.zeros(0)}
        self._refine(stream)
        noise = self.diagnostics_["refinement"]["noise"]
        inputs = np.concatenate([run.inputs for run in stream.runs])
        thin = inputs[:: max(1, len(inputs) // LOOKED_AT)]
        values = self.states_.values[:: max(1, len(self.states_.values) // max(len(thin), 1))][: len(thin)]
        self.diagnostics_ |= hidden_figures(stream, values, thin[: len(values)], physics)
        self.diagnostics_ |= {"noise": noise, "noise_relative": noise / stream.rms}
        self.diagnostics_["seconds"] = time.perf_counter() - started
        self.n_features_in_ = len(stream.names)
        self._judge(stream)
        return self

    def _fitted(self) -> Model:
        if not hasattr(self, "model_"):
            if hasattr(self, "_session_"):
                state = self._session_.engine.state()
                if state["calibrated"]:
                    raise _none_passed(state)
                raise TinyUDEError(
                    f"Still calibrating: {state['samples']} of {self._session_.config.calibration} samples; push more."
                )
            raise TinyUDEError("This UDE is not fitted yet; call fit(Y, t=...) first.")
        model: Model = self.model_
        return model

    def _arguments(self, X: Any, u: Any) -> tuple[Model, Array, Array | None]:
        model = self._fitted()
        states = numbers(X, model.physics.states, "X")
        if states.ndim == 0 or states.shape[-1] != model.physics.n_states:
            raise TinyUDEError(
                f"X has shape {states.shape}; its last axis must hold the states {', '.join(model.physics.states)}."
            )
        if not np.all(np.isfinite(states)):
            raise TinyUDEError("X holds non-finite values; drop those rows.")
        held = None if u is None else numbers(u, model.physics.inputs, "u")
        if held is not None and held.ndim == states.ndim - 1 and model.physics.n_inputs == 1:
            held = held[..., None]
        if held is not None and held.ndim > 1 and held.shape[:-1] != states.shape[:-1]:
            raise TinyUDEError(
                f"u has shape {held.shape} and X has {states.shape}; give one row of the inputs "
                f"({', '.join(model.physics.inputs)}) for each row of X."
            )
        return model, states, held


def _none_passed(state: Mapping[str, Any]) -> TinyUDEError:
    counts = ", ".join(f"{n} {r}" for r, n in zip(REASON_NAMES, state["rejected"], strict=True) if n)
    return TinyUDEError(
        f"None of {state['windows']} windows passed the gates ({counts or 'record too short'}); "
        "check the sample period and the units, or give a longer record."
    )


def _times(by_position: Any, by_name: Any, period: float | None) -> Any:
    if by_position is not None and by_name is not None:
        raise TinyUDEError("t is given twice, by position and by name; give it once.")
    return by_name if by_name is not None else by_position if by_position is not None else period


def _check_numbers(hidden: Sequence[int], given: Mapping[str, Any]) -> None:
    whole = isinstance(hidden, Sequence | np.ndarray) and all(isinstance(h, Integral) for h in hidden)
    if not whole or len(hidden) > MAX_HIDDEN or any(not 1 <= int(h) <= MAX_UNITS for h in hidden):
        raise TinyUDEError(f"hidden is {hidden!r}; give up to {MAX_HIDDEN} layer sizes between 1 and {MAX_UNITS}.")
    for name in ("updates", "reservoir", "batch"):
        value = given[name]
        if value is not None and not (isinstance(value, Integral) and int(value) >= 1):
            raise TinyUDEError(f"{name} is {value!r}; give a whole number of at least 1.")
    unknown = set(given) - {f.name for f in fields(Config)}
    if unknown:
        raise TinyUDEError(
            f"settings names {', '.join(sorted(unknown))}; see the fields of tinyude.reference.config.Config."
        )
