"""A fitted model as text: equations with their numbers and intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy.special import stdtrit

from tinyude.errors import printable
from tinyude.model.collinear import is_collinear
from tinyude.model.line_wrapping import HANG, WIDTH, wrapped
from tinyude.model.model import Model
from tinyude.model.quantities import percent
from tinyude.physics.written import plain_text, written_text

CONFIDENCE = 0.90
NORMAL = 10**6  # groups for an interval whose spread is known, not estimated: a normal distribution
LONG = 2 * WIDTH  # characters of a known right-hand side beyond which it is abbreviated in print


def interval_factor(groups: int, confidence: float = CONFIDENCE) -> float:
    """Half width of an interval in jackknife standard errors."""
    return float(stdtrit(max(groups - 1, 1), 0.5 + confidence / 2.0))


class LearnedParameter(NamedTuple):
    """A learned parameter with the ends of its 90 % interval."""

    name: str
    value: float
    low: float
    high: float


def _factor(model: Model, groups: int) -> float:
    """Half width of an interval in standard errors: of a covariance, or over so many groups of windows."""
    return interval_factor(groups if model.covariance is None else NORMAL)


def parameter_table(model: Model, groups: int) -> list[LearnedParameter]:
    """Learned parameters of the stated physics; intervals end at the bounds."""
    factor, rows = _factor(model, groups), []
    for name, error in zip(model.physics.learned, model.parameter_errors.tolist(), strict=True):
        if name not in model.physics.of_input_terms:
            p, reach = model.physics.parameters[name], factor * error
            rows.append(LearnedParameter(name, p.value, max(p.min, p.value - reach), min(p.max, p.value + reach)))
    return rows


def term_table(model: Model, groups: int) -> list[dict[str, Any]]:
    """Every kept term, with its coefficient and interval; groups: of windows, for errors without a covariance."""
    factor, rows = _factor(model, groups), []
    for row, state in enumerate(model.on):
        for column in np.flatnonzero(model.errors[row] > 0.0):
            value, error = float(model.coefficients[row, column]), float(model.errors[row, column])
            rows.append(
                {
                    "state": model.physics.states[state],
                    "term": str(model.terms[column]),
                    "coefficient": value,
                    "error": error,
                    "low": value - factor * error,
                    "high": value + factor * error,
                }
            )
    return rows + _input_rows(model, factor)


def _input_rows(model: Model, factor: float) -> list[dict[str, Any]]:
    """The terms that act through inputs; "state" is the input."""
    physics, rows = model.physics, []
    errors = dict(zip(physics.learned, model.parameter_errors.tolist(), strict=True))
    for term in physics.input_terms:
        value, error = physics.parameters[term.coefficient].value, errors.get(term.coefficient, 0.0)
        row = {"state": term.input, "term": str(term.shown(physics.parameters)), "coefficient": value, "error": error}
        rows.append(row | {"low": value - factor * error, "high": value + factor * error})
    return rows


def equation_lines(model: Model, diagnostics: Mapping[str, Any], folded: bool = False) -> list[str]:
    """One line for each state; folded: a long known part is abbreviated to its name and arguments."""
    lines = []
    for index, state in enumerate(model.physics.states):
        known = model.physics.texts[index]
        if folded and len(known) > LONG:
            known = f"known({', '.join(_used(model, index))})"
        learned = _learned(model, diagnostics, index) if index in model.on else []
        if known == "0" and learned:  # nothing is known: omit the 0
            known, learned = learned[0].removeprefix("+ ").replace("- ", "-", 1), learned[1:]
        lines.append(" ".join([f"d({state})/dt = {known}", *learned]))
    return lines + _acting(model, diagnostics)


def _acting(model: Model, diagnostics: Mapping[str, Any]) -> list[str]:
    """A line for each input through which learned terms act."""
    through = dict.fromkeys(term.input for term in model.physics.input_terms)
    return [f"where {name} acts as {' '.join([name, *_terms_of(diagnostics, name)])}" for name in through]


def _learned(model: Model, diagnostics: Mapping[str, Any], index: int) -> list[str]:
    """The learned part of a state's rate: every term with its sign, then the network."""
    state = model.physics.states[index]
    parts = _terms_of(diagnostics, state)
    if diagnostics["network"].get(state, 0.0) > 0.0:
        parts.append(f"+ {_network_name(model)}({', '.join(_seen(model, index))})")
    return parts


def _terms_of(diagnostics: Mapping[str, Any], name: str) -> list[str]:
    """The learned terms of a state's rate, or of an input, each with its sign."""
    found = [entry for entry in diagnostics["terms"] if entry["state"] == name]
    return [_signed(entry, _shown(entry, diagnostics)) for entry in found]


def _shown(entry: Mapping[str, Any], diagnostics: Mapping[str, Any]) -> str:
    """A term as it is read: in the range of the fit the same as what is computed."""
    return written_text(plain_text(entry["term"], diagnostics.get("visited", {})))


def describe(model: Model, diagnostics: Mapping[str, Any]) -> str:
    """The model and the verdict on it, in lines that fit a terminal."""
    return "\n".join(wrapped([*found_lines(model, diagnostics), *verdict_lines(diagnostics)]))


