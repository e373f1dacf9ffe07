"""What a fitted UDE tells about itself: its verdict, tables, plots, report page, and linearisation."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEWarning
from tinyude.model.diagnostics import adopt_verdict
from tinyude.model.evidence import Evidence, collect_evidence, hidden_evidence
from tinyude.model.findings import GOOD
from tinyude.model.model import Model
from tinyude.model.verdict import Verdict, combined, judge
from tinyude.model.windows import Windows
from tinyude.physics import Physics
from tinyude.training.batch.observe import Observed

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
        def _windows(self, stream: Stream, model: Model, observed: Observed | None = None) -> Windows: ...
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
        Y : array_like of shape (samples, measured states)
            The record, as for `fit`.
        t : float or array_like
            Seconds between samples, or time stamps.
        u : array_like of shape (samples, inputs), optional
            The inputs.
        name : str, optional
            What the sentences call it.
        unused : mapping of str to (times, values), optional
            Logged signals that the model does not use; one that explains what is left is named.

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
        stream = self._stream(Y, t, u)
        unseen = judge(self._evidence(stream, held_out=name, unused=unused))
        own = self.diagnostics_.get("fitted_verdict", self.diagnostics_.get("verdict"))
        if own is not None:
            self.diagnostics_["fitted_verdict"] = own
            unseen = combined(Verdict.from_dict(own), unseen)
        adopt_verdict(self.diagnostics_, unseen)
        return unseen

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
        Y : array_like, optional
            A record as for `fit`; the beginning of the fitted one by default.
        t : float or array_like, optional
            Its period or time stamps.
        u : array_like, optional
            Its inputs.
        start : float, optional
            Seconds into the record.
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
        from tinyude.report import collect, render

        self._fitted()
        target = Path(path)
        write_whole(target, render(collect(self, title=title or target.stem, units=units)))
        return target

    def _repr_html_(self) -> str:
        from tinyude.report.notebook import ude_html

        return ude_html(self)

    def _judge(self, stream: Stream, observed: Observed | None = None, unused: Any = None) -> None:
        """The verdict on the record that was fitted; a doubt is also a warning."""
        verdict = judge(self._evidence(stream, observed, unused=unused))
        self.diagnostics_.pop("fitted_verdict", None)
        adopt_verdict(self.diagnostics_, verdict)
        if verdict.status != GOOD:
            doubts = " ".join(self.diagnostics_["warnings"])
            warnings.warn(f"verdict: {verdict.status}. {doubts}", TinyUDEWarning, stacklevel=4)

    def _evidence(self, stream: Stream, observed: Observed | None = None, **options: Any) -> Evidence:
        found, model = self.diagnostics_, self.model_
        if not hasattr(self, "config_"):
            return hidden_evidence(model, stream, found)
        seen = self._windows(stream, model, observed)
        return collect_evidence(model, seen, self._state_, stream, found, given=self.physics, **options)

    def __dir__(self) -> list[str]:
        return [name for name in super().__dir__() if not name.startswith("_") or name.startswith("__")]
