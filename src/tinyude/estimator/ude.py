"""The estimator class `UDE`, with the conventions of scikit-learn and pysindy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any

import sympy as sp
from threadpoolctl import threadpool_limits

from tinyude.errors import TinyUDEError
from tinyude.estimator.fitted import Fitted, given_times, progress_callback
from tinyude.estimator.fitting import fit_record
from tinyude.estimator.options import HIDDEN, FitOptions
from tinyude.estimator.predicting import Predicting
from tinyude.estimator.scikit import BaseEstimator, NotFittedError
from tinyude.estimator.streaming import learner_session, none_passed, offered_terms, streamed_result
from tinyude.model.equations import describe, equation_lines
from tinyude.model.file import DAMAGE, damaged, read_result, save_result
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.training.resume import resumed_session
from tinyude.training.session import Progress, Session


class UnfittedError(TinyUDEError, NotFittedError):  # type: ignore[misc]
    """A UDE was used before it was fitted; also a `NotFittedError` of scikit-learn."""


class UDE(Predicting, Fitted, BaseEstimator):  # type: ignore[misc]
    """A universal differential equation dx/dt = f_known(x, u) + N(x, u), learned from noisy samples.

    `fit` reads a record: a batch estimator finds what the known physics lacks from local windows, without a solver, and
    prediction-error refinement improves it. `partial_fit` follows a live stream with the learner that runs on boards.

    Parameters
    ----------
    physics : Physics
        What is known.
    hidden : sequence of int, default (16, 16)
        Layer sizes of the perceptron; () for no network of any kind. Other sizes select the streaming learner.
    preset : {"default", "paper-v2", "paper-v1"}, default "default"
        The estimator; the paper presets reproduce that of the paper.
    network : {"auto", "kernel", "mlp", None}, default "auto"
        "auto" and "kernel": a kernel network if the evidence supports one. "mlp": the perceptron of the streaming
        learner. None: no network.
    library : {"auto", "rich"}, sequence of str or sympy.Expr, or None, default "auto"
        Terms offered for what is missing; None for the network alone, or, without a network too, for the known
        physics and its learned parameters alone.
    keep : bool, default False
        Keep every term of a library given as a list, whatever the evidence.
    skip : bool, default True
        A linear part in addition to a perceptron without a library.
    measured : sequence of str, optional
        The measured states, in the order of Y's columns; all by default. The others are derivatives of these.
    on : sequence of str, optional
        States whose rate may lack something; by default all that are not the integral of another.
    sees : sequence of str, optional
        Inputs of the network, among states and inputs; all by default. A state that no known equation uses (a motor's
        angle) is an input of a perceptron only if it then predicts held-out windows clearly better.
    wraps : sequence of str or mapping of str to float, optional
        Measured angles that jump by a revolution, which is undone: ["theta"] in radians, {"theta": 360} otherwise.
    updates, reservoir, batch : int, optional
        Of the perceptron's training: number of updates, stored windows, windows per update. Selects the streaming
        learner.
    engine : {"native", "reference"}, default "native"
        The compiled core, or its twin in NumPy.
    precision : {"float64", "float32"}, default "float64"
        Of the streaming learner; boards compute in float32.
    settings : mapping, optional
        Further fields of tinyude.reference.config.Config: advanced overrides of the streaming learner.
    refine : bool or "thorough", default True
        After the windows, fit all values to one-step predictions and keep the candidate that predicts held-back motions
        best, even if it is the known physics alone. False: the solver-free result. "thorough": ten times as long.
    hold : {"auto", "held", "linear", "cubic"} or mapping, default "auto"
        What inputs do between samples, for all or by name; "auto" chooses the most likely.
    unmeasured : mapping of str to (guess, spread), optional
        States that are neither measured nor derivatives of a measured one, e.g. {"level": (4.0, 2.0)}.
    window : float, optional
        Length of the longest window, seconds; by default as long as the motion allows.
    random_state : int or None, default 0
        Seed of the perceptron's weights and draws.

    Attributes
    ----------
    verdict_ : Verdict
        Whether the model can be trusted, why, and what to do.
    model_ : Model
        Known physics and what was learned.
    terms_ : list of dict
        Learned terms with your value, what was learned, net value, interval and share of the rate.
    parameters_ : list of named tuple
        Learned parameters, each with `name`, `value`, and the ends `low` and `high` of a 90 % interval. Of a batch fit.
    states_ : States
        Times, smoothed states and their standard errors. With refinement.
    candidates_ : list of Candidate
        Models that were compared, with their held-back free-run errors. With refinement.
    diagnostics_ : dict
        Figures of the fit: noise, windows, rejections, refinement, innovations, verdict.
    record_ : dict
        An excerpt of the record with its window estimates, for plots.
    history_ : dict
        Loss over the perceptron's updates; empty for a batch fit.
    config_ : Config
        The configuration with which a board continues to learn.
    spread_ : Spread
        Spread of the learned values over groups of windows: the source of intervals if there is no covariance.
    n_features_in_ : int
        Number of measured channels.
    feature_names_in_ : ndarray of str
        Their names: the columns of Y.
    result_ : FitResult
        All of these in one object (tinyude.model.result), with window, sensor noise and counters of the fit.

    See Also
    --------
    Physics : States what is known.
    load : Reads a saved model.

    Examples
    --------
    >>> physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    >>> t, Y = tu.systems.pendulum("A").stream(noise=0.01, seconds=12.0)
    >>> ude = tu.UDE(physics).fit(Y, t=t)
    >>> ude.verdict_.status
    'good'
    >>> [(row["state"], row["term"], round(row["learned"], 1)) for row in ude.terms_]
    [('omega', 'omega', -0.4)]
    """

    def __init__(
        self,
        physics: Physics,
        hidden: Sequence[int] = HIDDEN,
        *,
        preset: str = "default",
        network: str | None = "auto",
        library: str | Sequence[sp.Expr | str] | None = "auto",
        keep: bool = False,
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
        window: float | None = None,
        random_state: int | None = 0,
    ) -> None:
        self.physics = physics
        self.hidden = hidden
        self.preset = preset
        self.network = network
        self.library = library
        self.keep = keep
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
        self.window = window
        self.random_state = random_state

    def fit(
        self, Y: Any, y: Any = None, u: Any = None, progress: Progress | bool | None = None, *, t: Any = None
    ) -> UDE:
        """Learn from a record.

        A record in memory goes through the batch estimator. The streaming learner does the work for records beyond
        memory, for the paper presets, and if a perceptron is requested.

        Parameters
        ----------
        Y : array_like of shape (samples, measured states), data frame, list of them, or Stream
            The samples; several runs as a list. A Stream (tinyude.data.logs.log_stream) may be longer than memory.
        y : float or array_like, optional
            The same as t, second by position.
        u : array_like of shape (samples, inputs), or list, optional
            The inputs of physics that has some. May be omitted if they are columns of the data frame Y.
        progress : bool or callable, optional
            True for percentages on stderr; a function is called with (done, total).
        t : float, array_like of shape (samples,), str, or list
            Seconds between samples, time stamps, or the name of their column in the data frame Y. Through a Pipeline
            with a step named `ude`, pass `ude__t`.

        Returns
        -------
        UDE
            Itself.

        Raises
        ------
        TinyUDEError
            If the record cannot be used; the message says why and what to do.

        Warns
        -----
        TinyUDEWarning
            If the verdict is not good.

        Examples
        --------
        >>> tu.UDE(physics, refine=False).fit(Y, t=t).equations()[0]
        'd(theta)/dt = omega'
        """
        with threadpool_limits(1, user_api="blas"):  # small matrices: threads would wait for each other
            stream = self._options.stream(Y, given_times(y, t, None), u)
            fit = fit_record(self._options, stream, progress_callback(progress))
            self.result_, self._session_ = fit.result, fit.session
            self._judge(stream, fit.observed, seen=fit.seen)
        return self

    def partial_fit(self, Y: Any, y: Any = None, u: Any = None, *, t: Any = None) -> UDE:
        """Continue learning from the next stretch of a live stream.

        The first stretch calibrates. A UDE that is fitted, loaded or copied continues from its model. Its kernel
        network, if any, keeps its shape: its gain, terms and perceptron learn.

        Parameters
        ----------
        Y : array_like of shape (samples, measured states)
            The samples since the last call.
        y : float or array_like, optional
            The same as t, second by position.
        u : array_like of shape (samples, inputs), optional
            The inputs.
        t : float or array_like, optional
            Seconds between samples, or time stamps; the fit's by default.

        Returns
        -------
        UDE
            Itself.

        Examples
        --------
        >>> live = tu.UDE(physics)
        >>> for block in np.array_split(Y, 3):
        ...     live = live.partial_fit(block, t=t[1] - t[0])
        >>> live.residual([[0.0, 1.0]]).shape
        (1, 2)
        """
        options = self._options
        options.check_all_measured("partial_fit")
        stream = options.stream(Y, given_times(y, t, self._period), u, shortest=1)
        session: Session | None = getattr(self, "_session_", None)
        if session is None and self.__sklearn_is_fitted__():
            session = resumed_session(self.result_, self.engine, self.precision, offered_terms(options, stream)[0])
        elif session is None:
            session = learner_session(options, stream, live=True)
        self._session_ = session
        if abs(stream.period - session.config.sample_period) > 0.01 * session.config.sample_period:
            raise TinyUDEError(
                f"The sample period changed from {session.config.sample_period:g} s to {stream.period:g} s; "
                "start a new UDE."
            )
        for run in stream.runs:
            session.engine.push(run.rows)
        if session.engine.state()["accepted"]:
            session.engine.judge()
            self.result_ = streamed_result(options, session, stream, live=True)
        return self

    def equations(self) -> list[str]:
        """The model as text: a line for each state's equation, then the learned part with its intervals.

        Returns
        -------
        list of str
            The lines.

        Examples
        --------
        >>> ude.equations()[0]
        'd(theta)/dt = omega'
        """
        return equation_lines(self._fitted(), self.diagnostics_)

    def save(self, path: str | PathLike[str]) -> None:
        """Write the model to a .tinyude file: plain numbers and text, nothing executable.

        Parameters
        ----------
        path : str or path
            Where to write it; read it again with `tinyude.load`.

        Raises
        ------
        TinyUDEError
            If it is not fitted, or the file cannot be written.

        Examples
        --------
        >>> ude.save("pendulum.tinyude")
        >>> tu.load("pendulum.tinyude").residual([0.0, 1.0]).round(1)
        array([ 0. , -0.4])
        """
        self._fitted()
        save_result(self.result_, self.get_params(deep=False), path)

    def __str__(self) -> str:
        return describe(self._fitted(), self.diagnostics_) if self.__sklearn_is_fitted__() else repr(self)

    def __getstate__(self) -> dict[str, Any]:
        """State without the running learner: a copy continues from the model."""
        return {key: value for key, value in super().__getstate__().items() if key != "_session_"}

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "result_")

    @property
    def _options(self) -> FitOptions:
        return FitOptions.of(self)

    def _fitted(self) -> Model:
        if self.__sklearn_is_fitted__():
            return self.model_
        session: Session | None = getattr(self, "_session_", None)
        if session is None:
            raise UnfittedError("This UDE is not fitted yet; call fit(Y, t=...) first.")
        state = session.engine.state()
        if state["calibrated"]:
            raise none_passed(state)
        raise TinyUDEError(f"Still calibrating: {state['samples']} of {session.config.calibration} samples; push more.")


def load(path: str | PathLike[str]) -> UDE:
    """Read a fitted UDE from a file.

    Parameters
    ----------
    path : path-like
        A file written by `UDE.save` (`.tinyude`). Nothing in it is executed.

    Returns
    -------
    UDE
        The model; it predicts, simulates, reports and exports as before it was saved.

    Raises
    ------
    TinyUDEError
        If the file is missing, damaged, not a model, or of a newer format.
    """
    result, arguments = read_result(path)
    try:
        ude = UDE(result.model.physics.stated, **arguments)
        ude._options.check()
        ude._options.check_names()
        names, channels = ude._options.channels(), len(result.diagnostics["noise"])
        if len(names) != channels:
            raise TinyUDEError(f"it measures {', '.join(names)}, and was fitted to {channels} channels")
    except DAMAGE as error:
        raise damaged(path, error) from None
    ude.result_ = result
    return ude
