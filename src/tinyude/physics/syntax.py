"""The text of an expression: what is rejected before it is read, and the one form in which it is written again.

Texts come from files of unknown origin. What is kept, shown and written into generated code is never the text that was
read but the canonical form of its syntax tree: names, numbers, + - * / **, parentheses and conditions, on one line.
"""

from __future__ import annotations

import ast
import keyword
import re
import unicodedata
import warnings

from tinyude.errors import TinyUDEError

MAX_LENGTH = 20_000
MAX_NODES = 5_000
MAX_NAME = 60
_OR, _AND, _NOT, _COMPARE, _SUM, _PRODUCT, _SIGN, _POWER, _ATOM = range(9)  # how tightly an operation binds
_BINARY: dict[type[ast.operator], tuple[str, int]] = {
    ast.Add: (" + ", _SUM),
    ast.Sub: (" - ", _SUM),
    ast.Mult: ("*", _PRODUCT),
    ast.Div: ("/", _PRODUCT),
    ast.BitAnd: (" and ", _AND),
    ast.BitOr: (" or ", _OR),
}
_ORDER: dict[type[ast.cmpop], str] = {ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">="}


def syntax_tree(text: str) -> ast.expr:
    """The tree of an expression; rejected are comments, line breaks, control characters and what is too long.

    Raises
    ------
    TinyUDEError
        Names the first character, or the size, that is not accepted.
    """
    flat = text.strip(" ")
    if not flat:
        raise TinyUDEError("An expression is empty; write 0 for a right-hand side that is not known.")
    if len(flat) > MAX_LENGTH:
        raise TinyUDEError(f"An expression has {len(flat)} characters, more than {MAX_LENGTH}: {short(flat)}")
    odd = next((c for c in flat if c == "#" or not c.isprintable()), None)
    if odd is not None:
        raise TinyUDEError(
            f"{short(flat)!r} is not an expression: it holds {odd!r}; write it on one line, without comments, "
            "e.g. -(g/L)*sin(theta)."
        )
    try:
        with warnings.catch_warnings(action="error"):  # what Python itself finds odd, as 2and x, is no expression
            tree = ast.parse(flat, mode="eval")
    except (Warning, SyntaxError, ValueError, RecursionError, MemoryError) as error:
        reason = getattr(error, "msg", None) or "nested too deeply or not text"
        if side := re.search(r"(\b[\w.]+|\))\s+[\w(]|(?<![\w.])[\d.]+[^\W\d_]", flat):  # 2 x, sin x, 2x
            reason = f"an operator is missing in {side[0]!r}"
        raise TinyUDEError(f"{short(flat)!r} is not an expression ({reason}); write e.g. -(g/L)*sin(theta).") from None
    nodes = sum(1 for _ in ast.walk(tree))
    if nodes > MAX_NODES:
        raise TinyUDEError(f"{short(flat)!r} has {nodes} parts, more than {MAX_NODES}; simplify it.")
    return tree.body


def canonical_text(text: str) -> str:
    """The text of an expression that `parse_expression` accepts, generated from its syntax tree.

    Examples
    --------
    >>> canonical_text("-( g/L )*sin( theta )")
    '-(g/L)*sin(theta)'
    """
    return _written(syntax_tree(text), _OR)


def check_name(name: str, kind: str, taken: frozenset[str] = frozenset()) -> str:
    """The name, if an expression reads it as it is written and every template can hold it."""
    if not name.isidentifier() or keyword.iskeyword(name) or name in taken:
        raise TinyUDEError(
            f"{short(name)!r} cannot name a {kind}; use letters, digits and _ as in theta_1, and no name of a function."
        )
    if len(name) > MAX_NAME:
        raise TinyUDEError(f"The {kind} {short(name)!r} has {len(name)} characters; use at most {MAX_NAME}.")
    plain = unicodedata.normalize("NFKC", name)
    if plain != name:
        raise TinyUDEError(f"The {kind} {name!r} is read as {plain!r} in an expression (NFKC); name it so.")
    return name


def short(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _written(node: ast.expr, binds: int) -> str:
    """The node as text, in parentheses where its surroundings bind tighter than it does."""
    match node:
        case ast.Constant(value=value):
            return repr(value)
        case ast.Name(id=name):
            return name
        case ast.Call(func=function, args=arguments) if arguments:
            return f"{_written(function, _ATOM)}({', '.join(_written(argument, _OR) for argument in arguments)})"
        case ast.Tuple(elts=[first, second]):
            return f"({_written(first, _OR)}, {_written(second, _OR)})"
        case ast.BoolOp(op=joined, values=values):
            word, own = (" and ", _AND) if isinstance(joined, ast.And) else (" or ", _OR)
            found = word.join(_written(value, own + 1) for value in values)
        case ast.Compare(left=left, ops=ops, comparators=others):
            own = _COMPARE
            found = _written(left, _SUM)
            for op, other in zip(ops, others, strict=True):
                found += f" {_ORDER[type(op)]} {_written(other, _SUM)}"
        case ast.UnaryOp(op=ast.Not() | ast.Invert(), operand=operand):
            found, own = f"not {_written(operand, _NOT)}", _NOT
        case ast.UnaryOp(op=sign, operand=operand):
            found, own = f"{'-' if isinstance(sign, ast.USub) else '+'}{_written(operand, _SIGN)}", _SIGN
        case ast.BinOp(op=ast.Pow(), left=left, right=right):
            found, own = f"{_written(left, _ATOM)}**{_written(right, _SIGN)}", _POWER
        case ast.BinOp():
            found, own = _chain(node)
        case _:
            raise TinyUDEError(f"An expression holds a {type(node).__name__}, which has no canonical form.")
    return f"({found})" if own < binds else found


def _chain(node: ast.BinOp) -> tuple[str, int]:
    """A sum a + b - c or a product a*b/c: Python nests it to the left, as deep as it is long."""
    _, own = _BINARY[type(node.op)]
    parts: list[str] = []
    inner: ast.expr = node
    while isinstance(inner, ast.BinOp) and _BINARY.get(type(inner.op), ("", _ATOM))[1] == own:
        parts += [_written(inner.right, own + 1), _BINARY[type(inner.op)][0]]
        inner = inner.left
    return "".join([_written(inner, own), *reversed(parts)]), own
