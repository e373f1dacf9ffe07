"""The findings about the known physics: signs, units, values and rates that the record contradicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tinyude.model.evidence import LEFT_LOST, NEAR_NOISE, Evidence
from tinyude.model.hypotheses import VALUE_HIGH, VALUE_LOW
from tinyude.model.other_values import OtherValue
from tinyude.model.quantities import percent, seconds, times
from tinyude.model.reason import BAD, CAUTION, Reason
from tinyude.model.wrong_physics import SAME_FACTOR, Correction, factor_name
from tinyude.model.wrong_values import Net
from tinyude.physics.written import written_text

SURE = 5.0  # standard errors
LATE = 0.25  # sample periods
UNITS_OFF, UNITS_FAR_OFF = 30.0, 300.0  # times; beyond the second even if the learned part balances it
FAR_TOO_SMALL = 100.0  # times: the known part is negligible there; a length in mm makes it 1000 times smaller
CHANGED, CHANGE_EXPLAINS = 8.0, 0.5  # standard errors (sound rigs stay below 4); share of the remainder beyond noise
CHANGE_OVER_NOISE, CHANGE_REGION = 1.5, 2.0  # times the noise; ratio of the signal's size before and after
ADDEND_NEEDED = 1.3  # times less unexplained together with the learned terms, which otherwise explain the same
SHARED = 0.2  # of the learned part: the network's share beyond which only a factor of -1 is meaningful
ADDEND_GONE = 0.1  # of your term is left: the learned part cancels it
USELESS = 0.5  # share of a rate that the known part alone leaves
SIGN_FLIPPED = 0.7  # of your value: a wrong sign makes it -1
INPUT_LOW, INPUT_HIGH = 0.5, 2.0  # an input's effect over the stated one
VALUE_SHARE, VALUE_MAIN = 0.05, 0.3  # share of the rate: of the learned part at that value, and of your own part
ADDEND_HELPS = 2.0  # times less unexplained; noise in the states alone biases a factor, but does not explain more


def wrong_physics(evidence: Evidence) -> Iterator[Reason]:
    found = _named_corrections(evidence)
    if not found:
        return
    best = found[0]
    text = ", or ".join(one.text for one in found)
    text = f"T{text[1:]}" if text.startswith("the ") else text  # names of states keep their case
    remedy = " Or ".join(dict.fromkeys(one.remedy for one in found))
    balanced = all(left.over_noise < NEAR_NOISE for left in evidence.unexplained.values())
    yield Reason(
        CAUTION if best.kind == "value" and balanced else BAD,
        f"{text}: as given, the known physics leaves {percent(best.share_as_given)} of the rates unexplained, "
        f"with that changed {percent(best.share)}.",
        f"{remedy[0].upper()}{remedy[1:]}", best.kind,
    )  # fmt: skip


def _named_corrections(evidence: Evidence) -> Sequence[Correction]:
    """Corrections of the known part to report; a value that learned terms give more precisely is left to them."""
    rough = bool(evidence.corrections) and evidence.corrections[0].free and evidence.corrections[0].kind == "value"
    precise = rough and any(True for rule in (_wrong_terms, _wrong_values) for _ in rule(evidence))
    return () if precise else evidence.corrections


def late_signals(evidence: Evidence) -> Iterator[Reason]:
    """Signals whose times do not agree with those of the others."""
    if not evidence.delays:
        return
    best, told = evidence.delays[0], []
    for delay in evidence.delays:
        late = delay.seconds - (evidence.input_shifts.get(delay.name, 0) * evidence.period if delay.input else 0.0)
        size, samples = seconds(abs(late)), abs(late) / evidence.period
        count = f"{samples:.2g} sample{'' if f'{samples:.2g}' == '1' else 's'}"
        told.append(
            f"{delay.name} seems to act about {count} ({size}) {'later' if late > 0.0 else 'earlier'} than logged"
            if delay.input
            else f"{delay.name} seems to be logged about {size} ({count}) too {'late' if late > 0.0 else 'early'}"
        )
    yield Reason(
        BAD if _lost(evidence) else CAUTION,
        f"{', or '.join(told)}: as logged, {percent(best.before)} of the rates stay unexplained, shifted "
        f"{percent(best.after)}.",
        f"Shift {'that column' if len(told) == 1 else 'one of these columns'} by that and fit again.", "late",
    )  # fmt: skip


def _lost(evidence: Evidence) -> bool:
    return any(left.share > LEFT_LOST and left.over_noise > NEAR_NOISE for left in evidence.unexplained.values())


def changed_dynamics(evidence: Evidence) -> Iterator[Reason]:
    for change in evidence.dynamics_changes:
        left = evidence.unexplained[change.state]
        alike = 1.0 / CHANGE_REGION < change.ratio < CHANGE_REGION  # otherwise another region was visited
        clear = change.strength > CHANGED and change.explained > CHANGE_EXPLAINS
        if left.over_noise > CHANGE_OVER_NOISE and clear and alike:
            yield Reason(
                CAUTION, f"d({change.state})/dt changed at about {seconds(change.seconds)} of {evidence.where}: the "
                f"model averages what was before and after ({change.strength:.0f} standard errors apart).",
                "Fit the stretches before and after apart, or follow the change with partial_fit.", "change",
            )  # fmt: skip


def wrong_rates(evidence: Evidence) -> Iterator[Reason]:
    for lag in evidence.lags:
        if abs(lag.factor - 1.0) > max(0.05, SURE * lag.factor_error):
            name = "opposite signs" if abs(lag.factor + 1.0) < 0.05 else factor_name(lag.factor, lag.factor_error)
            yield Reason(
                BAD if lag.factor < 0.5 or lag.factor > 2.0 else CAUTION,
                f"{lag.rate} is not the rate of {lag.state}: d({lag.state})/dt is {lag.factor:.3g} times {lag.rate}"
                + (f", which looks like {name}." if name else "."),
                "Check sign, unit and column of both.", "sign" if lag.factor < 0.0 else "units",
            )  # fmt: skip
        elif abs(lag.seconds) > max(SURE * lag.error, LATE * evidence.period):
            late = lag.rate if lag.seconds > 0.0 else lag.state
            yield Reason(
                CAUTION, f"{late} lags {abs(lag.seconds) * 1e3:.2g} ms behind the other channel.",
                "Shift it by that much before fitting.", "late",
            )  # fmt: skip


def wrong_terms(evidence: Evidence) -> Iterator[Reason]:
    """Values of yours that learned terms contradict, if no single correction or shift explains everything."""
    if not _named_corrections(evidence) and not evidence.delays:
        yield from _wrong_values(evidence)
        yield from _wrong_terms(evidence)


def _wrong_terms(evidence: Evidence) -> Iterator[Reason]:
    said = {state for value in _told_values(evidence) for state, _ in value.terms}
    explained = {term for value in _told_values(evidence) for term in value.terms}
    for net in evidence.nets:
        if (net.state, net.term) in explained:
            continue
        left = evidence.unexplained.get(net.state)
        useless = left is not None and left.known > USELESS
        if found := _wrong_term(net, evidence.values.get((net.state, net.term), ""), useless):
            ending, remedy, kind = found
            term = "(constant)" if net.term == "1" else net.term
            now = net.yours * round(net.net / net.yours, 3) + 0.0  # 0 if it is cancelled
            said.add(net.state)
            yield Reason(
                CAUTION, f"In d({net.state})/dt the data say net {now:.3g} {term} against your "
                f"{net.yours:+.3g} {term}{ending}.", remedy, kind,
            )  # fmt: skip
    for addend in evidence.addends:
        shared = evidence.network.get(addend.state, 0.0) > SHARED  # a network may represent your term: sign only
        if addend.state in said or addend.share < 0.02 or (addend.needed < ADDEND_NEEDED and not shared):
            continue
        sure = addend.error < 0.2 * abs(addend.factor - 1.0) and addend.gain > ADDEND_HELPS
        if addend.factor < -0.3 and sure:
            yield Reason(
                CAUTION, f"The data want {addend.factor:.2g} times your term {addend.text} in d({addend.state})/dt.",
                "Check its sign.", "sign",
            )  # fmt: skip
        elif not shared and (name := factor_name(addend.factor, addend.error)):
            yield Reason(
                CAUTION, f"The data want {addend.factor:.3g} times your term {addend.text} in d({addend.state})/dt, "
                f"a factor of {name}.", "Check its units.", "units",
            )  # fmt: skip


def told_values(evidence: Evidence) -> list[OtherValue]:
    """Other values that `wrong_terms` reports."""
    return [] if _named_corrections(evidence) or evidence.delays else _told_values(evidence)


def _told_values(evidence: Evidence) -> list[OtherValue]:
    """Values that explain several learned terms at once, the one that explains most first, none that adds nothing."""
    told: list[OtherValue] = []
    for value in sorted(evidence.other_values, key=lambda value: -len(value.terms)):
        explained = {term for other in told for term in other.terms}
        wrong = value.bounds is not None or not VALUE_LOW < value.factor < VALUE_HIGH
        if wrong and not explained.issuperset(value.terms):
            told.append(value)
    return told


def _wrong_values(evidence: Evidence) -> Iterator[Reason]:
    for value in _told_values(evidence):
        terms = " and ".join(
            "a constant" if term == "1" else f"{written_text(term)} in d({state})/dt" for state, term in value.terms
        )
        flipped, better = value.factor < 0.0, value.factor * value.yours
        if value.bounds is not None:
            low, high = value.bounds
            beyond = "" if low <= better <= high else f", outside its bounds ({low:.4g} to {high:.4g})"
            yield Reason(
                CAUTION, f"The parameter {value.name} stayed at {value.yours:.4g}, but {better:.4g}{beyond} explains "
                f"what was learned of {terms}.",
                f"{'Widen the bounds' if beyond else 'Offer no term of its shape with library=[...]'}, or fix "
                f"{value.name} to a measured value.", "bound" if beyond else "value",
            )  # fmt: skip
            continue
        yield Reason(
            CAUTION, f"{value.name} = {better:.4g} instead of your {value.yours:.4g} explains "
            f"what was learned of {terms}.",
            f"Check {'the sign of ' if flipped else ''}that value, or let it be learned (learn = true).",
            "sign" if flipped else "value",
        )  # fmt: skip


def wrong_inputs(evidence: Evidence) -> Iterator[Reason]:
    """Inputs that act differently than stated; a slightly smaller effect is saturation.

    One whose effect the learned part makes smaller by another shape, and so explains the rate, saturates.
    """
    if _named_corrections(evidence) or evidence.delays:
        return
    said = {net.state for net in evidence.nets if _sign_flipped(net)}
    for effect in evidence.effects:
        sure = abs(effect.factor - 1.0) > SURE * effect.error and effect.share > VALUE_SHARE
        if effect.state in said or not sure or INPUT_LOW < effect.factor < INPUT_HIGH:
            continue
        left = evidence.unexplained.get(effect.state)
        explained = left is not None and left.over_noise < NEAR_NOISE
        if effect.reshaped and explained and ADDEND_GONE < effect.factor < INPUT_LOW:
            continue
        how = "the other way round" if effect.factor < 0.0 else f"{effect.factor:.2g} times as strongly as you state"
        yield Reason(
            CAUTION, f"In d({effect.state})/dt the input {effect.name} acts {how}"
            + (f" ({effect.factor:.2g} times)." if effect.factor < 0.0 else "."),
            f"Check the sign, the unit and the exponent of {effect.name}, and the values beside it.", "input",
        )  # fmt: skip


def _wrong_term(net: Net, value: str, useless: bool) -> tuple[str, str, str] | None:
    """Text, remedy and kind for the net value of a term; value: the parameter of which another value explains it.

    Terms of another shape may share the effect of yours: then only a wrong sign, a known factor or a cancelled term can
    be reported; the last only if the known part is useless, otherwise a better shape has replaced a straight line.
    """
    factor = net.net / net.yours
    explained = f"; another value of {value} explains it" if value else ""
    if _sign_flipped(net):
        return ": check the sign", "Correct the physics, or keep the net value.", "sign"
    if _exact(net, value) and (name := factor_name(factor, abs(net.error / net.yours))):
        remedy = "Check the value and the units in that term, and the scale of its columns."
        kind = "value" if value else "units"
        return f", {factor:.3g} times as much: a factor of {name}{explained}", remedy, kind
    if useless and _exact(net, value) and abs(factor) < SAME_FACTOR:
        remedy = "Check the exponents, the angles and the columns in that term, and whether it belongs there."
        return ": learning cancels your term", remedy, "value"
    if _sure(net) and not net.beside:
        if not ADDEND_GONE < factor < FAR_TOO_SMALL:
            remedy = "Check the units, the columns and the values in that term."
            return f", {factor:.2g} times as much", remedy, "units"
        if value and _wrong_value(net):
            return explained, "Check that value, or let it be learned (learn = true).", "value"
    return None


def _sure(net: Net) -> bool:
    return net.share > VALUE_SHARE and abs(net.learned) > SURE * net.error


def _exact(net: Net, value: str) -> bool:
    """Whether the net value can be compared with known factors.

    Every term around an operating point contributes to a constant: only the constant of a parameter is meaningful.
    """
    return _sure(net) and not net.alike and (net.term != "1" or bool(value))


def _sign_flipped(net: Net) -> bool:
    """Whether the net value has the opposite sign; with terms of another shape, which share it, also its full size."""
    least = SIGN_FLIPPED if net.beside else ADDEND_GONE
    return net.net / net.yours < -least and abs(net.learned) > SURE * net.error


def _wrong_value(net: Net) -> bool:
    """Whether your value is too large, or too small in a main term; further friction may be missing."""
    mainly = net.share * abs(net.yours / net.learned) > VALUE_MAIN
    return net.net / net.yours < VALUE_LOW or (mainly and net.net / net.yours > VALUE_HIGH)


def _input_confirms(evidence: Evidence, state: str) -> bool:
    """Whether an input that alone moves the rate more than it moves acts as stated: something lost balances it."""
    return any(
        effect.state == state and effect.share > 1.0 and INPUT_LOW < effect.factor < INPUT_HIGH
        for effect in evidence.effects
    )


def wrong_sizes(evidence: Evidence) -> Iterator[Reason]:
    if _named_corrections(evidence) or evidence.delays:
        return
    for state, (known, rate) in evidence.sizes.items():
        own = [addend.needed for addend in evidence.addends if addend.state == state]
        balanced = bool(own) and max(own) < ADDEND_NEEDED and known < UNITS_FAR_OFF * rate  # by what was learned
        if known > UNITS_OFF * rate > 0.0 and not balanced:
            left = evidence.unexplained.get(state)
            explained = left is not None and left.over_noise < NEAR_NOISE  # a gain was missing together with a loss
            if explained and known < UNITS_FAR_OFF * rate and _input_confirms(evidence, state):
                continue
            yield Reason(
                CAUTION if explained else BAD,
                f"The known physics makes d({state})/dt {times(known / rate)} times as large as in the data"
                + ("; the learned part compensates for it." if explained else "."),
                "Check the units, of time too (milliseconds: [time] scale = 0.001; degrees: scale = 0.0174533).",
                "units",
            )  # fmt: skip
            return
        if 0.0 < known < rate / FAR_TOO_SMALL:
            yield Reason(
                CAUTION, f"The known physics makes only {percent(known / rate)} of d({state})/dt; the rest is learned.",
                "Check the units of that state, its inputs and parameters: mm for m, g for kg, kN for N.", "units",
            )  # fmt: skip
            return
