"""One finding of a verdict."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

GOOD, CAUTION, BAD, NOTE = "good", "caution", "bad", "note"
SEVERITIES = (BAD, CAUTION, NOTE)  # the most serious first


@dataclass(frozen=True)
class Reason:
    """One finding.

    Attributes
    ----------
    severity : {"bad", "caution", "note"}
        A note does not lower the status.
    text : str
        What was found.
    remedy : str
        What to do about it.
    kind : str
        A short identifier for programs: "free run", "unexplained", "input", "sign", "units", ...
    """

    severity: str
    text: str
    remedy: str
    kind: str

    def __str__(self) -> str:
        return f"{self.text} {self.remedy}".strip()


def most_serious_first(reasons: Iterable[Reason]) -> tuple[Reason, ...]:
    """The reasons by severity, otherwise in the given order."""
    return tuple(sorted(reasons, key=lambda reason: SEVERITIES.index(reason.severity)))
