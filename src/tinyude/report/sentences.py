"""What a fit found, in sentences and in a table: the same words in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from tinyude.model.collinear import is_collinear
from tinyude.model.diagnostics import REASON_WORDS
from tinyude.model.evidence import LEFT_LARGE, NEAR_NOISE
from tinyude.model.quantities import percent
from tinyude.physics.written import plain_text, written_text

INTERVAL = "90 % interval"  # the level of the intervals in the diagnostics
TERMS_TOLD = 4  # in a sentence; the table has them all
SHARE_WORTH_TELLING = 0.01  # of the residual; below it a network's part is not mentioned

Diagnostics = Mapping[str, Any]


def found_sentences(diagnostics: Diagnostics, states: Sequence[str]) -> list[str]:
    """What the fit found, most important first."""
    inputs = {term["state"] for term in diagnostics.get("terms", ())} - set(states)
    places = {state: f"d({state})/dt" for state in states} | {name: f"the input {name}" for name in sorted(inputs)}
    told = [_missing_part(name, place, diagnostics) for name, place in places.items()]
    told = [sentence for sentence in told if sentence] or [_nothing_learned(diagnostics)]
    return [*told, *_parameter_sentences(diagnostics), *_change_sentence(diagnostics)]


def _nothing_learned(diagnostics: Diagnostics) -> str:
    """Of a fit without terms: whether nothing is missing, or nothing that was offered explains it."""
    shares = diagnostics.get("verdict", {}).get("figures", {}).get("unexplained", {})
    missing = any(s["share"] > max(NEAR_NOISE * s["noise"], LEFT_LARGE) for s in shares.values())
    return "Something is missing, but no term explains it." if missing else "No missing term was found."


def _missing_part(state: str, place: str, diagnostics: Diagnostics) -> str:
    """What the known physics left out of one state's rate, or of an input through which it acts; or nothing."""
    ranges = diagnostics.get("visited", {})
    terms = [term for term in diagnostics.get("terms", ()) if term["state"] == state]
    share = float(diagnostics.get("network", {}).get(state, 0.0))
    network = share >= SHARE_WORTH_TELLING
    if not terms:
        return f"A network represents what the known physics lacks in {place}." if network else ""
    more = len(terms) - TERMS_TOLD
    told = [_term(term, not is_collinear(diagnostics, term), ranges) for term in terms[:TERMS_TOLD]]
    parts = joined([*told, *([f"{more} further terms"] if more > 0 else [])])
    if diagnostics.get("verdict", {}).get("status") == "bad":
        return f"Learned in {place}, but not reliable: {parts}."
    explained = diagnostics.get("verdict", {}).get("figures", {}).get("explained", {}).get(state, False)
    rest = (
        f"; a network accounts for {percent(share)} of it"
        if network
        else ", and nothing else above the noise" * explained
    )
    return f"The known physics lacks {parts} in {place}{rest}."


def _term(term: Mapping[str, Any], alone: bool, ranges: Mapping[str, Any]) -> str:
    """A term, with its interval where it has one alone."""
    value, low, high = significant([term["coefficient"], term["low"], term["high"]])
    times = "" if term["term"] == "1" else f" {written_text(plain_text(term['term'], ranges)).replace('**', '^')}"
    return f"{value}{times} ({INTERVAL} {low} to {high})" if alone else f"{value}{times}"


def _parameter_sentences(diagnostics: Diagnostics) -> list[str]:
    told = [(name, significant(values)) for name, *values in diagnostics.get("parameters", ())]
    return [
        f"The parameter {name} was found to be {value} ({INTERVAL} {low} to {high})."
        if low != high
        else f"The parameter {name} stays at {value}: the record does not identify it."
        for name, (value, low, high) in told
    ]


def _change_sentence(diagnostics: Diagnostics) -> list[str]:
    changes = [f"{float(time):.4g} s" for time in diagnostics.get("changes", ())]
    return [f"The dynamics changed at {joined(changes)}."] if changes else []


