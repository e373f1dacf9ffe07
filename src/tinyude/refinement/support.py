"""Whether a record supports what a candidate learned, before free runs compare it with others.

Where no model explains the rows, something unknown acts: a hand that moves the machine, a state that is missing.
Numbers that make up for it in one record may run better there, also over held-back parts, and nowhere else. One step
ahead, under the process noise that is likeliest for each model, such a disturbance is noise, and only what holds at
every step counts: there nothing that was learned may be less likely than the known physics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tinyude.model.candidate import Candidate
from tinyude.refinement.estimate import Estimate, Setup, likeliest
from tinyude.refinement.stretches import Batch


def with_notes(
    setup: Setup, candidates: Sequence[Candidate], found: Mapping[str, Estimate], batch: Batch
) -> list[Candidate]:
    """The candidates, with a note where these rows contradict one; found: name to estimate."""
    alone = likeliest(setup, found["known"], batch)

    def noted(candidate: Candidate) -> Candidate:
        if candidate.name == "known":
            return candidate
        if at := candidate.model.physics.at_bounds():
            return replace(candidate, note=f"{', '.join(at)} stopped at a bound")
        if likeliest(setup, found[candidate.name], batch) < alone:
            return replace(candidate, note="one step ahead less likely than the known physics alone")
        return candidate

    return [noted(candidate) for candidate in candidates]
