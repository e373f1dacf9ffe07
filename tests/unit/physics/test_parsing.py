import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyude.errors import TinyUDEError
from tinyude.physics.parsing import MAX_DEPTH, MAX_EXPONENT, MAX_NESTED_CALLS, parse_expression
from tinyude.physics.syntax import MAX_LENGTH

theta, omega, g = sp.symbols("theta omega g")
SYMBOLS = {"theta": theta, "omega": omega, "g": g}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("omega", omega),
        ("-(g/2)*sin(theta)", -g * sp.sin(theta) / 2),
        ("2*pi - +1", 2 * sp.pi - 1),
        ("1 - 2 - 3", sp.Integer(-4)),
        ("8 / 2 / 2 * g", 2 * g),
        ("theta**2**3", theta**8),
        ("-theta**2", -(theta**2)),
        ("theta**-1", 1 / theta),
        ("g**omega", g**omega),
        ("sqrt(theta) * exp(-omega)", sp.sqrt(theta) * sp.exp(-omega)),
        ("theta   + omega", theta + omega),
        ("tan(theta + pi/2)", -sp.cos(theta) / sp.sin(theta)),
        ("1e-3*g", sp.Float(1e-3) * g),
    ],
)
def test_parse_expression_reads_arithmetic(text: str, expected: sp.Expr) -> None:
    assert parse_expression(text, SYMBOLS) == expected


def test_parse_expression_gives_back_the_callers_symbols() -> None:
    real = sp.Symbol("theta", real=True)
    assert parse_expression("sin(theta)", {"theta": real}).free_symbols == {real}


def test_parse_expression_reads_non_smooth_functions_only_when_told() -> None:
    assert parse_expression("omega*abs(omega) + sign(omega) + Abs(g)", SYMBOLS, smooth=False) == (
        omega * sp.Abs(omega) + sp.sign(omega) + sp.Abs(g)
    )
    for text in ("abs(omega)", "sign(omega)", "Abs(omega)"):
        with pytest.raises(TinyUDEError, match=r"not smooth.*tanh"):
            parse_expression(text, SYMBOLS)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("theta.__class__", r"'theta.__class__' is not allowed"),
        ("__import__('os').system('true')", "is not allowed"),
        ("().__class__", "is not allowed"),
        ("theta[0]", "is not allowed"),
        ("[theta for theta in ()]", "is not allowed"),
        ("lambda: theta", "is not allowed"),
        ("theta if omega else g", "is not allowed"),
        ("theta < omega", "is not allowed"),
        ("theta // 2", "is not allowed"),
        ("theta % 2", "is not allowed"),
        ("f'{theta}'", "is not allowed"),
        ("'theta'", "not a real number"),
        ("True", "not a real number"),
        ("1j", "not a real number"),
        ("theta^2", r"\*\*"),
        ("omgea", "did you mean omega"),
        ("sine(theta)", "did you mean sin"),
        ("sin", r"write sin\(\.\.\.\)"),
        ("sin(theta, omega)", "exactly one argument"),
        ("sin(*theta)", "exactly one argument"),
        ("sin(x=theta)", "exactly one argument"),
        ("theta = 1", "not an expression"),
        ("Piecewise((theta, omega > 0), (g, True))", "not smooth"),
        ("theta +", "not an expression"),
        ("1and theta", "not an expression"),
        ("'\\d'", "not an expression"),
        ("theta is 1", "not an expression|not allowed"),
        ("theta omega", "not an expression"),
        ("\x00", "not an expression"),
        ("  ", "empty"),
        ("1/0", "divides by zero"),
        ("theta/(g - g)", "divides by zero"),
        ("0**-1", "divides by zero"),
        ("log(0)", "finite"),
        ("sqrt(-1)*theta", "finite"),
        ("asin(2)", "finite"),
        ("exp(1000)", "finite"),
        ("1e300*1e300", "finite"),
        ("1e999", "too large"),
        ("(-2)**theta", "negative number"),
        ("9**9**9", f"beyond {MAX_EXPONENT}"),
        ("theta**17", f"beyond {MAX_EXPONENT}"),
        ("theta**-17", f"beyond {MAX_EXPONENT}"),
        ("(theta**5)**5", f"beyond {MAX_EXPONENT}"),
        ("((7**16)**16)**16", "bits"),
        ("((10001/10000)**16)**16", "bits"),
        ("9" * 2000, "bits"),
        ("9" * 5000, "not an expression"),
        ("(" * 150 + "theta" + ")" * 150 + "." * 2, "not an expression"),
        ("(" * 500 + "theta" + ")" * 500, "not an expression"),
        ("-" * 100 + "theta", f"deeper than {MAX_DEPTH}"),
        ("-" * 10_000 + "theta", "not an expression"),
        ("tanh(" * 30 + "theta" + ")" * 30, f"inside {MAX_NESTED_CALLS} other"),
        ("g + " * 1800 + "1", "parts"),
        ("theta" * MAX_LENGTH, "characters"),
    ],
)
def test_parse_expression_rejects_hostile_text(text: str, complaint: str) -> None:
    with pytest.raises(TinyUDEError, match=complaint) as caught:
        parse_expression(text, SYMBOLS)
    assert len(str(caught.value)) < 400


