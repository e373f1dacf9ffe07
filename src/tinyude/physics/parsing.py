"""Expressions from text, by a whitelist over Python's syntax tree: nothing that is read is ever executed."""

from __future__ import annotations

import ast
import difflib
import math
from collections.abc import Mapping
from typing import Any

import sympy as sp

from tinyude.errors import TinyUDEError
from tinyude.physics.budget import check_slope_size, with_time_limit
from tinyude.physics.expressions import (
    NON_SMOOTH_FUNCTIONS,
    SEVERAL_ARGUMENTS,
    SMOOTH_FUNCTIONS,
    above,
    any_of,
    first_of,
    in_basic_functions,
    is_finite_real,
)
from tinyude.physics.syntax import short, syntax_tree

MAX_DEPTH = 50
MAX_ARGUMENTS = 4  # of max and min
MAX_PIECES = 16  # of Piecewise
MAX_NESTED_CALLS = 5  # SymPy's time on nested hyperbolic functions grows threefold with each level
MAX_EXPONENT = 16
MAX_INTEGER_BITS = 1_024
MAX_SECONDS = 3.0  # of CPU time; a double pendulum's longest equation takes 0.1 s
PIECEWISE = "Piecewise"

RESERVED_NAMES = frozenset({*SMOOTH_FUNCTIONS, *NON_SMOOTH_FUNCTIONS, *SEVERAL_ARGUMENTS, "Abs", "pi", PIECEWISE})


def parse_expression(text: str, symbols: Mapping[str, sp.Symbol], *, smooth: bool = True) -> sp.Expr:
    """The SymPy expression that the text states in the named symbols.

    Arithmetic, numbers, `pi` and smooth functions; with `smooth=False` also `abs`, `sign`, `max`, `min`
    and `Piecewise((a, x < 1), (b, (x < 2) & (y >= 0)), (c, True))`.
    """
    tree = syntax_tree(text)
    what = f"The expression {short(text.strip())!r}"

    def read() -> sp.Expr:
        expr = _Reader(text.strip(" "), symbols, smooth).expression(tree)
        check_slope_size(expr, what)
        return expr

    return with_time_limit(MAX_SECONDS, what, read)