def data_sentence(diagnostics: Diagnostics) -> str:
    """The sensors' noise, the resulting windows, and how many of them were rejected."""
    window = diagnostics["window"]
    if not diagnostics["windows"]:
        return ""
    levels = np.atleast_1d(diagnostics["noise_relative"])
    low, high = percent(float(np.min(levels))), percent(float(np.max(levels)))
    noise = low if low == high else f"{low} to {high}"
    width = 2.0 * window["half_width_seconds"]
    length = f"{width:.4g} s" if width >= 1.0 else f"{1e3 * width:.4g} ms"
    return (
        f"The sensor noise is {noise}, so derivatives were estimated from windows of {window['samples']} samples "
        f"({length}); {rejections(diagnostics)}."
    )


def rejections(diagnostics: Diagnostics) -> str:
    """How many windows were rejected, and why."""
    reasons = {REASON_WORDS[reason]: int(count) for reason, count in diagnostics["rejected"].items() if count}
    total = sum(reasons.values())
    if not total:
        return f"all {diagnostics['windows']:,} windows were accepted"
    why = joined([f"{reason} {count:,}" for reason, count in reasons.items()])
    return f"{total:,} of {diagnostics['windows']:,} windows were rejected ({why})"


def diagnostics_table(diagnostics: Diagnostics, channels: Sequence[str]) -> list[tuple[str, str]]:
    """The diagnostics as labelled values, ready to print."""
    window = diagnostics["window"]
    noise = zip(
        channels, np.atleast_1d(diagnostics["noise"]), np.atleast_1d(diagnostics["noise_relative"]), strict=True
    )
    rows = [
        ("preset", str(diagnostics["preset"])),
        ("engine", f"{diagnostics['engine']}, {diagnostics['precision']}"),
        *((f"noise of {name}", f"{sigma:.3g} ({percent(relative)} of its RMS)") for name, sigma, relative in noise),
        *((f"visited {name}", f"{low:.4g} to {high:.4g}") for name, (low, high) in diagnostics["visited"].items()),
        *(
            []
            if not diagnostics["windows"]
            else [
                ("window", f"± {window['half_width_seconds']:.4g} s, {window['samples']} samples"),
                ("windows accepted", f"{diagnostics['accepted']:,} of {diagnostics['windows']:,}"),
            ]
        ),
        *((f"rejected: {REASON_WORDS[r]}", f"{count:,}") for r, count in diagnostics["rejected"].items() if count),
        *((f"network's share in d({s})/dt", percent(share)) for s, share in diagnostics.get("network", {}).items()),
        *([("updates", f"{diagnostics['updates']:,}")] if diagnostics["updates"] else []),
        ("time to fit", f"{diagnostics['seconds']:.3g} s"),
    ]
    chip = diagnostics.get("chip_bytes", 0)  # 0 where the compiled core is not there to tell
    return [*rows, ("the same on a chip", kilobytes(chip))] if chip else rows


def joined(items: Sequence[str]) -> str:
    """a, b and c."""
    return " and ".join(filter(None, [", ".join(items[:-1]), *items[-1:]]))


def kilobytes(count: int) -> str:
    return f"{count / 1000.0:.1f} kB"


def significant(values: Sequence[float]) -> list[str]:
    """A value and its interval, all written to the digit that the interval's width reaches."""
    width = float(np.ptp(values))
    if not 0.0 < width < np.inf:
        return [f"{value:.5g}" for value in values]
    places = 1 - int(np.floor(np.log10(width)))
    if (size := float(np.max(np.abs(values)))) < 1e-3 or size >= 1e5:  # with a power of ten, as in the table
        digits = max(places + int(np.floor(np.log10(size))), 0)
        return [f"{value:.{min(digits, 12)}e}" for value in values]
    return [f"{value:.{min(places, 12)}f}" if places > 0 else f"{value:.5g}" for value in values]
