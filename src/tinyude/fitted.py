"""What a fitted UDE tells about itself: its verdict, tables, plots, report page, and linearisation."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError, TinyUDEWarning
from tinyude.model.diagnostics import adopt_verdict
from tinyude.model.evidence import Evidence, collect_evidence, hidden_evidence
from tinyude.model.findings import GOOD
from tinyude.model.model import Model
from tinyude.model.probes import noise_of
from tinyude.model.program import model_program
from tinyude.model.verdict import Verdict, combined, judge
from tinyude.physics import Physics
from tinyude.physics.derivatives import program_derivative
from tinyude.physics.programs import program_numpy

if TYPE_CHECKING:
    from tinyude.report.displays import FreeRunDisplay, ResidualAnalysisDisplay, ResidualDisplay

Array = NDArray[Any]


def shown(progress: Any) -> Any:
    """What `fit(progress=...)` calls: a function as it is, True for percentages on stderr, None for nothing."""
    if progress is None or progress is False:
        return None
    if progress is not True:
        return progress

    def tell(done: int, total: int) -> None:
        end = "\n" if done >= total else ""
        sys.stderr.write(f"\rfitting: {100.0 * min(done / max(total, 1), 1.0):3.0f} %{end}")
        sys.stderr.flush()

    return tell


class Fitted:
    """The part of `UDE` that reads a fitted model."""

    if TYPE_CHECKING:
        model_: Model
        physics: Physics
        config_: Any
        diagnostics_: dict[str, Any]
        _state_: dict[str, Any]

        def _fitted(self) -> Model: ...
        def _stream(self, Y: Any, t: Any, u: Any, shortest: int | None = None) -> Stream: ...
        def _arguments(self, X: Any, u: Any) -> tuple[Model, Array, Array | None]: ...

    @property
    def verdict_(self) -> Verdict:
        """Whether the model can be trusted, why, and what to do: a `Verdict`."""
        self._fitted()
        if "verdict" not in self.diagnostics_:
            raise AttributeError("verdict_ comes with fit(), not with partial_fit(); use validate(Y, t, u).")
        return Verdict.from_dict(self.diagnostics_["verdict"])

    @property
    def terms_(self) -> list[dict[str, Any]]:
        """Learned terms: state, term, your value in the known physics, learned, net, error and interval, share."""
        from tinyude.model.term_table import term_rows

        return term_rows(self._fitted(), self.diagnostics_)

    def validate(self, Y: Any, t: Any, u: Any = None, *, name: str = "held-out record", unused: Any = None) -> Verdict:
        """Judge the model on a record that the fit has not seen; `verdict_` is then that judgement.

        Parameters
        ----------
        Y, t, u
            The record, as for `fit`.
        name : str
            What the sentences call it.
        unused : mapping of str to (times, values), optional
            Logged signals that the model does not use; one that explains what is left is named.

        Returns
        -------
        Verdict
        """
        self._fitted()
        stream = self._stream(Y, t, u)
        unseen = judge(self._evidence(stream, held_out=name, unused=unused))
        own = self.diagnostics_.get("fitted_verdict", self.diagnostics_.get("verdict"))
        if own is not None:
            self.diagnostics_["fitted_verdict"] = own
            unseen = combined(Verdict.from_dict(own), unseen)
        adopt_verdict(self.diagnostics_, unseen)
        return unseen

    def linearize(self, x: Any, u: Any = None) -> tuple[Array, Array]:
        """Derivatives of the field at a state: dx/dt = f + A (x - x0) + B (u - u0).

        Parameters
        ----------
        x : array_like of shape (states,)
            The operating point.
        u : array_like of shape (inputs,), optional
            The inputs there; 0 by default.

        Returns
        -------
        A : ndarray of shape (states, states)
        B : ndarray of shape (states, inputs)
        """
        physics = self._fitted().physics
        held = np.zeros(physics.n_inputs) if u is None and physics.n_inputs else u
        model, state, at = self._arguments(x, held)
        if state.ndim != 1:
            raise TinyUDEError(f"x has shape {state.shape}; give one state of {physics.n_states} numbers.")
        width = physics.n_states + physics.n_inputs
        point = state if at is None else np.concatenate([state, np.atleast_1d(at)])
        slopes = program_numpy(program_derivative(model_program(model), range(width)), point)
        slopes = slopes.reshape(physics.n_states, width)
        return slopes[:, : physics.n_states], slopes[:, physics.n_states :]

    def plot_residual(self, state: str | None = None, against: str | None = None, *, ax: Any = None) -> ResidualDisplay:
        """Plot what was learned along one signal, with its interval and what single windows say.

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
        self, Y: Any = None, t: Any = None, u: Any = None, *, start: float = 0.0, ax: Any = None
    ) -> FreeRunDisplay:
        """Plot a free run beside what was measured, with the known physics alone.

        Parameters
        ----------
        Y, t, u : optional
            A record as for `fit`; the beginning of the fitted one by default.
        start : float
            Seconds into the record.
        ax : matplotlib Axes or sequence of them, optional
            One for each measured state.

        Returns
        -------
        FreeRunDisplay
        """
        from tinyude.report.displays import FreeRunDisplay

        return FreeRunDisplay.from_estimator(self, Y, t, u, start=start, ax=ax)

    def plot_residual_analysis(self, *, ax: Any = None) -> ResidualAnalysisDisplay:
        """Plot the autocorrelation of what stays unexplained, and its correlation with the inputs.

        Parameters
        ----------
        ax : sequence of matplotlib Axes, optional
            The first for the autocorrelation, one more for each input.

        Returns
        -------
        ResidualAnalysisDisplay
        """
        from tinyude.report.displays import ResidualAnalysisDisplay

        return ResidualAnalysisDisplay.from_estimator(self, ax=ax)

    def report(self, path: str | PathLike[str], *, title: str = "", units: Mapping[str, str] | None = None) -> Path:
        """Write the report page: one HTML file that needs nothing else.

        Parameters
        ----------
        path : path
            Where to write it.
        title : str, optional
        units : mapping of str to str, optional
            The unit of each state and input, e.g. {"theta": "rad"}.

        Returns
        -------
        Path
        """
        from tinyude.report import collect, render

        self._fitted()
        target = Path(path)
        write_whole(target, render(collect(self, title=title or target.stem, units=units)))
        return target

    def _repr_html_(self) -> str:
        from tinyude.report.notebook import ude_html

        return ude_html(self)

    def _judge(self, stream: Stream, unused: Any = None) -> None:
        """The verdict on the record that was fitted; a doubt is also a warning."""
        verdict = judge(self._evidence(stream, unused=unused) if unused else self._evidence(stream))
        self.diagnostics_.pop("fitted_verdict", None)
        adopt_verdict(self.diagnostics_, verdict)
        if verdict.status != GOOD:
            doubts = " ".join(self.diagnostics_["warnings"])
            warnings.warn(f"verdict: {verdict.status}. {doubts}", TinyUDEWarning, stacklevel=3)

    def _evidence(self, stream: Stream, **options: Any) -> Evidence:
        found = self.diagnostics_
        if not hasattr(self, "config_"):
            return hidden_evidence(self.model_, stream, found)
        state = self._state_
        if options.get("held_out"):  # another day's noise may be larger
            state = state | {"sigma": np.maximum(state["sigma"], noise_of(stream))}
        return collect_evidence(self.model_, self.config_, state, stream, found, given=self.physics, **options)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]
