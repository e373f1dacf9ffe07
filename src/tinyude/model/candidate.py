"""A candidate model with its evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.model.model import Model

Array = NDArray[Any]


@dataclass(frozen=True)
class Candidate:
    """One model structure after its fit.

    Attributes
    ----------
    name : str
        E.g. "known", "parameters", "terms", "fewer terms", "network", "windows", "streaming".
    model : Model
    evidence : float
        Log-likelihood of the one-step innovations minus the price of the unknowns; NaN if not computed.
    scores : array
        Errors of held-back free runs, RMS error / standard deviation, 1 at most. Empty if there are none.
    cost : int
        Number of fitted unknowns.
    note : str
        A remark for the reader, e.g. why it was rejected.
    best : bool
        Whether it is the chosen one.
    """

    name: str
    model: Model
    evidence: float = float("nan")
    scores: Array = field(default_factory=lambda: np.zeros(0))
    cost: int = 0
    note: str = ""
    best: bool = False

    def __repr__(self) -> str:
        """One line, without the arrays of its model."""
        kept = ", kept" if self.best else ""
        return f"Candidate({self.name!r}, unknowns={self.cost}, free-run error={self.error:.3g}{kept})"

    @property
    def error(self) -> float:
        """Mean of the held-back free-run errors; NaN if there are none."""
        return float(np.mean(self.scores)) if len(self.scores) else float("nan")

    def to_dict(self) -> dict[str, Any]:
        """Plain data for reports and JSON."""
        return {
            "name": self.name,
            "evidence": self.evidence if np.isfinite(self.evidence) else None,
            "error": self.error if np.isfinite(self.error) else None,
            "free_runs": len(self.scores),
            "unknowns": self.cost,
            "best": self.best,
            "note": self.note,
        }
