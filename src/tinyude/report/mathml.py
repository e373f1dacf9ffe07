"""The equations of a model as MathML: the known part in the text colour, what was learned with the class `learned`."""

from __future__ import annotations

from typing import Any

from tinyude.physics.typeset import (
    CLOSE,
    MINUS_BETWEEN,
    OPEN,
    PLUS_BETWEEN,
    TIMES,
    equals,
    math,
    number,
    rate,
    shape,
    summands,
    symbol,
)
from tinyude.physics.written import plain_text


def equation_mathml(ude: Any) -> list[str]:
    """One line for every state: the known part in the text colour, what was learned with the class `learned`."""
    model = ude.model_
    ranges = ude.diagnostics_["visited"]
    rows = [{**row, "term": plain_text(row["term"], ranges)} for row in ude.terms_]
    lines = []
    for index, state in enumerate(model.physics.states):
        own, known = [row for row in rows if row["state"] == state], model.physics.stated_rhs[index]
        parts = [rate(state), equals(), *(summands(known) if known != 0 or not own else [])]
        parts += learned_summands(own)
        if ude.diagnostics_["network"].get(state, 0.0) > 0.0:
            parts.append(network(model, state))
        lines.append("".join(parts))
    for name in dict.fromkeys(term.input for term in model.physics.input_terms):
        known = math(symbol(name), "known")
        added = learned_summands([row for row in rows if row["state"] == name])
        lines.append("".join(["where ", known, " acts as ", known, *added]))
    return lines


def learned_summands(rows: list[dict[str, Any]]) -> list[str]:
    """The learned terms of one state with their signs."""
    signs = [MINUS_BETWEEN if row["learned"] < 0 else PLUS_BETWEEN for row in rows]
    return [
        math(f"{sign}{number(abs(row['learned']))}{_times(row['term'])}", "learned")
        for sign, row in zip(signs, rows, strict=True)
    ]


def network(model: Any, state: str) -> str:
    """A network has no formula: its name and its inputs."""
    names = [(*model.physics.states, *model.physics.inputs)[i] for i in model.sees]
    inside = "<mo>,</mo>".join(symbol(name) for name in names)
    return math(f"{PLUS_BETWEEN}<mi>n</mi>{OPEN}{inside}{CLOSE}", "learned")


def _times(term: str) -> str:
    return "" if term == "1" else TIMES + shape(term)
