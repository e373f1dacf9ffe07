"""Expressions as people write them: max for a corner, one factor before a difference."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import sympy as sp
from sympy.printing.str import StrPrinter

from tinyude.physics.parsing import RESERVED_NAMES, parse_expression

ROUNDING = 1e-12  # relative error of numbers in a text


class _Printer(StrPrinter):  # type: ignore[misc]
    """As the parser reads it, a limit of 0 last: max(x - 1, 0)."""

    def _print_Max(self, expr: sp.Expr) -> str:
        return f"max({self.stringify(sorted(expr.args, key=bool, reverse=True), ', ')})"

    def _print_Min(self, expr: sp.Expr) -> str:
        return self._print_Max(expr).replace("max", "min", 1)


@lru_cache(maxsize=256)
def parsed(text: str) -> sp.Expr:
    """A term by its text; every name that is not a function is a signal."""
    names = sorted(set(re.findall(r"[^\W\d]\w*", text)) - RESERVED_NAMES)
    symbols = {name: sp.Symbol(name, real=True) for name in names}
    return parse_expression(text, symbols, smooth=False)


@lru_cache(maxsize=256)
def written_text(text: str) -> str:
    """The text of a term to be read, with numbers of four digits; in parentheses if it is a sum."""
    if text.isidentifier() or not re.search(r"\(|[+-]", text):
        return short_numbers(text)
    term = as_written(parsed(text))
    shown = short_numbers(_Printer().doprint(term))
    return f"({shown})" if term.is_Add else shown


def plain_text(text: str, ranges: Mapping[str, Any]) -> str:
    """The text of a term without absolute values of signals that keep their sign in these ranges: there it is equal."""
    if "Abs(" not in text:
        return text
    signs = {name: 1 if low >= 0.0 else -1 for name, (low, high) in ranges.items() if low >= 0.0 or high <= 0.0}
    sizes = {sp.Abs(x): signs[x.name] * x for x in parsed(text).free_symbols if x.name in signs}
    return str(parsed(text).xreplace(sizes))


def short_numbers(text: str) -> str:
    """A text with its numbers rounded to four digits."""
    return re.sub(r"\d+\.\d{4,}", lambda number: f"{float(number[0]):.4g}", text)


def as_written(expr: sp.Expr) -> sp.Expr:
    """The same value: max and min instead of absolute values, and k*(a - b) for k*a - k*b inside a function."""
    corners = expr.replace(lambda node: node.is_Add and node.has(sp.Abs), _corner)
    return corners.replace(lambda node: isinstance(node, sp.Function | sp.Pow), _factored)


def _corner(total: sp.Expr) -> sp.Expr:
    """max(a, 0) for a/2 + |a|/2, and the like."""
    for part in total.args:
        half, size = part.as_coeff_Mul()
        if isinstance(size, sp.Abs) and abs(half) == sp.Rational(1, 2):
            inside, rest = size.args[0], 2 * (total - part)
            if _same(rest, inside):
                return sp.Max(inside, 0) if half > 0 else sp.Min(inside, 0)
            if _same(rest, -inside):
                return sp.Max(-inside, 0) if half > 0 else sp.Min(-inside, 0)
    return total


def _same(a: sp.Expr, b: sp.Expr) -> bool:
    """Whether they differ by rounding only."""
    apart = a - b
    return bool(apart.is_number and abs(apart) < ROUNDING * (1 + max(map(abs, a.atoms(sp.Float)), default=0)))


def _factored(node: sp.Expr) -> sp.Expr:
    """A function with one factor taken out of a sum inside."""
    return node.func(*(_one_factor(inside) for inside in node.args), evaluate=False)


def _one_factor(total: sp.Expr) -> sp.Expr:
    if not total.is_Add:
        return total
    factors = [part.as_coeff_Mul() for part in total.args]
    size = abs(factors[0][0])
    if size == 1 or any(abs(factor) != size for factor, _ in factors):
        return total
    return sp.Mul(size, sp.Add(*(sp.sign(factor) * part for factor, part in factors)), evaluate=False)