class _Reader:
    """Builds the expression bottom-up and checks every intermediate result, so that no step can grow large."""

    def __init__(self, text: str, symbols: Mapping[str, sp.Symbol], smooth: bool) -> None:
        self.text = text
        self.open_calls = 0
        self.functions = dict(SMOOTH_FUNCTIONS)
        if not smooth:
            self.functions |= NON_SMOOTH_FUNCTIONS | SEVERAL_ARGUMENTS | {"Abs": sp.Abs, PIECEWISE: sp.Piecewise}
        # SymPy simplifies abs, sqrt and log rightly only when it knows that the symbols are real.
        self.real = {name: sp.Symbol(name, real=True) for name in symbols}
        self.back = {self.real[name]: symbol for name, symbol in symbols.items()}

    def expression(self, body: ast.expr) -> sp.Expr:
        expr = in_basic_functions(self.read(body, 0)).xreplace(self.back)
        if expr.has(sp.I, sp.zoo, sp.nan, sp.oo, -sp.oo):
            raise self.error(body, "is not a finite real expression")
        return expr

    def error(self, node: ast.AST, why: str) -> TinyUDEError:
        piece = ast.get_source_segment(self.text, node) or ast.dump(node)
        return TinyUDEError(f"In {short(self.text)!r}: {short(piece)!r} {why}.")

    def read(self, node: ast.expr, depth: int) -> sp.Expr:
        if depth > MAX_DEPTH:
            raise self.error(node, f"is nested deeper than {MAX_DEPTH} levels; split the expression")
        match node:
            case ast.Constant(value=value):
                expr = self.number(node, value)
            case ast.Name(id=name):
                return self.name(node, name)
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                expr = -self.read(operand, depth + 1)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                expr = self.read(operand, depth + 1)
            case ast.BinOp(op=ast.Add() | ast.Sub()):
                expr = self.sum(node, depth)
            case ast.BinOp(op=ast.Mult() | ast.Div()):
                expr = self.product(node, depth)
            case ast.BinOp(op=ast.Pow(), left=left, right=right):
                expr = self.power(node, self.read(left, depth + 1), self.read(right, depth + 1))
            case ast.Call():
                expr = self.call(node, depth)
            case ast.BinOp(op=ast.BitXor()):
                raise self.error(node, "uses ^; a power is written **")
            case _:
                raise self.error(
                    node, f"is not allowed; allowed are + - * / **, parentheses, names and {self.function_names()}"
                )
        self.check_number(node, expr)
        return expr

    def number(self, node: ast.expr, value: Any) -> sp.Expr:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(node, "is not a real number; write one such as 0.5")
        if isinstance(value, float):
            if not math.isfinite(value):
                raise self.error(node, "is too large for a floating-point number; choose other units")
            return sp.Float(value)
        return sp.Integer(value)

    def name(self, node: ast.expr, name: str) -> sp.Expr:
        if name in self.real:
            return self.real[name]
        if name == "pi":
            return sp.pi
        if name in self.functions:
            raise self.error(node, f"is a function; write {name}(...)")
        known = [*self.real, "pi"]
        raise self.error(
            node, f"is unknown{_hint(name, known)}; declare it as an input or a parameter; known are {', '.join(known)}"
        )

    def sum(self, node: ast.expr, depth: int) -> sp.Expr:
        """A chain a + b - c in one go: Python nests it to the left, but a long sum is not a deep one."""
        terms: list[sp.Expr] = []
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            term = self.read(node.right, depth + 1)
            terms.append(-term if isinstance(node.op, ast.Sub) else term)
            node = node.left
        return sp.Add(self.read(node, depth + 1), *reversed(terms))

    def product(self, node: ast.expr, depth: int) -> sp.Expr:
        whole, factors = node, list[sp.Expr]()
        while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult | ast.Div):
            factor = self.read(node.right, depth + 1)
            if isinstance(node.op, ast.Div) and factor.is_zero:
                raise self.error(node, "divides by zero; correct the denominator")
            factors.append(1 / factor if isinstance(node.op, ast.Div) else factor)
            node = node.left
        result = self.read(node, depth + 1)
        for factor in reversed(factors):
            result = result * factor
            self.check_number(whole, result)
        return result

    def power(self, node: ast.expr, base: sp.Expr, exponent: sp.Expr) -> sp.Expr:
        if exponent.is_number and abs(float(exponent)) > MAX_EXPONENT:
            raise self.error(node, f"has an exponent beyond {MAX_EXPONENT}; use exp or a smaller one")
        if base.is_zero and not exponent.is_positive:
            raise self.error(node, "divides by zero; correct the denominator")
        if base.is_negative and base.is_number and not exponent.is_integer:
            raise self.error(node, "is a fractional power of a negative number")
        result = base**exponent
        for part in result.atoms(sp.Pow):
            if part.exp.is_number and abs(float(part.exp)) > MAX_EXPONENT:
                raise self.error(node, f"makes an exponent beyond {MAX_EXPONENT}; use exp or a smaller one")
        return result

    def call(self, node: ast.Call, depth: int) -> sp.Expr:
        if not isinstance(node.func, ast.Name):
            raise self.error(node, f"is not allowed; the functions are {self.function_names()}")
        name = node.func.id
        if name not in self.functions:
            if name in RESERVED_NAMES and name != "pi":
                raise self.error(node, "is not smooth; use tanh(k*x) for a soft sign, or leave it to the network")
            hint = _hint(name, list(self.functions))
            raise self.error(node, f"calls an unknown function{hint}; the functions are {self.function_names()}")
        if self.open_calls == MAX_NESTED_CALLS:
            raise self.error(node, f"is inside {MAX_NESTED_CALLS} other functions; nest fewer")
        self.open_calls += 1
        value = self.pieces(node, depth) if name == PIECEWISE else self.functions[name](*self.arguments(node, depth))
        self.open_calls -= 1
        return value

    def arguments(self, node: ast.Call, depth: int) -> list[sp.Expr]:
        """What a function is given, as many as it takes."""
        name = ast.unparse(node.func)
        several = name in SEVERAL_ARGUMENTS
        starred = any(isinstance(argument, ast.Starred) for argument in node.args)
        if node.keywords or starred or not (1 < len(node.args) <= MAX_ARGUMENTS if several else len(node.args) == 1):
            wanted = "two or a few arguments" if several else "exactly one argument"
            raise self.error(node, f"must have {wanted}; write {name}({'x, y' if several else 'x'})")
        return [self.read(argument, depth + 1) for argument in node.args]

    def pieces(self, node: ast.Call, depth: int) -> sp.Expr:
        """Piecewise((value, condition), ...) as SymPy writes it; the last condition is True."""
        pairs = [item.elts for item in node.args if isinstance(item, ast.Tuple) and len(item.elts) == 2]
        whole = len(pairs) == len(node.args) and not node.keywords
        if not (whole and pairs and isinstance(pairs[-1][1], ast.Constant) and pairs[-1][1].value is True):
            raise self.error(
                node, f"must be pairs, the last one for all other cases; write {PIECEWISE}((a, x < 1), (b, True))"
            )
        if len(pairs) > MAX_PIECES:
            raise self.error(node, f"has {len(pairs)} pieces, more than {MAX_PIECES}; write fewer")
        found = []
        for value, condition in pairs:
            expr = self.read(value, depth + 1)
            self.check_defined(value, expr)
            found.append((expr, self.condition(condition, depth + 1)))
        return first_of(found)

    def check_defined(self, node: ast.expr, expr: sp.Expr) -> None:
        """Every piece is evaluated everywhere and multiplied by 1 or 0, so none may be undefined anywhere."""
        for part in expr.atoms(sp.Pow, sp.log, sp.asin, sp.acos):
            inside = part.args[0]
            fine = inside.is_positive or (part.is_Pow and part.exp.is_integer)
            if not fine and not (part.is_Pow and inside.is_number):
                raise self.error(node, "is undefined for some values; exclude them, as in sqrt(max(x, 1e-6))")

    def condition(self, node: ast.expr, depth: int) -> sp.Expr:
        """1 where the condition holds, else 0."""
        if depth > MAX_DEPTH:
            raise self.error(node, f"is nested deeper than {MAX_DEPTH} levels; split the expression")
        match node:
            case ast.Constant(value=bool() as value):
                return sp.Integer(int(value))
            case ast.BoolOp(op=joined, values=values):
                truths = [self.condition(value, depth + 1) for value in values]
                return sp.Mul(*truths) if isinstance(joined, ast.And) else any_of(truths)
            case ast.BinOp(op=ast.BitAnd() | ast.BitOr() as joined, left=left, right=right):
                truths = [self.condition(value, depth + 1) for value in (left, right)]
                return sp.Mul(*truths) if isinstance(joined, ast.BitAnd) else any_of(truths)
            case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
                return 1 - self.condition(operand, depth + 1)
            case ast.Compare(ops=ops, comparators=others) if all(isinstance(op, _ORDER) for op in ops):
                values = [self.read(value, depth + 1) for value in (node.left, *others)]
                return sp.Mul(*(_compared(op, *pair) for op, *pair in zip(ops, values, values[1:], strict=False)))
            case _:
                raise self.error(node, "is not a condition; compare with <, <=, > or >=, and join by & and |")

    def check_number(self, node: ast.expr, expr: sp.Expr) -> None:
        if expr.is_Rational and max(expr.p.bit_length(), expr.q.bit_length()) > MAX_INTEGER_BITS:
            raise self.error(node, f"makes an integer of more than {MAX_INTEGER_BITS} bits; write it as a decimal")
        if expr.is_number and not is_finite_real(expr):
            raise self.error(node, "is not a finite real number")

    def function_names(self) -> str:
        return ", ".join(sorted(self.functions))


_ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)


def _compared(order: ast.cmpop, left: sp.Expr, right: sp.Expr) -> sp.Expr:
    if isinstance(order, ast.Gt | ast.LtE):
        over = above(left, right)
        return over if isinstance(order, ast.Gt) else 1 - over
    under = above(right, left)
    return under if isinstance(order, ast.Lt) else 1 - under


def _hint(name: str, known: list[str]) -> str:
    close = difflib.get_close_matches(name, known, n=1)
    return f" (did you mean {close[0]}?)" if close else ""
