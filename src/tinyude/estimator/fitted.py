"""Results of a fitted UDE: verdict, tables, plots, report page, and linearisation."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from dataclasses import replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError, TinyUDEWarning
from tinyude.estimator.continuation import continuation
from tinyude.estimator.options import FitOptions
from tinyude.estimator.streaming import record_windows
from tinyude.model.candidate import Candidate
from tinyude.model.collect_evidence import collect_evidence, hidden_evidence
from tinyude.model.collinear import collinear_terms
from tinyude.model.diagnostics import adopt_verdict, record_excerpt, term_shares
from tinyude.model.equations import LearnedParameter
from tinyude.model.evidence import Evidence
from tinyude.model.findings import short_for
from tinyude.model.model import Model
from tinyude.model.reason import GOOD
from tinyude.model.result import FitResult
from tinyude.model.start_state import measuring
from tinyude.model.uncertainty import Spread
from tinyude.model.verdict import Verdict, combined, judge
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.physics.kinematics import measured_map
from tinyude.reference.config import Config
from tinyude.training.batch.observe import Observed

if TYPE_CHECKING:
    from tinyude.report.displays import FreeRunDisplay, ResidualAnalysisDisplay, ResidualDisplay

Array = NDArray[Any]
T = TypeVar("T")


def progress_callback(progress: Any) -> Any:
    """The progress callback of `fit`: the given function, for True one that prints percentages to stderr, or None."""
    if progress is None or progress is False:
        return None
    if progress is not True and not callable(progress):
        raise TinyUDEError(f"progress is {progress!r}; give True, or a function of (done, total).")
    if progress is not True:
        return progress

    def print_percentage(done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\rfitting: {100.0 * min(done / max(total, 1), 1.0):3.0f} %{end}")
        sys.stderr.flush()

    return print_percentage


def given_times(by_position: Any, by_name: Any, period: float | None) -> Any:
    """The times passed to a method, as second argument or by name; otherwise the period of the fit."""
    if by_position is not None and by_name is not None:
        raise TinyUDEError("t is given twice, by position and by name; give it once.")
    return by_name if by_name is not None else by_position if by_position is not None else period


class FromResult(Generic[T]):
    """A fitted attribute: reads the entry of that name in the fit's result; AttributeError if there is none."""

    def __init__(self, doc: str) -> None:
        self.__doc__ = doc

    def __set_name__(self, owner: type, name: str) -> None:
        self._attribute, self._name = name, name.removesuffix("_")

    @overload
    def __get__(self, ude: None, owner: type) -> FromResult[T]: ...
    @overload
    def __get__(self, ude: object, owner: type) -> T: ...
    def __get__(self, ude: object | None, owner: type) -> FromResult[T] | T:
        if ude is None:
            return self
        value: T | None = getattr(vars(ude).get("result_"), self._name, None)
        if value is None:
            raise AttributeError(f"This UDE has no {self._attribute}: it is not fitted, or its fit has no such part.")
        return value

    def __set__(self, ude: Any, value: T) -> None:
        setattr(ude.result_, self._name, value)


