"""The findings about a fit: rules from evidence to reasons, each with what to do.

Thresholds were set on the tuning half of the simulated rigs of `tinyude reproduce verdicts`; its table reports the
other half.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tinyude.model.evidence import LEFT_LARGE, LEFT_LOST, Evidence
from tinyude.model.physics_findings import (
    SURE,
    changed_dynamics,
    late_signals,
    told_values,
    wrong_inputs,
    wrong_physics,
    wrong_rates,
    wrong_sizes,
    wrong_terms,
)
from tinyude.model.quantities import percent, seconds, times
from tinyude.model.reason import BAD, CAUTION, NOTE, Reason, most_serious_first
from tinyude.model.sensor_findings import sensor_findings

RUN_LOST, RUN_LARGE = 0.5, 0.05  # free-run error over the spread: no prediction, and a warning
HELD_BACK_LARGE = 0.2
DIVERGED = 0.25  # share of the free runs
RUN_UNEXPECTED = 4.0  # times the error that noise and the uncertain start explain
PREDICTABLE = 0.25  # expected error up to which a horizon is judged
ACCURATE = 1.2  # times the expected error of free runs
WORSE = 1.3  # times the error of the known physics alone
LEFT_OVER_NOISE = 2.0  # sound rigs leave 0.85 to 1.25 times the noise
DRIVEN = 0.35  # correlation of the remainder with a signal
CROSSED, COLOURED = 0.2, 0.4  # correlations of innovations; 12 sound rigs stay below 0.08 (seeds 0 and 7)
PASSED = 0.5
FEW_CYCLES, FEW_WINDOWS = 0.75, 40  # a step response of three time constants has 0.76, a ramp 0.55
FEW_APART = 9.0  # non-overlapping windows: overlapping ones are not independent
FORESEEN, BETTER = 1.5, 2.0  # times the error of the whole fit, at most; times smaller than the other errors, at least
OUTSIDE = 0.01
NETWORK = 0.2


def judged_horizon(evidence: Evidence) -> int | None:
    """The longest horizon that noise and the uncertain start leave predictable."""
    if evidence.runs is None:
        return None
    expected = np.median(evidence.runs.expected, axis=1)
    able = np.flatnonzero(expected < PREDICTABLE)
    return int(able[-1]) if len(able) else 0


def short_for(evidence: Evidence) -> str:
    """How the record is short, in words; "" if it is not."""
    if 0.0 < evidence.cycles < FEW_CYCLES:
        return "; less than three time constants, or three quarters of a period, of the motion"
    few = evidence.windows < FEW_WINDOWS or 0.0 < evidence.apart < FEW_APART
    return "; few windows that do not overlap" if few else ""


def _foreseen(evidence: Evidence) -> bool:
    """Whether a fit to the first part of a short record predicts the rest as well as the whole fit does.

    And clearly better than holding the last value, and than the known physics alone. If nothing was learned, that
    cannot be shown: a short record hides what is missing.
    """
    found = evidence.continuation
    if found is None or evidence.runs is None:  # too few windows to test anything else
        return False
    return found.part < FORESEEN * found.whole and found.part < min(found.hold, found.known) / BETTER


def _room(evidence: Evidence) -> Iterator[Reason]:
    if how := short_for(evidence):
        length, found = f"{evidence.samples} samples, {seconds(evidence.seconds)}{how}", evidence.continuation
        compared = "" if found is None else (
            f" A fit to its first two thirds predicts the rest to {percent(found.part)} of the signals' spread, the "
            f"whole fit to {percent(found.whole)}, known physics alone to {percent(found.known)}."
        )  # fmt: skip
        if _foreseen(evidence):
            yield Reason(NOTE, f"The record is short ({length}).{compared}", "", "short")
        else:
            yield Reason(
                CAUTION, f"The record is too short to judge a model ({length}).{compared}",
                "Record longer, or more runs from other starts, with at least 20 samples in a time constant or period.",
                "short",
            )  # fmt: skip
    elif evidence.runs is None and not evidence.held_back:
        yield Reason(
            CAUTION, "No stretch of the record is long enough for a free run.",
            "Record longer stretches without gaps or jumps, or judge on another log with --validate.", "short",
        )  # fmt: skip
    if max(evidence.passed, evidence.passed_time) < PASSED:
        yield Reason(
            CAUTION, f"Only {evidence.passed:.0%} of the windows pass the acceptance test.",
            "The figures apply to those stretches only: check for lost samples, wrong time stamps, shocks or too "
            "low a sample rate.", "rejected",
        )  # fmt: skip


def _free_runs(evidence: Evidence) -> Iterator[Reason]:
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
            BAD, f"{runs.diverged:.0%} of the free runs over {seconds(float(runs.horizons[-1]))} diverge.",
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


def held_back_runs(evidence: Evidence) -> str:
    """The free runs of a model with unmeasured states, as the beginning of a sentence."""
    count = evidence.held_back_count
    runs = f"{count} {'' if evidence.held_out else 'held-back '}free run{'' if count == 1 else 's'}"
    return f"{runs}{f' over {evidence.where}' if evidence.held_out else ''} {'is' if count == 1 else 'are'}"


def _predicts(evidence: Evidence) -> bool:
    """Whether free runs over the longest horizon and one-step predictions leave nothing but noise.

    Then what the windows leave is their own error: they cannot follow a rate that changes within a few samples.
    """
    runs, index, found = evidence.runs, judged_horizon(evidence), evidence.innovations
    if runs is None or index != len(runs.horizons) - 1 or found is None:
        return False
    error, expected = (float(np.median(e[-1])) for e in (runs.model, runs.expected))
    white = found.cross[0] < max(CROSSED, 2.0 * found.bound) and found.auto[0] < max(COLOURED, 3.0 * found.bound)
    return white and error < ACCURATE * expected < RUN_LARGE


def _unexplained(evidence: Evidence) -> Iterator[Reason]:
    for state, left in evidence.unexplained.items():
        if left.over_noise > 1.5 and left.share > WORSE * left.known:
            yield Reason(
                BAD if left.share > LEFT_LOST else CAUTION,
                f"Learning made it worse: {percent(left.share)} of d({state})/dt stays unexplained in "
                f"{evidence.where} with the learned part and {percent(left.known)} without.",
                "Use the known physics alone, or record more and fit again.", "worse",
            )  # fmt: skip
            continue
        if left.over_noise < LEFT_OVER_NOISE or left.share < LEFT_LARGE:
            continue
        told = (
            f"{percent(left.share)} of d({state})/dt stays unexplained, {times(left.over_noise)} times what sensor "
            "noise accounts for"
        )
        if _predicts(evidence):
            yield Reason(
                NOTE, f"{told}, although free runs and one-step predictions are as accurate as noise allows.",
                "The rate changes faster than the samples show: sample faster to see it.", "unexplained",
            )  # fmt: skip
            continue
        yield Reason(
            BAD if left.share > LEFT_LOST else CAUTION, f"{told}.",
            "Look for a forgotten input, an unmeasured state, or offer terms of your own with library=[...].",
            "unexplained",
        )  # fmt: skip


def _inputs(evidence: Evidence) -> Iterator[Reason]:
    for driver in evidence.drivers:
        left = evidence.unexplained.get(driver.state)
        matters = left is not None and left.over_noise > 2.0 and left.share > 0.02 and not _predicts(evidence)
        if not matters or abs(driver.correlation) < DRIVEN or driver.strength < SURE:
            continue
        told = f"What stays unexplained of d({driver.state})/dt follows"
        if driver.kind == "unused column":
            yield Reason(
                BAD, f"{told} the unused column {driver.name} (r = {driver.correlation:.2f}).",
                f'Name it as an input in the physics file and say where it acts: [inputs] {driver.name} = '
                f'"{driver.name}".', "input",
            )  # fmt: skip
        elif driver.kind == "input":
            yield Reason(
                CAUTION, f"{told} the input {driver.name} (r = {driver.correlation:.2f}).",
                f"Check how {driver.name} acts: its sign, unit, saturation or dead zone; offer a term of it.", "input",
            )  # fmt: skip
        else:
            yield Reason(
                CAUTION, f"{told} the slope of the input {driver.name} (r = {driver.correlation:.2f}).",
                f"{driver.name} acts later or earlier than logged, or is not held "
                "between samples: shift it by a sample, or try hold = \"linear\".", "input",
            )  # fmt: skip
        return


def _innovations(evidence: Evidence) -> Iterator[Reason]:
    found = evidence.innovations
    if found is None:
        return
    (crossed, channel, name), (coloured, own) = found.cross, found.auto
    status = CAUTION if _more_is_left(evidence) else NOTE
    if crossed > max(CROSSED, 2.0 * found.bound):
        yield Reason(
            status, f"The one-step prediction error of {channel} correlates with the input {name} (r = {crossed:.2f}; "
            f"white noise stays below {found.bound:.2f}).", f"{name} acts later or earlier "
            "than logged, through something that is missing, or differently between samples than hold says.", "input",
        )  # fmt: skip
    elif coloured > max(COLOURED, 3.0 * found.bound):
        yield Reason(
            status, f"The one-step prediction error of {own} is not white noise (autocorrelation {coloured:.2f}; white "
            f"noise stays below {found.bound:.2f}).", "A state, a delay or a filter is missing in the physics, "
            "or the sensor is filtered: log raw data.", "innovations",
        )  # fmt: skip


def _more_is_left(evidence: Evidence) -> bool:
    """Whether free runs or rates leave more than noise too, or cannot tell (unmeasured states)."""
    runs, index = evidence.runs, judged_horizon(evidence)
    error, expected = (0.0, 0.0) if runs is None else (float(np.median(e[index])) for e in (runs.model, runs.expected))
    left = [left.over_noise > 1.5 and left.share > LEFT_LARGE for left in evidence.unexplained.values()]
    return error > max(2.0 * expected, LEFT_LARGE) or any(left) or not left


def _parameters(evidence: Evidence) -> Iterator[Reason]:
    told = {value.name for value in told_values(evidence)}  # by `wrong_terms`, with the value that explains the data
    for parameter in evidence.parameters:
        name = parameter["name"]
        if name in told and not parameter["at"]:
            continue
        if parameter["at"]:
            yield Reason(
                CAUTION, f"The parameter {name} stopped at its {parameter['at']} bound {parameter['limit']:g}.",
                "Widen the bound, or look for the cause.", "bound",
            )  # fmt: skip
        elif parameter.get("kept"):
            yield Reason(
                NOTE, f"The parameter {name} stays at your value {parameter['value']:g}: fitted ones predict held-back "
                "motions no better.", "", "interval",
            )  # fmt: skip
        elif parameter["high"] - parameter["low"] <= 1e-9 * abs(parameter["value"]):
            yield Reason(
                CAUTION, f"The parameter {name} is not identified: the record does not move it from "
                f"{parameter['value']:g}.", "Excite the system so that it matters, or fix its value.", "interval",
            )  # fmt: skip
        elif name in evidence.replaced:
            beside = ", ".join(evidence.replaced[name])
            yield Reason(
                CAUTION, f"The value of {name} depends on what was learned beside it: {beside} can replace its effect.",
                f"Fix {name} to a measured value, or offer only terms of other shapes with library=[...].", "interval",
            )  # fmt: skip
    if evidence.deficient:
        yield Reason(
            CAUTION, f"{evidence.deficient} learned parameter(s) cannot be told apart from the others in this motion.",
            "Excite the system differently, or fix them.", "excitation",
        )  # fmt: skip


def _excitation(evidence: Evidence) -> Iterator[Reason]:
    for name, value in evidence.constant.items():
        yield Reason(
            CAUTION, f"{name} stays at {value:.4g} throughout.",
            "How it acts cannot be learned from this record; move it.", "excitation",
        )  # fmt: skip
    if evidence.tied:
        yield Reason(
            CAUTION, f"{' and '.join(evidence.tied)} are collinear in this record.",
            "Their effects cannot be told apart; excite the system in other ways.", "excitation",
        )  # fmt: skip
    if evidence.following:
        names, follow = " and ".join(evidence.following), "follows" if len(evidence.following) == 1 else "follow"
        yield Reason(
            CAUTION, f"{names} {follow} the states, as a controller does: its effect and the friction's cannot be told "
            "apart in this record.", "Add a record under an input that does not depend on the states, and do not trust "
            "free runs of other motions before.", "feedback",
        )  # fmt: skip
    if evidence.shortest and any(left.over_noise > 2.0 for left in evidence.unexplained.values()):
        yield Reason(
            CAUTION, "The shortest windows were needed: the sample rate is low for these dynamics.",
            "Sample faster if you can.", "rate",
        )  # fmt: skip


def _coverage(evidence: Evidence) -> Iterator[Reason]:
    if evidence.held_out and evidence.outside_total > OUTSIDE:
        names = ", ".join(f"{name} for {percent(share)}" for name, share in evidence.outside.items())
        yield Reason(
            CAUTION, f"{evidence.held_out} is outside the recorded range for {percent(evidence.outside_total)} of its "
            f"time ({names} of it).", "Record such motions too, or keep inside the range.", "extrapolation",
        )  # fmt: skip


def _notes(evidence: Evidence) -> Iterator[Reason]:
    faults = [f"{count} {fault}" for fault, count in evidence.faults.items() if count]
    if faults:
        share = sum(evidence.faults.values()) / max(evidence.samples, 1)
        yield Reason(
            CAUTION if share > 0.02 else NOTE, f"{' and '.join(faults)} were bridged or left out.",
            "If there are many, check the logger.", "data",
        )  # fmt: skip
    for state, share in evidence.network.items():
        if share > NETWORK:
            yield Reason(
                NOTE, f"A network accounts for {share:.0%} of what was learned in d({state})/dt; no formula fits it.",
                "Offer terms of your own with library=[...] to see one.", "network",
            )  # fmt: skip
    if evidence.changed_at:
        times = ", ".join(f"{t:.1f} s" for t in evidence.changed_at)
        yield Reason(NOTE, f"The dynamics changed at {times}; the model follows what came after.", "", "change")
    if evidence.rolled_back:
        yield Reason(NOTE, f"{evidence.rolled_back} updates were not finite and were undone.", "", "updates")
    if not evidence.held_out:
        yield Reason(
            NOTE, "Judged on the record that was fitted.",
            "Judge it on another one with --validate LOG or UDE.validate(Y, t, u).", "held out",
        )  # fmt: skip


# Causes before symptoms: of several findings that are equally serious, the first is the verdict's sentence.
RULES: tuple[Callable[[Evidence], Iterator[Reason]], ...] = (
    _room, wrong_physics, late_signals, wrong_rates, sensor_findings, changed_dynamics, wrong_terms, wrong_inputs,
    wrong_sizes, _inputs, _parameters, _excitation, _coverage, _free_runs, _unexplained, _innovations, _notes,
)  # fmt: skip


def reasons(evidence: Evidence) -> tuple[Reason, ...]:
    """All findings, the most serious first."""
    return most_serious_first(reason for rule in RULES for reason in rule(evidence))
