"""Equations as MathML, one <math> element a term, so that a long line wraps."""

from __future__ import annotations

import re
from typing import Any

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from tinyude.physics.physics import Physics

LONG = 9  # summands beyond which the known part is folded


def physics_mathml(physics: Physics) -> list[str]:
    """One line for every state."""
    return [
        f"{rate(state)}{equals()}{''.join(summands(rhs))}"
        for state, rhs in zip(physics.states, physics.rhs, strict=True)
    ]


def equation_mathml(ude: Any) -> list[str]:
    """One line for every state: the known part in ink, what was learned marked with the class `learned`."""
    model = ude.model_
    rows = ude.terms_
    lines = []
    for index, state in enumerate(model.physics.states):
        parts = [rate(state), equals(), *summands(model.physics.rhs[index])]
        own = [row for row in rows if row["state"] == state]
        parts += learned_summands(own)
        if ude.diagnostics_["network"].get(state, 0.0) > 0.0:
            parts.append(network(model, state))
        lines.append("".join(parts))
    return lines


def learned_summands(rows: list[dict[str, Any]]) -> list[str]:
    """The learned terms of one state with their signs."""
    return [
        math(
            f"<mo>{'−' if row['learned'] < 0 else '+'}</mo>{_number(abs(row['learned']))}{_times(row['term'])}",
            "learned",
        )
        for row in rows
    ]


def network(model: Any, state: str) -> str:
    """A network has no formula: a name and what it sees."""
    names = [(*model.physics.states, *model.physics.inputs)[i] for i in model.sees]
    inside = "<mo>,</mo>".join(symbol(name) for name in names)
    return math(f"<mo>+</mo><mi>n</mi><mo>(</mo>{inside}<mo>)</mo>", "learned")


def summands(expr: sp.Expr) -> list[str]:
    """The terms of a sum, each an element of its own."""
    terms = sp.Add.make_args(expr)
    written = []
    for place, term in enumerate(terms):
        minus = term.could_extract_minus_sign()
        sign = "<mo>−</mo>" if minus else "<mo>+</mo>" if place else ""
        written.append(math(sign + presentation(-term if minus else term), "known"))
    return written


def rate(state: str) -> str:
    """d state / d t."""
    return math(f"<mfrac><mrow><mi>d</mi>{symbol(state)}</mrow><mrow><mi>d</mi><mi>t</mi></mrow></mfrac>", "rate")


def equals() -> str:
    return math("<mo>=</mo>", "rate")


def math(inside: str, kind: str) -> str:
    return f'<math class="{kind}"><mrow>{inside}</mrow></math> '


def symbol(name: str) -> str:
    return presentation(sp.Symbol(name))


def term_mathml(term: str) -> str:
    """A library term by its text."""
    return math(_shape(term), "term")


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """Short numbers, and names of states as Greek letters where they are so called."""

    def _print_Float(self, expr: sp.Float) -> Any:
        element = self.dom.createElement("mn")
        element.appendChild(self.dom.createTextNode(f"{float(expr):.4g}"))
        return element


def presentation(expr: sp.Expr) -> str:
    """Presentation MathML of an expression, without the outer element."""
    text = _Printer({"mul_symbol": "None"}).doprint(expr)
    return str(text).replace("\n", "")


def _shape(term: str) -> str:
    from tinyude.physics.parsing import parse_expression

    names = sorted(set(re.findall(r"[A-Za-z_]\w*", term)))
    symbols = {name: sp.Symbol(name, real=True) for name in names}
    functions = {
        "sin",
        "cos",
        "tan",
        "exp",
        "log",
        "tanh",
        "sinh",
        "cosh",
        "atan",
        "asin",
        "acos",
        "sqrt",
        "Abs",
        "abs",
        "sign",
        "pi",
    }
    symbols = {name: value for name, value in symbols.items() if name not in functions}
    return presentation(parse_expression(term.replace("Abs(", "abs("), symbols, smooth=False))


def _times(term: str) -> str:
    return "" if term == "1" else _shape(term)


def _number(value: float) -> str:
    return f"<mn>{value:.4g}</mn>"