def found_lines(model: Model, diagnostics: Mapping[str, Any]) -> list[str]:
    """The equations, then the learned part with intervals; lines may be long."""
    lines = equation_lines(model, diagnostics, folded=True)
    for index in model.on:
        state = model.physics.states[index]
        found = [entry for entry in diagnostics["terms"] if entry["state"] == state]
        share = diagnostics["network"].get(state, 0.0)
        rest = (
            f"{_carrier(model, index)} accounts for {percent(share)} of it"
            if share > 0.0
            else _remainder(diagnostics, state)
        )
        parts = [
            *_shared_terms(diagnostics, found),
            *(_with_interval(e, _shown(e, diagnostics)) for e in found if not is_collinear(diagnostics, e)),
        ]
        lines += _listed(f"residual of {state}:", [*parts, rest])
    for name in dict.fromkeys(term.input for term in model.physics.input_terms):
        found = [entry for entry in diagnostics["terms"] if entry["state"] == name]
        lines += _listed(f"missing in {name}:", [_with_interval(e, _shown(e, diagnostics)) for e in found])
    lines += [_parameter(*row) for row in diagnostics["parameters"]]
    if any("[" in line for line in lines):
        lines.append(f"intervals: {CONFIDENCE:.0%}, given these terms and their shapes{_beside(diagnostics)}")
    return lines


def _shared_terms(diagnostics: Mapping[str, Any], found: Sequence[Mapping[str, Any]]) -> list[str]:
    """Collinear terms without separate intervals, and what that means."""
    shared = [entry for entry in found if is_collinear(diagnostics, entry)]
    if not shared:
        return []
    signals = ", ".join(diagnostics["collinear"][shared[0]["state"]]["of"])
    parts = [f"{_coefficient(entry, 'coefficient')} * {_shown(entry, diagnostics)}" for entry in shared]
    meaning = "cannot be told apart: only their sum is determined"
    return [*parts, f"these {len(shared)} shapes of {signals} {meaning}"]


def _listed(title: str, parts: list[str]) -> list[str]:
    """Terms and remainder in one line, or a line each if that is too long."""
    line = f"{title} {', '.join(parts[:-1])}{'; ' if parts[1:] else ''}{parts[-1]}"
    return [line] if len(line) <= WIDTH else [title, *(HANG + part for part in parts)]


def _parameter(name: str, value: float, low: float, high: float) -> str:
    """A parameter with its interval; without one if the given value was kept."""
    if not high > low:
        return f"parameter {name} = {value:.6g}, kept"
    digits = max(5, significant_digits(value, 0.3 * (high - low)))
    return f"parameter {name} = {value:.{digits}g} [{low:.{digits}g}, {high:.{digits}g}]"


def verdict_lines(diagnostics: Mapping[str, Any]) -> list[str]:
    """The verdict for a terminal: status and summary, then the doubts with their remedies."""
    verdict = diagnostics.get("verdict")
    if verdict is None:
        return [f"warning: {printable(str(text))}" for text in diagnostics["warnings"]]
    told = [f"verdict: {verdict['status']}. {verdict['summary']}"]
    for reason in verdict["reasons"]:
        if reason["text"] == verdict["summary"]:
            told[0] += f" {reason['remedy']}"
        elif reason["severity"] != "note":
            told.append(f"  {reason['severity']}: {reason['text']} {reason['remedy']}")
    return [printable(line.rstrip()) for line in told]


def _remainder(diagnostics: Mapping[str, Any], state: str) -> str:
    """Text about the unexplained remainder: it claims nothing without evidence in the verdict."""
    figures = diagnostics.get("verdict", {}).get("figures", {})
    if figures.get("explained", {}).get(state):
        return "nothing else above the noise"
    left = figures.get("unexplained", {}).get(state)
    if left is None:
        return "no other term was selected"
    return (
        f"no other term was selected; {percent(left['share'])} of the rate stays unexplained "
        f"(noise: {percent(left['noise'])})"
    )


def _beside(diagnostics: Mapping[str, Any]) -> str:
    return ", with the network as it is" if any(share > 0.0 for share in diagnostics["network"].values()) else ""


def significant_digits(value: float, error: float) -> int:
    """Significant digits to print: to a tenth of the error, four at least."""
    if not (error > 0.0 and value != 0.0 and np.isfinite(error)):
        return 4
    return int(np.clip(np.ceil(np.log10(abs(value) / error)) + 1, 4, 9))


def _with_interval(entry: Mapping[str, Any], term: str) -> str:
    value, low, high = (_coefficient(entry, key) for key in ("coefficient", "low", "high"))
    return f"{value} * {term} [{low}, {high}]"


def _coefficient(entry: Mapping[str, Any], key: str) -> str:
    """A term's coefficient, or an end of its interval, to its significant digits."""
    return f"{entry[key]:.{significant_digits(entry['coefficient'], entry['error'])}g}"


def _signed(entry: Mapping[str, Any], term: str) -> str:
    value = entry["coefficient"]
    number = f"{abs(value):.{significant_digits(value, entry['error'])}g}"
    return f"{'-' if value < 0.0 else '+'} {number if term == '1' else f'{number}*{term}'}"


def _seen(model: Model, state: int) -> list[str]:
    """What the network of a state depends on."""
    names = (*model.physics.states, *model.physics.inputs)
    kernel = model.kernel
    columns = model.sees if kernel is None or state not in kernel.on else kernel.depends_on(kernel.on.index(state))
    return [names[i] for i in columns]


def _used(model: Model, index: int) -> list[str]:
    """The states and inputs that a known right-hand side depends on."""
    names = {str(symbol) for symbol in model.physics.rhs[index].free_symbols}
    return [name for name in (*model.physics.states, *model.physics.inputs) if name in names]


def _network_name(model: Model) -> str:
    return "network" if model.kernel is None else "curve"


def _carrier(model: Model, state: int) -> str:
    """The network in words: a kernel network is described as a curve of its inputs."""
    return "the network" if model.kernel is None else f"a smooth curve of {', '.join(_seen(model, state))}"
