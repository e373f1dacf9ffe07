"""The library of terms that are tried first for the residual: what models of machines most often lack."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import combinations_with_replacement
from numbers import Real

import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.expressions import expanded, expression_text
from tinyude.physics.parsing import parse_expression
from tinyude.physics.physics import Physics

SMOOTH_SIGNS = (10.0, 50.0)  # tanh of a velocity in tenths and in fiftieths of its RMS
SLOW = 0.3  # of a velocity's RMS: where friction at low speed fades
MAX_COLUMNS = 512  # terms times residual states that the core takes
HARMONICS = {1: 8, 2: 4}  # of an angle, by how many angles there are; 2 beyond


def default_terms(
    physics: Physics, rms: Mapping[str, float], speeds: Sequence[str] = (), most: int = MAX_COLUMNS
) -> list[sp.Expr]:
    """Constant, linear, drag, smooth dry friction, low powers and products, harmonics of angles.

    Friction is offered of states that are the rate of another, and of `speeds` where the physics has no such pair. Of
    so many states that the kinds come to more than `most` terms, those that no longer fit are left to the network.
    """
    symbols = {name: sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    rates = {physics.states[j] for j in physics.kinematic if j is not None} or set(speeds)
    straight = [symbols[s] for s in physics.states if s not in physics.angles]
    friction = [
        term for name in physics.states if name in rates for term in _friction(symbols[name], rms.get(name, 1.0))
    ]
    degree = 3 if len(straight) <= 3 else 2 if len(straight) <= 6 else 1
    powers = [sp.Mul(*factors) for d in range(2, degree + 1) for factors in combinations_with_replacement(straight, d)]
    angles = [symbols[a] for a in physics.angles]
    harmonics = range(1, HARMONICS.get(len(angles), 2) + 1)
    waves = [wave(k * angle) for angle in angles for k in harmonics for wave in (sp.sin, sp.cos)]
    terms: list[sp.Expr] = [sp.Integer(1), *symbols.values()]
    for kind in (friction, powers, waves):
        if len(terms) + len(kind) <= most:
            terms += kind
    return terms


def _friction(v: sp.Symbol, rms: float) -> list[sp.Expr]:
    """Drag, dry friction with a soft and a sharp corner, and the extra friction at low speed (Stribeck)."""
    soft, sharp = (sp.tanh(sp.Float(f"{k / rms:.3g}") * v) for k in SMOOTH_SIGNS)
    slow = sp.exp(-sp.Float(f"{1.0 / (SLOW * rms) ** 2:.3g}") * v**2)
    return [v * sp.Abs(v), soft, sharp, soft * slow, sharp * slow]


def harmonic(terms: Sequence[sp.Expr]) -> bool:
    """Whether there are terms for fast changes with an angle."""
    return any(term.has(sp.sin, sp.cos) for term in terms)


def linear_terms(physics: Physics) -> list[sp.Expr]:
    """The linear skip: a constant and every state and input."""
    return [sp.Integer(1), *(sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs))]


def known_terms(physics: Physics, state: int) -> dict[str, float]:
    """The known right-hand side of a state, expanded in numbers: the coefficient of each of its terms, by its text."""
    return summed_terms(physics, physics.rhs[state])


def summed_terms(physics: Physics, expression: sp.Expr) -> dict[str, float]:
    """The terms that an expression of the physics is the sum of, by their text, with their coefficients in numbers."""
    pieces: dict[str, float] = {}
    for number, shape in _summands(physics, expression):
        text = term_text(shape)
        pieces[text] = pieces.get(text, 0.0) + number
    return {text: number for text, number in pieces.items() if number}


def known_shapes(physics: Physics, state: int) -> list[sp.Expr]:
    """The terms of the known right-hand side of a state, without their coefficients."""
    return list(
        {term_text(shape): shape for number, shape in _summands(physics, physics.rhs[state]) if number}.values()
    )


def _summands(physics: Physics, expression: sp.Expr) -> list[tuple[float, sp.Expr]]:
    values = {sp.Symbol(name): sp.Float(p.value) for name, p in physics.parameters.items()}
    real = {sp.Symbol(name): sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    parts = sp.Add.make_args(expanded(expression.xreplace(values)).xreplace(real))
    return [(float(number), shape) for number, shape in (part.as_coeff_Mul() for part in parts)]


def term_text(term: sp.Expr) -> str:
    """A term as text, with 20 for 20.0: a parameter's value and what a user wrote read alike."""
    return re.sub(r"(?<![\d.])(\d+)\.0(?![\de])", r"\1", expression_text(term))


def rounded_text(term: sp.Expr) -> str:
    """A term as text, its numbers to four digits: for messages, not for computing."""
    return term_text(term.xreplace({number: sp.Float(f"{float(number):.4g}") for number in term.atoms(sp.Float)}))


def following_terms(physics: Physics, rms: Mapping[str, float]) -> list[sp.Expr]:
    """What a worn machine most often differs by: an offset, linear terms, gains of inputs, friction of rates.

    For a board whose model is only a fixed network: these terms can follow a change.
    """
    symbols = {name: sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    straight = [symbol for name, symbol in symbols.items() if name not in physics.angles]
    waves = [wave(symbols[name]) for name in physics.angles for wave in (sp.sin, sp.cos)]
    rates = [physics.states[j] for j in physics.kinematic if j is not None]
    friction = [term for name in rates for term in _friction(symbols[name], rms.get(name, 1.0))[:2]]
    return [sp.Integer(1), *straight, *waves, *friction]


def given_terms(physics: Physics, items: Sequence[sp.Expr | str], most: int = MAX_COLUMNS) -> list[sp.Expr]:
    """The user's own terms, as SymPy expressions or text, in the states and inputs."""
    if len(items) > most:
        raise TinyUDEError(
            f"The library has {len(items)} terms; at most {most} can be offered to every residual state."
        )
    symbols = {name: sp.Symbol(name, real=True) for name in (*physics.states, *physics.inputs)}
    terms = []
    for item in items:
        if isinstance(item, str):
            expr = parse_expression(item, symbols, smooth=False)
        else:
            expr = item if isinstance(item, sp.Expr) else sp.sympify(item) if isinstance(item, Real) else None
            if expr is None:
                raise TinyUDEError(
                    f"The library term {item!r} is no expression; give text such as 'v*abs(v)', or SymPy."
                )
            unknown = sorted(s.name for s in expr.free_symbols if s.name not in symbols)
            if unknown:
                raise TinyUDEError(f"The library term {item} contains {', '.join(unknown)}; use {', '.join(symbols)}.")
            expr = expr.xreplace({s: symbols[s.name] for s in expr.free_symbols})
        parse_expression(expression_text(expr), symbols, smooth=False)  # as a saved model is read: v*v*... is a power
        if expr in terms:
            raise TinyUDEError(f"The library term {item} is given twice.")
        terms.append(expr)
    return terms
