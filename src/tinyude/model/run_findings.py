"""The findings about free runs: of the record, of stretches that the fit left out, and of records it has not seen."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tinyude.model.evidence import Evidence
from tinyude.model.quantities import percent, seconds
from tinyude.model.reason import BAD, CAUTION, NOTE, Reason

RUN_LOST, RUN_LARGE = 0.5, 0.05  # free-run error over the spread: no prediction, and a warning
HELD_BACK_LARGE = 0.2
DIVERGED = 0.25  # share of the free runs
RUN_UNEXPECTED = 4.0  # times the error that noise and the uncertain start explain
PREDICTABLE = 0.25  # expected error up to which a horizon is judged
ACCURATE = 1.2  # times the expected error of free runs
REPRODUCED = 8.0  # times the error over the record; networks alone on sound rigs: at most 5.4 (seed 0)
GROWS = 2.0  # times the expected error over the shortest horizon: then free runs amplify errors
WORSE = 1.3  # times the error of the known physics alone
CROSSED, COLOURED = 0.2, 0.4  # correlations of innovations; 12 sound rigs stay below 0.08 (seeds 0 and 7)
NETWORK = 0.2


def judged_horizon(evidence: Evidence) -> int | None:
    """The longest horizon that noise and the uncertain start leave predictable."""
    if evidence.runs is None:
        return None
    expected = np.median(evidence.runs.expected, axis=1)
    able = np.flatnonzero(expected < PREDICTABLE)
    return int(able[-1]) if len(able) else 0


def free_runs(evidence: Evidence) -> Iterator[Reason]:
    runs, index = evidence.runs, judged_horizon(evidence)
    if runs is None or index is None:
        yield from _held_back(evidence)
        return
    horizon = seconds(float(runs.horizons[index]))
    error, known, expected = (float(np.median(e[index])) for e in (runs.model, runs.known, runs.expected))
    told = (
        f"Free runs over {horizon} of {evidence.where} are off by {percent(error)} of the signals' spread "
        f"(noise and start explain {percent(expected)}; known physics alone: {percent(known)})"
    )
    unexpected = error > RUN_UNEXPECTED * expected
    if runs.diverged > DIVERGED and _unstable(evidence, index):
        yield Reason(
            NOTE, f"The system is unstable without its controller: under the recorded inputs free runs diverge, with "
            f"and without the learned part. They are judged over {horizon}.", "Simulate it together with the "
            "controller.", "unstable",
        )  # fmt: skip
    elif runs.diverged > DIVERGED:
        yield Reason(
            BAD, f"{percent(runs.diverged)} of the free runs over {seconds(float(runs.horizons[-1]))} diverge.",
            "Record motions that cover more states, or offer fewer terms with library=[...].", "free run",
        )  # fmt: skip
    if unexpected and error > RUN_LOST:
        yield Reason(
            BAD, f"{told}.", "Something that acts on the system is missing: an input, a state, or a term. Look at the "
            "unexplained remainder against every logged signal.", "free run",
        )  # fmt: skip
    elif unexpected and error > RUN_LARGE:
        yield Reason(
            CAUTION, f"{told}.", "Use it for short predictions, or record more motions and fit them together.",
            "free run",
        )  # fmt: skip
    elif error > RUN_LOST:
        yield Reason(
            CAUTION, f"{told}.", "Too little of it can be predicted to judge the model: excite the system more "
            "strongly, or use sensors with less noise.", "free run",
        )  # fmt: skip
    worse = float(np.mean(runs.model[index] > WORSE * runs.known[index]))
    if worse > 0.7 and error > 2.0 * expected and error > 0.02:
        yield Reason(
            BAD if error > RUN_LARGE else CAUTION,
            f"Learning made it worse: free runs over {horizon} are off by {percent(error)} with the learned part and "
            f"by {percent(known)} without.", "Use the known physics alone, or record more and fit again.", "worse",
        )  # fmt: skip


def _unstable(evidence: Evidence, index: int) -> bool:
    """Whether free runs diverge because recorded inputs do not react to them: the plant is unstable without feedback.

    A model of a bounded system without inputs is wrong if it diverges, however late.
    """
    runs = evidence.runs
    later = runs is not None and index < len(runs.horizons) - 1
    return bool(evidence.inputs) and runs is not None and later and runs.known_diverged >= 0.5 * runs.diverged


def _held_back(evidence: Evidence) -> Iterator[Reason]:
    """Where windows cannot judge (states that no channel sees): free runs over held-back stretches."""
    error = evidence.held_back.get("")
    if error is not None and error > HELD_BACK_LARGE:
        known = evidence.held_back.get("known")
        beside = "" if known is None else f" (known physics alone: {percent(known)})"
        yield Reason(
            BAD if error > RUN_LOST else CAUTION,
            f"{held_back_runs(evidence)} off by {percent(error)} of the signals' spread{beside}.",
            "Look for a missing input or state, or record more motions.", "free run",
        )  # fmt: skip


def reproduced(evidence: Evidence) -> Iterator[Reason]:
    """A network that reproduces the record, but does not predict stretches that its fit left out.

    It then stands for what is no function of states and inputs: a change, a drift, a missing state. Only where
    errors do not grow along a free run: those over held-back stretches are longer.
    """
    runs, error = evidence.runs, evidence.held_back.get("")
    learned = max(evidence.network.values(), default=0.0) > NETWORK
    if runs is None or error is None or evidence.held_out or not learned:
        return
    if judged_horizon(evidence) != len(runs.horizons) - 1:
        return
    expected = np.median(runs.expected, axis=1)
    same = max(float(np.median(runs.model[-1])), float(expected[-1]))
    grows = float(expected[-1]) > GROWS * float(expected[0]) or runs.diverged > 0.0
    if error > max(RUN_LARGE, REPRODUCED * same) and not grows:
        yield Reason(
            BAD if error > RUN_LOST else CAUTION,
            f"Free runs over stretches left out of the fit are off by {percent(error)} of the signals' spread, those "
            f"over the record by {percent(same)}: the network reproduces this record, not the system.",
            "Look for a change of the dynamics, a drift, or an input or state that is missing; or record more.",
            "free run",
        )  # fmt: skip


def held_back_runs(evidence: Evidence) -> str:
    """The free runs of a model with unmeasured states, as the beginning of a sentence."""
    count = evidence.held_back_count
    runs = f"{count} {'' if evidence.held_out else 'held-back '}free run{'' if count == 1 else 's'}"
    return f"{runs}{f' over {evidence.where}' if evidence.held_out else ''} {'is' if count == 1 else 'are'}"


def predicts(evidence: Evidence) -> bool:
    """Whether free runs over the longest horizon and one-step predictions leave nothing but noise.

    Then what the windows leave is their own error: they cannot follow a rate that changes within a few samples.
    """
    runs, index, found = evidence.runs, judged_horizon(evidence), evidence.innovations
    if runs is None or index != len(runs.horizons) - 1 or found is None:
        return False
    error, expected = (float(np.median(e[-1])) for e in (runs.model, runs.expected))
    white = found.cross[0] < max(CROSSED, 2.0 * found.bound) and found.auto[0] < max(COLOURED, 3.0 * found.bound)
    return white and error < ACCURATE * expected < RUN_LARGE
