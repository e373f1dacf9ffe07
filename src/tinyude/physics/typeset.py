"""Equations as MathML, one <math> element a term, so that a long line wraps."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any
from xml.dom.minidom import parseString

import sympy as sp
from sympy.printing.mathml import MathMLPresentationPrinter

from tinyude.physics.written import as_written, parsed

if TYPE_CHECKING:
    from tinyude.physics.physics import Physics

TIMES = '<mo lspace="0" rspace="0.2em">&InvisibleTimes;</mo>'  # apart: "cp u" is not a "cpu"

MINUS = "<mo>&#8722;</mo>"  # fonts draw "-" as a hyphen
PLUS_BETWEEN, MINUS_BETWEEN = (f'<mo form="infix">{sign}</mo>' for sign in ("+", "&#8722;"))  # first in its <math>
OPEN, CLOSE = '<mo stretchy="false">(</mo>', '<mo stretchy="false">)</mo>'


def physics_mathml(physics: Physics) -> list[str]:
    """One line for every state."""
    return [
        f"{rate(state)}{equals()}{''.join(summands(rhs))}"
        for state, rhs in zip(physics.states, physics.stated_rhs, strict=True)
    ]


def summands(expr: sp.Expr) -> list[str]:
    """The terms of a sum, each an element of its own."""
    terms = sp.Add.make_args(expr)
    written = []
    for place, term in enumerate(terms):
        minus = term.could_extract_minus_sign()
        sign = (MINUS_BETWEEN if minus else PLUS_BETWEEN) if place else MINUS * minus
        written.append(math(sign + presentation(-term if minus else term), "known"))
    return written


def physics_html(physics: Physics) -> str:
    """The right-hand sides, typeset, and the parameters, for a notebook."""
    lines = "".join(f"<div>{line}</div>" for line in physics_mathml(physics))
    values = ", ".join(
        f"{escape(name)} = {p.value:g}" + (" (learned)" if p.learn else "") for name, p in physics.parameters.items()
    )
    return f"<div>{lines}<small>{values}</small></div>"


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
    return math(shape(term), "term")


def number(value: float) -> str:
    """Four digits; a very small or large number with a power of ten."""
    digits, _, power = f"{value:.4g}".partition("e")
    digits = f"<mn>{digits.replace('-', '&#8722;')}</mn>"
    if not power:
        return digits
    ten = f"<msup><mn>10</mn><mn>{str(int(power)).replace('-', '&#8722;')}</mn></msup>"
    return f"<mrow>{digits}<mo>&#215;</mo>{ten}</mrow>"


class _Printer(MathMLPresentationPrinter):  # type: ignore[misc]
    """Short numbers, and names of states as Greek letters where they are so called."""

    def _print_Float(self, expr: sp.Float) -> Any:
        return parseString(number(float(expr))).documentElement


def presentation(expr: sp.Expr) -> str:
    """Presentation MathML of an expression, without the outer element."""
    text = str(_Printer({"mul_symbol": "None"}).doprint(expr)).replace("\n", "")
    if "<mfrac" not in text:  # nothing tall inside: some fonts stretch parentheses all the same
        text = text.replace("<mo>(</mo>", OPEN).replace("<mo>)</mo>", CLOSE)
    return text.replace("<mo>&InvisibleTimes;</mo>", TIMES).replace("<mo>-</mo>", MINUS)


def shape(term: str) -> str:
    """MathML of a library term by its text."""
    return presentation(as_written(parsed(term)))