class Fitted:
    """The part of `UDE` that reads a fitted model."""

    if TYPE_CHECKING:
        physics: Physics
        measured: Any
        unmeasured: Any
        result_: FitResult

        def _fitted(self) -> Model: ...
        @property
        def _options(self) -> FitOptions: ...

    model_ = FromResult[Model]("Known physics and what was learned.")
    config_ = FromResult[Config]("The configuration with which a board continues to learn.")
    diagnostics_ = FromResult[dict[str, Any]]("Figures of the fit: noise, windows, rejections, refinement, verdict.")
    history_ = FromResult[Mapping[str, Array]]("Loss over the perceptron's updates; empty for a batch fit.")
    record_ = FromResult[dict[str, Array]]("An excerpt of the record with its window estimates, for plots.")
    spread_ = FromResult[Spread](
        "Standard errors of the learned values over groups of windows, if there is no covariance."
    )
    candidates_ = FromResult[list[Candidate]]("Models that refinement compared, with held-back free-run errors.")
    states_ = FromResult[Any]("Times, smoothed states and their standard errors. With refinement.")
    parameters_ = FromResult[list[LearnedParameter]](
        "Learned parameters, each with `name`, `value` and the ends `low`, `high` of a 90 % interval. Of a batch fit."
    )

    @property
    def n_features_in_(self) -> int:
        """Number of measured channels."""
        return len(self.feature_names_in_)

    @property
    def feature_names_in_(self) -> Array:
        """Names of the measured channels: the columns of Y."""
        return np.array(measured_map(self.model_.physics, self.measured, self.unmeasured or ()).names, dtype=object)

    @property
    def verdict_(self) -> Verdict:
        """Whether the model can be trusted, why, and what to do: a `Verdict`."""
        self._fitted()
        if "verdict" not in self.diagnostics_:
            raise AttributeError("verdict_ is set by fit(), not by partial_fit(); use validate(Y, t, u).")
        return Verdict.from_dict(self.diagnostics_["verdict"])

    @property
    def terms_(self) -> list[dict[str, Any]]:
        """Learned terms: state, term, your value in the known physics, learned, net, error and interval, share.

        collinear: whether it cannot be distinguished from other terms; then only their sum is determined
        (`residual_interval`).
        """
        from tinyude.model.term_table import term_rows

        return term_rows(self._fitted(), self.diagnostics_)

    def validate(
        self, Y: Any, t: Any = None, u: Any = None, *, name: str = "held-out record", unused: Any = None
    ) -> Verdict:
        """Judge the model on a record that the fit has not seen; `verdict_` is then that judgement.

        Parameters
        ----------
        Y : array_like of shape (samples, measured states)
            The record, as for `fit`.
        t : float, array_like, str, or list, optional
            Seconds between samples, time stamps, or the name of their column; the fit's period by default.
        u : array_like of shape (samples, inputs), optional
            The inputs.
        name : str, optional
            Its name in the sentences.
        unused : mapping of str to (times, values), optional
            Logged signals that the model does not use; one that explains the remainder is named.

        Returns
        -------
        Verdict
            On that record, with the doubts that the fit itself left.

        Examples
        --------
        >>> t2, Y2 = tu.systems.pendulum("A").stream(noise=0.01, seconds=12.0, seed=1)
        >>> ude.validate(Y2, t2, name="Tuesday").figures["judged_on"]
        'Tuesday'
        """
        self._fitted()
        stream = self._options.stream(Y, self._period if t is None else t, u)
        unseen = judge(self._evidence(stream, held_out=name, unused=unused))
        own = self.diagnostics_.get("fitted_verdict", self.diagnostics_.get("verdict"))
        if own is not None:
            self.diagnostics_["fitted_verdict"] = own
            unseen = combined(Verdict.from_dict(own), unseen)
        adopt_verdict(self.diagnostics_, unseen)
        return unseen

    def score(self, Y: Any, y: Any = None, u: Any = None, *, t: Any = None) -> float:
        """R^2 of the model's rates against those that the accepted windows of a record estimate.

        Parameters
        ----------
        Y : array_like of shape (samples, measured states)
            A record, as for `fit`.
        y : float or array_like, optional
            The same as t, second by position.
        u : array_like of shape (samples, inputs), optional
            The inputs.
        t : float or array_like, optional
            Seconds between samples, or time stamps; the fit's period by default.

        Returns
        -------
        float
            1 for a perfect model; the mean over the states that may lack something. Windows count by their noise;
            those in which the state jumps are excluded.

        Raises
        ------
        TinyUDEError
            If no window of the record passes the acceptance test.

        Examples
        --------
        >>> ude.score(Y, t=t) > 0.99
        True
        """
        model = self._fitted()
        self._options.check_all_measured("score")
        seen = self._windows(self._options.stream(Y, given_times(y, t, self._period), u))
        if len(seen) < 2:
            raise TinyUDEError(
                "No window of this record passes the acceptance test, so there is nothing to score against."
            )
        left = seen.dx - seen.view(model.field(seen.node_x, seen.inputs))
        return float(np.mean([seen.r2(left[:, i], i) for i in model.on]))

    def plot_residual(self, state: str | None = None, against: str | None = None, *, ax: Any = None) -> ResidualDisplay:
        """Plot the learned part along one signal, with its interval and the estimates of single windows.

        Parameters
        ----------
        state : str, optional
            Whose rate; by default the first that has a learned part.
        against : str, optional
            The state on the horizontal axis; by default the one that the residual depends on most.
        ax : matplotlib Axes, optional
            Where to draw; a new figure otherwise.

        Returns
        -------
        ResidualDisplay
            With `figure_` and `axes_`.
        """
        from tinyude.report.displays import ResidualDisplay

        return ResidualDisplay.from_estimator(self, state=state, against=against, ax=ax)

    def plot_free_run(
        self, Y: Any = None, t: Any = None, u: Any = None, *, start: float | None = None, ax: Any = None
    ) -> FreeRunDisplay:
        """Plot a free run with the measured signals and a run of the known physics alone.

        Parameters
        ----------
        Y : array_like, optional
            A record as for `fit`; an excerpt of the fitted one by default.
        t : float or array_like, optional
            Its period or time stamps.
        u : array_like, optional
            Its inputs.
        start : float, optional
            Seconds into the record; by default, for the excerpt, where its longest stretch without a jump of the state
            begins.
        ax : matplotlib Axes or sequence of them, optional
            One for each measured state.

        Returns
        -------
        FreeRunDisplay
            With `figure_` and `axes_`.
        """
        from tinyude.report.displays import FreeRunDisplay

        return FreeRunDisplay.from_estimator(self, Y, t, u, start=start, ax=ax)

    def plot_residual_analysis(self, *, ax: Any = None) -> ResidualAnalysisDisplay:
        """Plot the autocorrelation of the one-step innovations, and their correlation with the inputs.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            The first for the autocorrelation, one more for each input.

        Returns
        -------
        ResidualAnalysisDisplay
            With `figure_` and `axes_`.
        """
        from tinyude.report.displays import ResidualAnalysisDisplay

        return ResidualAnalysisDisplay.from_estimator(self, ax=ax)

    def report(self, path: str | PathLike[str], *, title: str = "", units: Mapping[str, str] | None = None) -> Path:
        """Write the report page: one HTML file that needs nothing else.

        Parameters
        ----------
        path : str or path
            Where to write it.
        title : str, optional
            The page's heading; the file's name by default.
        units : mapping of str to str, optional
            The unit of each state and input, e.g. {"theta": "rad"}.

        Returns
        -------
        Path
            The file.
        """
        from tinyude.report.collect import collect
        from tinyude.report.page import render

        self._fitted()
        target = Path(path)
        write_whole(target, render(collect(self, title=title or target.stem, units=units)))
        return target

    def _repr_html_(self) -> str:
        from tinyude.report.notebook import ude_html

        return ude_html(self)

    def _judge(
        self, stream: Stream, observed: Observed | None = None, unused: Any = None, seen: Windows | None = None
    ) -> None:
        """The verdict on the record that was fitted; a doubt is also a warning."""
        verdict = judge(self._evidence(stream, observed, seen, unused=unused))
        self.diagnostics_.pop("fitted_verdict", None)
        adopt_verdict(self.diagnostics_, verdict)
        if verdict.status != GOOD:
            doubts = " ".join(self.diagnostics_["warnings"])
            warnings.warn(f"verdict: {verdict.status}. {doubts}", TinyUDEWarning, stacklevel=3)

    def _evidence(
        self, stream: Stream, observed: Observed | None = None, seen: Windows | None = None, **options: Any
    ) -> Evidence:
        result = self.result_
        if result.config is None:
            own = {"given": self.physics, "measured": measuring(self), "held_out": options.get("held_out", "")}
            return hidden_evidence(result, stream, **own)
        seen = seen or self._windows(stream, observed)
        if not options.get("held_out"):
            result.diagnostics["term_shares"] = term_shares(result.model, seen)  # of the model after refinement
            result.diagnostics["collinear"] = collinear_terms(result.model, seen)
            if result.record is not None:
                result.record = record_excerpt(seen, stream, result.model)
        evidence = collect_evidence(result, seen, stream, given=self.physics, **options)
        if observed is None or not short_for(evidence):
            return evidence
        found = continuation(self._options, stream, result.model, seen, self.diagnostics_.get("holds"))
        return replace(evidence, continuation=found)

    @property
    def _period(self) -> float | None:
        """Default of the seconds between samples: those of the fit."""
        config = getattr(getattr(self, "result_", None), "config", None)
        return None if config is None else float(config.sample_period)

    def _windows(self, stream: Stream, observed: Observed | None = None) -> Windows:
        holds = self.diagnostics_.get("holds")
        return record_windows(self._options, stream, self.model_, observed, holds)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]
