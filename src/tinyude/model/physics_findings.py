"""The findings about the known physics: signs, units, values and rates that the record contradicts."""

from __future__ import annotations

from collections.abc import Iterator

from tinyude.model.evidence import Evidence
from tinyude.model.quantities import percent, seconds, times
from tinyude.model.reason import BAD, CAUTION, Reason
from tinyude.model.wrong_physics import factor_name
from tinyude.model.wrong_values import Net

SURE = 5.0  # standard errors
LATE = 0.25  # sample periods
UNITS_OFF, UNITS_FAR_OFF = 30.0, 300.0  # times; beyond the second whatever balances it
FAR_TOO_SMALL = 100.0  # times: what is known is of no use there; a length in mm makes it 1000 times smaller
JUMPED, JUMP_EXPLAINS = 8.0, 0.5  # standard errors (sound rigs stay below 4); share of the remainder beyond noise
JUMP_OVER_NOISE, JUMP_REGION = 1.5, 2.0  # times the noise; ratio of the signal's size before and after
ADDEND_NEEDED = 1.3  # times less unexplained beside the learned terms, which else explain the same
SHARED = 0.2  # of what was learned: the network's part
ADDEND_GONE = 0.1  # of your term is left: learning has taken it back
TURNED = 0.7  # of your value: a turned sign makes it -1
VALUE_LOW, VALUE_HIGH = 0.6, 1.7  # net over your value
VALUE_SHARE, VALUE_MAIN = 0.05, 0.3  # share of the rate: what was learned on that value, and your own part
ADDEND_HELPS = 2.0  # times less unexplained; noise in the states alone moves a factor, but then explains no more


def changed_physics(evidence: Evidence) -> Iterator[Reason]:
    if not evidence.changes:
        return
    best = evidence.changes[0]
    text = ", or ".join(change.text for change in evidence.changes)
    text = f"T{text[1:]}" if text.startswith("the ") else text  # names of states keep their case
    remedy = " Or ".join(change.remedy for change in evidence.changes)
    yield Reason(
        BAD,
        f"{text}: as given, the known physics leaves {percent(best.share_as_given)} of the rates unexplained, "
        f"with that changed {percent(best.share)}.",
        f"{remedy[0].upper()}{remedy[1:]}", best.kind,
    )  # fmt: skip


def jumped_dynamics(evidence: Evidence) -> Iterator[Reason]:
    for jump in evidence.jumps:
        left = evidence.unexplained[jump.state]
        alike = 1.0 / JUMP_REGION < jump.ratio < JUMP_REGION  # else another region was visited
        if left.over_noise > JUMP_OVER_NOISE and jump.strength > JUMPED and jump.explained > JUMP_EXPLAINS and alike:
            yield Reason(
                CAUTION, f"d({jump.state})/dt changed at about {seconds(jump.seconds)} of {evidence.where}: the model "
                f"averages what was before and after ({jump.strength:.0f} standard errors apart).",
                "Fit the stretches before and after apart, or follow the change with partial_fit.", "change",
            )  # fmt: skip


def wrong_rates(evidence: Evidence) -> Iterator[Reason]:
    for lag in evidence.lags:
        if abs(lag.factor - 1.0) > max(0.05, SURE * lag.factor_error):
            name = "opposite signs" if abs(lag.factor + 1.0) < 0.05 else factor_name(lag.factor)
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
    if evidence.changes:
        return
    said = set()
    for net in evidence.nets:
        if _turned(net):
            said.add(net.state)
            yield Reason(
                CAUTION, f"In d({net.state})/dt the data say net {net.net:.3g} {net.term} against your "
                f"{net.yours:+.3g} {net.term}: check the sign.", "Correct the physics, or keep the net value.", "sign",
            )  # fmt: skip
        elif net.beside:
            continue  # terms of another shape share what is yours: no value of it can be read off
        elif (name := factor_name(net.net / net.yours)) and abs(net.learned) > 0.5 * abs(net.yours):
            said.add(net.state)
            yield Reason(
                CAUTION, f"In d({net.state})/dt the data say net {net.net:.3g} {net.term} against your "
                f"{net.yours:+.3g}: a factor of {name}.", "Check the units in that term.", "units",
            )  # fmt: skip
        elif _sure(net) and not ADDEND_GONE < net.net / net.yours < FAR_TOO_SMALL:
            said.add(net.state)
            yield Reason(
                CAUTION, f"In d({net.state})/dt the data say net {net.net:.3g} {net.term} against your "
                f"{net.yours:+.3g} {net.term}, {net.net / net.yours:.2g} times as much.",
                "Check the units, the columns and the values in that term.", "units",
            )  # fmt: skip
        elif (net.state, net.term) in evidence.values and _wrong_value(net):
            said.add(net.state)
            yield Reason(
                CAUTION, f"In d({net.state})/dt the data say net {net.net:.3g} {net.term} against your "
                f"{net.yours:+.3g} {net.term}; another value of {evidence.values[net.state, net.term]} "
                "explains it.",
                "Check that value, or let it be learned (learn = true).", "value",
            )  # fmt: skip
    for addend in evidence.addends:
        unsure = addend.error > 0.2 * abs(addend.factor - 1.0) or addend.needed < ADDEND_NEEDED
        if addend.state in said or addend.share < 0.02 or unsure or addend.gain < ADDEND_HELPS:
            continue
        if addend.factor < -0.3:
            yield Reason(
                CAUTION, f"The data want {addend.factor:.2g} times your term {addend.text} in d({addend.state})/dt.",
                "Check its sign.", "sign",
            )  # fmt: skip
        elif evidence.network.get(addend.state, 0.0) > SHARED:
            continue  # a network shares what is yours: a factor beside it means nothing
        elif name := factor_name(addend.factor):
            yield Reason(
                CAUTION, f"The data want {addend.factor:.3g} times your term {addend.text} in d({addend.state})/dt, "
                f"a factor of {name}.", "Check its units.", "units",
            )  # fmt: skip


def _sure(net: Net) -> bool:
    return net.share > VALUE_SHARE and abs(net.learned) > SURE * net.error


def _turned(net: Net) -> bool:
    """Whether the net value has the other sign; beside terms of another shape, which share it, all of the value."""
    least = TURNED if net.beside else ADDEND_GONE
    return net.net / net.yours < -least and abs(net.learned) > SURE * net.error


def _wrong_value(net: Net) -> bool:
    """Whether your value is too large, or too small in a main term; friction beside the known one may be missing."""
    mainly = net.share * abs(net.yours / net.learned) > VALUE_MAIN
    off = net.net / net.yours < VALUE_LOW or (mainly and net.net / net.yours > VALUE_HIGH)
    return _sure(net) and off


def wrong_sizes(evidence: Evidence) -> Iterator[Reason]:
    if evidence.changes:
        return
    for state, (known, rate) in evidence.sizes.items():
        own = [addend.needed for addend in evidence.addends if addend.state == state]
        balanced = bool(own) and max(own) < ADDEND_NEEDED and known < UNITS_FAR_OFF * rate  # by what was learned
        if known > UNITS_OFF * rate > 0.0 and not balanced:
            yield Reason(
                BAD, f"The known physics makes d({state})/dt {times(known / rate)} times as large as the data do.",
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
