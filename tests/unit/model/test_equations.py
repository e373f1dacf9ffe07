from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from tinyude.estimator.ude import UDE
from tinyude.model.diagnostics import network_share
from tinyude.model.equations import describe, equation_lines, interval_factor, term_table
from tinyude.model.line_wrapping import wrapped
from tinyude.model.model import Model
from tinyude.physics import Physics
from tinyude.reference.network.mlp import mlp_count
from tinyude.systems import pendulum as make_pendulum

OMEGA = sp.Symbol("omega", real=True)
PHYSICS = make_pendulum().physics
VALUES = {"g": 9.81, "L": 1.0}


def model(coefficients: list[float], errors: list[float], network: bool = False) -> Model:
    sizes = (2, 3, 1)
    return Model(
        PHYSICS, on=(1,), sees=(0, 1), hidden=(3,), weights=np.full(mlp_count(sizes), 0.1),
        network_on=np.array([float(network)]), x_scale=np.ones(2), u_scale=np.ones(0), dx_scale=np.ones(2),
        terms=(sp.Integer(1), OMEGA, OMEGA * sp.Abs(OMEGA)), coefficients=np.array([coefficients]),
        errors=np.array([errors]), parameter_errors=np.zeros(0),
    )  # fmt: skip


def diagnostics(fitted: Model, share: float = 0.0, **more: object) -> dict[str, object]:
    base: dict[str, object] = {"network": {"omega": share}, "parameters": [], "warnings": []}
    return base | {"terms": term_table(fitted, 16)} | more


def test_interval_factor_is_students() -> None:
    assert interval_factor(16) == pytest.approx(1.753, abs=1e-3)
    assert interval_factor(10**6, 0.95) == pytest.approx(1.96, abs=1e-3)
    assert np.isfinite(interval_factor(1))


def test_term_table_lists_what_stayed_with_its_interval() -> None:
    [row] = term_table(model([0.0, -0.4, 0.0], [0.0, 0.01, 0.0]), 16)
    assert (row["state"], row["term"], row["coefficient"]) == ("omega", "omega", -0.4)
    assert row["low"] == pytest.approx(-0.4 - 0.01753, abs=1e-5) and row["high"] == pytest.approx(-0.3825, abs=1e-4)


def test_equation_lines_read_as_equations() -> None:
    lines = equation_lines(found := model([0.25, -0.4, 0.0], [0.1, 0.01, 0.0]), diagnostics(found))
    assert lines[0] == "d(theta)/dt = omega"
    assert lines[1].startswith("d(omega)/dt = -g*sin(theta)/L") and lines[1].endswith("+ 0.25 - 0.4*omega")


def test_equation_lines_name_the_network_where_it_acts() -> None:
    found = model([0.0, 0.0, 0.0], [0.0, 0.0, 0.0], network=True)
    assert equation_lines(found, diagnostics(found, 1.0))[1].endswith("+ network(theta, omega)")


def test_describe_says_what_was_found_and_what_is_left() -> None:
    found = model([0.0, -0.4, 0.0], [0.0, 0.001, 0.0])
    text = describe(found, diagnostics(found))
    assert "residual of omega: -0.4 * omega [-0.4018, -0.3982]; no other term was selected\n" in text
    assert "intervals: 90%, given these terms and their shapes" in text
    left = {"share": 0.3, "noise": 0.01}
    for explained, words in ((True, "nothing else above the noise"), (False, "30 % of the rate stays unexplained")):
        figures = {"explained": {"omega": explained}, "unexplained": {"omega": left}}
        verdict = {"status": "bad", "summary": "Look.", "reasons": [], "figures": figures}
        judged = describe(found, diagnostics(found) | {"verdict": verdict})
        assert words in judged and judged.endswith("verdict: bad. Look.")
    assert "the network accounts for 30 % of it" in describe(found, diagnostics(found, 0.3))
    more = diagnostics(found, parameters=[("L", 1.0, 0.9, 1.1)], warnings=["look out."])
    assert describe(found, more).splitlines()[-3::2] == ["parameter L = 1 [0.9, 1.1]", "warning: look out."]


