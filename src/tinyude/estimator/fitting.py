"""How a UDE is fitted: the batch estimator with its refinement, or the streaming learner, from what the user chose."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, replace
from numbers import Integral
from typing import TYPE_CHECKING, Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.data.streams import IN_MEMORY, Stream, as_stream, turns
from tinyude.errors import TinyUDEError
from tinyude.model.diagnostics import diagnose, record_excerpt
from tinyude.model.model import Model
from tinyude.model.uncertainty import spread, with_neighbours
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.holds import Hold
from tinyude.physics.kinematics import measured_map, rate_channels, residual_states, seen_columns, wrapped_channels
from tinyude.physics.library import MAX_COLUMNS, default_terms, given_terms, harmonic, linear_terms
from tinyude.reference.config import Config
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.numeric.rng import rng_seed
from tinyude.refinement.apply import Options as RefineOptions
from tinyude.refinement.apply import parameter_table, refine_fit, refined_figures, smoothed_states
from tinyude.refinement.hidden import bare_model, hidden_figures
from tinyude.training.batch.accepted import accepted_windows
from tinyude.training.batch.figures import batch_state
from tinyude.training.batch.fit import Options, batch_fit
from tinyude.training.batch.observe import Observed, observe
from tinyude.training.data_defaults import rotating, rough_rms, two_way, window_order
from tinyude.training.engines import make_engine
from tinyude.training.presets import PRESETS, longest_half, make_config
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
LOOKED_AT = 1_000  # rows behind the figures of a model with unmeasured states
MAX_HIDDEN, MAX_UNITS = 3, 256
HIDDEN = (16, 16)
SHORTEST_HALF = 5  # samples, of a window that stands for a whole record
STREAMED = ("model_", "config_", "_state_", "history_", "diagnostics_", "record_", "spread_")  # set by a streamed fit
NETWORKS = ("auto", "kernel", "mlp", None)
REFINE_SECONDS = 2.0  # that refinement may take, or as long as the windows took
REASON_NAMES = ("across a gap", "non-finite", "stuck", "misfit", "jump", "angle against rate", "without motion")


class Fitting:
    """The part of `UDE` that makes a model of a record."""

    if TYPE_CHECKING:
        physics: Physics
        hidden: Sequence[int]
        preset: str
        network: str | None
        library: str | Sequence[sp.Expr | str] | None
        keep: bool
        skip: bool
        measured: Sequence[str] | None
        on: Sequence[str] | None
        sees: Sequence[str] | None
        wraps: Sequence[str] | Mapping[str, float] | None
        updates: int | None
        reservoir: int | None
        batch: int | None
        engine: str
        precision: str
        settings: Mapping[str, Any] | None
        refine: bool | str
        hold: str | Mapping[str, Any]
        unmeasured: Mapping[str, Sequence[float]] | None
        random_state: int | None
        model_: Model
        diagnostics_: dict[str, Any]

        def _judge(self, stream: Stream, observed: Observed | None = None, unused: Any = None) -> None: ...
        def get_params(self, deep: bool = True) -> dict[str, Any]: ...

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
        if self.keep and (self.library is None or isinstance(self.library, str)):
            raise TinyUDEError(f"keep=True keeps the terms of your own library; library is {self.library!r}.")
        given = {"updates": self.updates, "reservoir": self.reservoir, "batch": self.batch, **dict(self.settings or {})}
        _check_numbers(self.hidden, given)

    def _fit_batch(self, stream: Stream, started: float, progress: Progress | None) -> None:
        """Local windows, then models by evidence."""
        library = self.library
        if library is not None and not isinstance(library, str):
            library = given_terms(self.physics, list(library))
        network = self.network if tuple(self.hidden) else None
        options = Options(self.measured, self.on, self.sees, library, network, self.keep)
        result = batch_fit(self.physics, stream, options)
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
        seen = accepted_windows(result.observed, self.model_)
        self.diagnostics_ = diagnose(self.model_, self.config_, state, stream, seen, **made)
        self.diagnostics_["seconds"] = time.perf_counter() - started
        self.record_ = record_excerpt(seen, stream)
        self.n_features_in_ = len(stream.names)
        self._refine(stream)
        self._judge(stream, result.observed)
        if progress:
            progress(stream.count, stream.count)

    def _fit_streaming(
        self, stream: Stream, started: float, tell: Progress | None = None, observed: Observed | None = None
    ) -> int:
        """The streaming learner over the whole record, then the updates left; how many steps of progress that were."""
        session = self._session(stream, started)
        calibrate(session, stream)
        if session.config.parameters:
            session = self._learn_parameters(session, stream)
        total = stream.count + most_updates(session)
        done = push_stream(session, stream, lambda rows: tell(rows, total) if tell else None)
        train(session, lambda steps: tell(min(done + steps, total), total) if tell else None)
        self._adopt(session, stream, observed=observed)
        return total

    def _streamed(self, stream: Stream) -> Any:
        """A twin with what the streaming learner makes of the same record; None where it accepts no window."""
        twin = type(self)(**self.get_params(deep=False))
        try:
            twin._fit_streaming(stream, time.perf_counter(), observed=self.batch_.observed)
        except TinyUDEError:
            return None
        return twin

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
        if self.keep:
            given.setdefault("threshold", 0.0)  # of the streaming learner
        samples = max(stream.count, LIVE_SAMPLES) if live else stream.count
        wrap = wrapped_channels(physics, self.measured, None if live else rotating(stream))
        if live:
            given.setdefault("calibration", 10_000)
            given["reservoir"] = given["reservoir"] or 4096
        elif self.preset == "default":
            whole = isinstance(stream.runs, list)  # a window lies within one run; pieces of a long log go on
            given.setdefault("max_half", longest_half(len(stream.longest.samples) if whole else stream.count))
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

    def _adopt(self, session: Session, stream: Stream, live: bool = False, observed: Observed | None = None) -> None:
        """Take the learner's result over into plain attributes."""
        state = session.engine.state()
        if not state["accepted"]:
            raise none_passed(state)
        self.config_ = session.config
        self._state_ = state
        self._session_ = session
        self.history_ = {
            "update": np.array([update for update, _ in session.losses]),
            "loss": np.array([loss for _, loss in session.losses]),
        }
        model = read_model(session, state)
        seen = self._windows(stream, model, observed)
        self.model_ = with_neighbours(model, seen.long()) if any(session.config.order) and not live else model
        made = {"preset": self.preset, "engine": session.engine_name, "precision": self.precision}
        self.diagnostics_ = diagnose(self.model_, session.config, state, stream, seen, **made)
        self.diagnostics_["seconds"] = time.perf_counter() - session.started
        if not live:
            self.spread_ = spread(model, seen.long())
            self.record_ = record_excerpt(seen, stream)
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
        twins: list[Any] = []

        def streamed() -> Model | None:
            twins.append(self._streamed(stream))
            return None if twins[0] is None else twins[0].model_

        asked = None if self._hidden_states() else streamed
        options = RefineOptions(self.measured, self._unseen(), self.hold, offered, seconds, asked)
        refined, holds = refine_fit(self.model_, self.physics, stream, options)
        if any(c.best and c.name == "streaming" for c in refined.candidates):
            self._take_over(twins[0])
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

    def _take_over(self, twin: Any) -> None:
        """The streaming learner's result instead of the windows'."""
        seconds = self.diagnostics_["seconds"]
        for name in STREAMED:
            setattr(self, name, getattr(twin, name))
        self.diagnostics_["seconds"] = seconds

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

    def _fit_hidden(self, stream: Stream, started: float) -> None:
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

    def _windows(self, stream: Stream, model: Model, observed: Observed | None = None) -> Windows:
        """Accepted windows of a record, as they were estimated for a fit or, of another record, anew."""
        found = getattr(self, "diagnostics_", {}).get("holds", {})
        holds = [Hold(*found.get(name, ())) for name in model.physics.inputs]
        observed = observed or observe(model.physics, stream, self.measured, model.on)
        return accepted_windows(observed, model, holds=holds)


def none_passed(state: Mapping[str, Any]) -> TinyUDEError:
    """What to raise when every window was rejected."""
    counts = ", ".join(f"{n} {r}" for r, n in zip(REASON_NAMES, state["rejected"], strict=True) if n)
    return TinyUDEError(
        f"None of {state['windows']} windows passed the gates ({counts or 'record too short'}); "
        "check the sample period and the units, or give a longer record."
    )


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
