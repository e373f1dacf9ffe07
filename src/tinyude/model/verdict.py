"""The verdict on a fit: from evidence to a status, one sentence, reasons with remedies, and figures."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from tinyude.model.evidence import LEFT_LOST, NEAR_NOISE, Evidence
from tinyude.model.findings import reasons
from tinyude.model.quantities import percent, seconds
from tinyude.model.reason import BAD, CAUTION, GOOD, NOTE, Reason, most_serious_first
from tinyude.model.run_findings import held_back_runs, judged_horizon

STATUSES = (GOOD, CAUTION, BAD)
OF_THE_RECORD = ("free run", "unexplained", "worse", "short", "held out", "rejected")  # kinds specific to each record


@dataclass(frozen=True)
class Verdict:
    """Whether the model can be trusted, why, and what to do.

    Attributes
    ----------
    status : {"good", "caution", "bad"}
    summary : str
        One sentence.
    reasons : tuple of Reason
        The most serious first.
    figures : dict
        The numbers behind it.
    """

    status: str
    summary: str
    reasons: tuple[Reason, ...]
    figures: Mapping[str, Any] = field(default_factory=dict)

    @property
    def next_step(self) -> str:
        """What to do first."""
        return next((reason.remedy for reason in self.reasons if reason.remedy and reason.severity != NOTE), "")

    def lines(self) -> list[str]:
        """The verdict for a terminal: the status and summary first."""
        return [f"verdict: {self.status}. {self.summary}", *(f"{r.severity}: {r}" for r in self.reasons)]

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as stored in JSON."""
        return {
            "status": self.status,
            "summary": self.summary,
            "reasons": [asdict(reason) for reason in self.reasons],
            "figures": dict(self.figures),
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Verdict:
        """The inverse of `to_dict`."""
        reasons = tuple(Reason(**{key: str(r[key]) for key in Reason.__dataclass_fields__}) for r in data["reasons"])
        return cls(str(data["status"]), str(data["summary"]), reasons, dict(data["figures"]))

    def __str__(self) -> str:
        return "\n".join(self.lines())


def judge(evidence: Evidence) -> Verdict:
    """The verdict that the evidence supports: bad if anything is, else caution, else good.

    Parameters
    ----------
    evidence : Evidence
        From `collect_evidence`.

    Returns
    -------
    Verdict
    """
    found = reasons(evidence)
    status = _status(found)
    return Verdict(status, _good_summary(evidence) if status == GOOD else found[0].text, found, figures(evidence))


def combined(fitted: Verdict, unseen: Verdict) -> Verdict:
    """The verdict on a record that the fit has not seen, with the doubts of the fit itself."""
    kinds = {reason.kind for reason in unseen.reasons}
    kept = [reason for reason in fitted.reasons if reason.kind not in kinds.union(OF_THE_RECORD)]
    found = most_serious_first([*unseen.reasons, *kept])
    status = _status(found)
    summary = unseen.summary if status == unseen.status else found[0].text
    return Verdict(status, summary, found, {**unseen.figures, "fitted": dict(fitted.figures)})


def _status(found: tuple[Reason, ...]) -> str:
    severities = {reason.severity for reason in found}
    return BAD if BAD in severities else CAUTION if CAUTION in severities else GOOD


def _explained(evidence: Evidence, state: str) -> bool:
    """Whether a state's rate is explained up to noise and free runs are accurate: then nothing else is missing."""
    runs, index = evidence.runs, judged_horizon(evidence)
    if runs is None or index is None:
        return False
    held = float(np.median(runs.model[index])) < NEAR_NOISE * float(np.median(runs.expected[index]))
    return held and evidence.unexplained[state].over_noise < NEAR_NOISE


def figures(evidence: Evidence) -> dict[str, Any]:
    """The numbers that people compare."""
    answer: dict[str, Any] = {
        "judged_on": evidence.held_out or "the record that was fitted",
        "unexplained": {
            s: {"share": u.share, "known": u.known, "noise": u.floor} for s, u in evidence.unexplained.items()
        },
        "windows_passed": evidence.passed,
        "outside": evidence.outside_total,
        "held_back": dict(evidence.held_back),
        "explained": {state: _explained(evidence, state) for state in evidence.unexplained},
    }
    index, runs = judged_horizon(evidence), evidence.runs
    if runs is not None and index is not None:
        answer["free_run"] = {
            "seconds": float(runs.horizons[index]),
            "error": float(np.median(runs.model[index])),
            "known": float(np.median(runs.known[index])),
            "expected": float(np.median(runs.expected[index])),
            "noise": runs.noise,
            "starts": runs.count,
            "diverged": runs.diverged,
        }
        answer["horizons"] = {
            "seconds": runs.horizons.tolist(),
            **{k: np.median(getattr(runs, k), axis=1).tolist() for k in ("model", "known", "hold", "expected")},
        }
    return answer


def _good_summary(evidence: Evidence) -> str:
    shown = figures(evidence)
    parts = []
    if "free_run" in shown:
        run = shown["free_run"]
        parts.append(
            f"Free runs over {seconds(run['seconds'])} of {evidence.where} are off by {percent(run['error'])} of the "
            f"signals' spread (known physics alone: {percent(run['known'])})"
        )
    elif "" in evidence.held_back:
        parts.append(f"{held_back_runs(evidence)} off by {percent(evidence.held_back[''])} of the signals' spread")
    worst = max(evidence.unexplained.values(), key=lambda u: u.share, default=None)
    if worst is not None and worst.share > LEFT_LOST:  # else the verdict would not be good: noise accounts for it
        parts.append("what is left of the rates is sensor noise")
    elif worst is not None:
        parts.append(
            f"{percent(worst.share)} of the rates stay unexplained, where sensor noise accounts for "
            f"{percent(worst.floor)}"
        )
    return "; ".join(parts) + "." if parts else "No fault was found, but the record gives little evidence."