def test_describe_fits_a_terminal_and_folds_long_physics() -> None:
    found = model([0.25, -0.4, -0.1], [0.1, 0.01, 0.01])
    physics = Physics(["theta", "omega"], ["omega", "+".join(f"sin({k}*theta)*g/L" for k in range(2, 20))], (), VALUES)
    long = replace(found, physics=physics)
    reasons = [
        {"severity": "caution", "text": text, "remedy": "Do so.", "kind": "input"} for text in ("First.", "Second.")
    ]
    verdict = {"status": "caution", "summary": "First.", "reasons": reasons, "figures": {}}
    lines = describe(long, diagnostics(long) | {"verdict": verdict}).splitlines()
    assert lines[1].startswith("d(omega)/dt = known(theta) + 0.25 - 0.4*omega")
    assert "    -0.4 * omega [-0.4175, -0.3825]" in lines and max(map(len, lines)) <= 80
    assert lines[-2:] == ["verdict: caution. First. Do so.", "  caution: Second. Do so."]
    assert "sin(19*theta)" in equation_lines(long, diagnostics(long))[1]


@pytest.mark.parametrize("width", [30, 48, 80])
def test_wrapped_keeps_every_character_and_intervals_whole(width: int) -> None:
    line = "d(v)/dt = (F+m*sin(q)*(l*w**2+g*cos(q)))/(M+m*sin(q)**2)*1e-05 - 0.6 * v [-0.6001, -0.5999], 3 % of 7 %"
    pieces = wrapped([line, "short"], width)
    assert pieces[-1] == "short" and max(map(len, pieces)) <= width
    assert "".join("".join(pieces[:-1]).split()) == "".join(line.split())
    assert not any(piece.lstrip().startswith("%") for piece in pieces)
    assert any("[-0.6001, -0.5999]," in piece for piece in pieces) and not any(p.endswith("*") for p in pieces)


def test_print_and_equations_of_a_fitted_model(fitted: UDE) -> None:
    assert "nothing else above the noise" in str(fitted)
    assert len(fitted.equations()) == 2 and "*omega" in fitted.equations()[1]
    unfitted = UDE(PHYSICS)
    assert str(unfitted) == repr(unfitted)


def test_network_share_is_of_the_whole_residual() -> None:
    x = np.random.default_rng(0).standard_normal((50, 2))
    none = np.empty((50, 0))
    assert network_share(model([0.0, 0.0, 0.0], [0.0] * 3, network=True), x, none) == {"omega": 1.0}
    assert network_share(model([0.0, -0.4, 0.0], [0.0] * 3), x, none) == {"omega": 0.0}
    network = 0.3 * np.tanh(0.1 * x.sum(axis=1) + 0.1) + 0.1  # three units, every weight and bias 0.1
    whole = network - 4.0 * x[:, 1]
    both = network_share(model([0.0, -4.0, 0.0], [0.0] * 3, network=True), x, none)
    assert both["omega"] == pytest.approx(np.sqrt(np.mean(network**2) / np.mean(whole**2)), rel=1e-12)
    assert network_share(model([0.0] * 3, [0.0] * 3, network=True), x[:0], none[:0]) == {"omega": 1.0}


def test_record_excerpt_holds_data_and_estimates(fitted: UDE, short_stream: tuple[float, np.ndarray]) -> None:
    """States are estimated from many samples: they differ from single noisy ones by the noise of these."""
    record = fitted.record_
    period, samples = short_stream
    assert record["Y"].shape == (len(record["t"]), 2) and record["u"].shape == (len(record["t"]), 0)
    assert len(record["window_t"]) == len(record["x"]) == len(record["dx"]) > 50
    rows = np.round(record["window_t"] / period).astype(int)
    noise = 0.01 * np.sqrt(np.mean(samples**2, axis=0))
    assert np.all(np.sqrt(np.mean((record["x"] - samples[rows]) ** 2, axis=0)) < 1.2 * noise)
