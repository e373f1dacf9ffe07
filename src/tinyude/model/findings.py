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
from tinyude.model.run_findings import (
    COLOURED,
    CROSSED,
    NETWORK,
    WORSE,
    free_runs,
    judged_horizon,
    predicts,
    reproduced,
)
from tinyude.model.sensor_findings import sensor_findings

LEFT_OVER_NOISE = 2.0  # sound rigs leave 0.85 to 1.25 times the noise
DRIVEN = 0.35  # correlation of the remainder with a signal
PASSED = 0.5
FEW_CYCLES, FEW_WINDOWS = 0.75, 40  # a step response of three time constants has 0.76, a ramp 0.55
FEW_APART = 9.0  # non-overlapping windows: overlapping ones are not independent
FORESEEN, BETTER = 1.5, 2.0  # times the error of the whole fit, at most; times smaller than the other errors, at least
OUTSIDE = 0.01


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
            CAUTION, f"Only {percent(evidence.passed)} of the windows pass the acceptance test.",
            "The figures apply to those stretches only: check for lost samples, wrong time stamps, shocks or too "
            "low a sample rate.", "rejected",
        )  # fmt: skip


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
        if predicts(evidence):
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
        matters = left is not None and left.over_noise > 2.0 and left.share > 0.02 and not predicts(evidence)
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
                NOTE, f"A network accounts for {percent(share)} of what was learned in d({state})/dt; no formula fits "
                "it.",
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
    wrong_sizes, _inputs, _parameters, _excitation, _coverage, free_runs, reproduced, _unexplained, _innovations,
    _notes,
)  # fmt: skip


def reasons(evidence: Evidence) -> tuple[Reason, ...]:
    """All findings, the most serious first."""
    return most_serious_first(reason for rule in RULES for reason in rule(evidence))