def test_parse_expression_reads_a_long_sum_and_product() -> None:
    assert parse_expression("+".join(["theta"] * 1000), SYMBOLS) == 1000 * theta
    assert parse_expression("*".join(["theta", "1.0"] * 16), SYMBOLS).subs(theta, 1.5) == 1.5**16


PIECES = st.sampled_from(
    ["theta", "omega", "g", "pi", "1", "2.5", "0", "+", "-", "*", "/", "**", "(", ")", "sin(", "log(", "sqrt(", "tanh(",
     ".", ",", "[", "]", "1e9", "lambda", " if ", "=", "'", "_", "\\"]
)  # fmt: skip


@settings(max_examples=300, deadline=None, database=None)
@given(st.lists(PIECES, max_size=14).map("".join))
def test_parse_expression_returns_an_expression_or_rejects(text: str) -> None:
    try:
        expr = parse_expression(text, SYMBOLS)
    except TinyUDEError:
        return
    assert isinstance(expr, sp.Expr) and expr.free_symbols <= set(SYMBOLS.values())


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("Piecewise()", "must be pairs"),
        ("Piecewise((g, theta > 0))", "must be pairs, the last one for all other cases"),
        ("Piecewise((g, True), (theta, theta > 0))", "must be pairs, the last one for all other cases"),
        ("Piecewise(g, True)", "must be pairs"),
        ("Piecewise((g, True, 1))", "must be pairs"),
        ("Piecewise([g, True])", "must be pairs"),
        ("Piecewise(*((g, True),))", "must be pairs"),
        ("Piecewise((g, True), evaluate=False)", "must be pairs"),
        ("Piecewise", r"write Piecewise\(\.\.\.\)"),
        ("Piecewise((g, theta), (1, True))", "is not a condition; compare"),
        ("Piecewise((g, 1), (1, True))", "is not a condition"),
        ("Piecewise((g, theta == 0), (1, True))", "is not a condition"),
        ("Piecewise((g, theta in (1, 2)), (1, True))", "is not a condition"),
        ("Piecewise((g, (theta := 3) > 0), (1, True))", "is not allowed"),
        ("Piecewise((g, print(1) > 0), (1, True))", "unknown function"),
        ("Piecewise((g, __import__('os').system('true') > 0), (1, True))", "is not allowed"),
        ("Piecewise((g, [theta > 0][0]), (1, True))", "is not a condition"),
        ("Piecewise((g, (lambda: True)()), (1, True))", "is not a condition"),
        ("Piecewise((g, theta > 0 if omega else 1), (1, True))", "is not a condition"),
        ("Piecewise((g, theta > 0 & omega > 0), (1, True))", "'0 & omega' is not allowed"),
        ("Piecewise((g, theta > 'a'), (1, True))", "not a real number"),
        ("Piecewise((g, theta > 1/0), (1, True))", "divides by zero"),
        ("Piecewise((sqrt(theta), theta > 0), (0, True))", r"undefined for some values.*max\(x, 1e-6\)"),
        ("Piecewise((log(theta), theta > 0), (0, True))", "undefined for some values"),
        ("Piecewise((theta**omega, theta > 0), (0, True))", "undefined for some values"),
        (f"Piecewise({'(g, theta > 0), ' * 16}(1, True))", "17 pieces, more than 16"),
        ("Piecewise((" * 6 + "g" + ", theta > 0), (1, True))" * 6, "nest fewer"),
        ("Piecewise((g, " + "not " * 60 + "theta > 0), (1, True))", "nested deeper"),
        (
            "Piecewise((g, " + " and ".join(f"theta > {k}" for k in range(800)) + "), (1, True))",
            "parts|longer|derivative",
        ),
        ("Piecewise((g, " + " & ".join(f"(theta > {k})" for k in range(300)) + "), (1, True))", "nested|parts"),
    ],
)
def test_parse_expression_rejects_pieces_with_a_remedy(text: str, complaint: str) -> None:
    smooth = "not smooth" in complaint
    with pytest.raises(TinyUDEError, match=complaint):
        parse_expression(text, SYMBOLS, smooth=smooth)


def test_parse_expression_reads_many_pieces_within_its_budget() -> None:
    pieces = ", ".join(f"({k}*sin(theta)*omega**2/(1 + g**2), theta < {k})" for k in range(15))
    expr = parse_expression(f"Piecewise({pieces}, (0, True))", SYMBOLS, smooth=False)
    assert float(expr.subs({theta: 6.5, omega: 2.0, g: 1.0})) == pytest.approx(14.0 * float(sp.sin(6.5)))


@pytest.mark.parametrize(
    ("text", "side"), [("2 x", "2 x"), ("-sin x", "sin x"), ("1 + 2x", "2x"), ("(x + 1) x", r"\) x")]
)
def test_a_missing_operator_is_named(text: str, side: str) -> None:
    with pytest.raises(TinyUDEError, match=f"an operator is missing in '{side}'"):
        parse_expression(text, {"x": sp.Symbol("x")})
