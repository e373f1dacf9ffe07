"""Model files with a valid checksum and absurd content, and expressions made to keep SymPy busy."""

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sympy as sp
from safetensors import safe_open
from safetensors.numpy import save as to_bytes

import tinyude as tu
from tinyude.data.logs import Columns, log_stream
from tinyude.errors import TinyUDEError
from tinyude.model.file import checksum
from tinyude.physics.budget import with_time_limit
from tinyude.physics.expressions import expanded
from tinyude.physics.file import load_physics_file
from tinyude.physics.library import known_terms
from tinyude.physics.parsing import parse_expression

SYMBOLS = {name: sp.Symbol(name) for name in ("x", "y", "g")}


@pytest.fixture(scope="module")
def parts(fitted: tu.UDE, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, np.ndarray]]:
    path = tmp_path_factory.mktemp("parts") / "a.tinyude"
    fitted.save(path)
    with safe_open(path, framework="numpy") as file:
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        return file.metadata()["tinyude"], arrays


def entry(part: str, name: str, value: Any) -> Callable[[dict, dict], None]:
    def change(header: dict, arrays: dict) -> None:
        header[part][name] = value

    return change


setting, finding, argument = (partial(entry, part) for part in ("config", "diagnostics", "estimator"))


def numbers(name: str, value: float) -> Callable[[dict, dict], None]:
    def change(header: dict, arrays: dict) -> None:
        arrays[name] = arrays[name].copy()
        arrays[name].flat[0] = value

    return change


def reshaped(name: str, *shape: int) -> Callable[[dict, dict], None]:
    """Another shape of an array that is only drawn."""

    def change(header: dict, arrays: dict) -> None:
        arrays[name] = np.zeros(shape)

    return change


def figure(value: Any, *place: str) -> Callable[[dict, dict], None]:
    """Another value deep in the diagnostics, from which pages are written."""

    def change(header: dict, arrays: dict) -> None:
        inner = header["diagnostics"]
        for name in place[:-1]:
            inner = inner.setdefault(name, {})
        inner[place[-1]] = value

    return change


def contradicting(header: dict, arrays: dict) -> None:
    header["diagnostics"]["terms"][0]["coefficient"] *= 2.0


ABSURD = {
    "a library that is no text": argument("library", [1e308]),
    "no word on its engine": lambda header, arrays: header["diagnostics"].pop("engine"),
    "memory is no table": figure(np.inf, "memory"),
    "memory of text": figure("*/", "memory", "network"),
    "infinite count": figure(np.inf, "rejected", "gap"),
    "strange reason": figure(1, "rejected", "boredom"),
    "seconds as text": figure("", "seconds"),
    "noise of no channel": figure([], "noise"),
    "noise as text": figure(["", ""], "noise_relative"),
    "window without a width": figure({}, "window"),
    "figure as text": figure("9**9", "verdict", "figures", "unexplained", "omega"),
    "no horizons": figure(np.inf, "verdict", "figures", "horizons"),
    "uneven horizons": figure({"seconds": [1.0], "model": [1.0, 2.0]}, "verdict", "figures", "horizons"),
    "uneven innovations": figure({"lags": [0.0], "auto": {"theta": [1.0, 2.0]}}, "innovations"),
    "candidates": figure([1], "refinement", "candidates"),
    "remedy": figure([{"severity": "x", "text": "y", "remedy": 2**63}], "verdict", "reasons"),
    "samples without rows": reshaped("record.Y", 0),
    "samples twice": reshaped("record.Y", 7, 2),
    "rates of other windows": reshaped("record.dx", 7, 2),
    "states with another axis": reshaped("record.x", 7, 2, 3),
    "uneven history": reshaped("history.loss", 3),
    "negative scale": numbers("x_scale", -1.0),
    "no scale": numbers("dx_scale", 0.0),
    "huge scale": numbers("x_scale", 1e300),
    "huge coefficient": numbers("coefficients", 1e200),
    "negative error": numbers("errors", -1.0),
    "half a network": numbers("network_on", 0.5),
    "infinite weight": numbers("weights", np.inf),
    "on twice": setting("on", [1, 1]),
    "on nothing": setting("on", []),
    "on beyond": setting("on", [7]),
    "on by a flag": setting("on", [True]),
    "on negative": setting("on", [-1]),
    "sees twice": setting("sees", [0, 0]),
    "period": setting("sample_period", 1e-38),
    "negative period": setting("sample_period", -1.0),
    "no batch": setting("batch", 0),
    "huge reservoir": setting("reservoir", 10**12),
    "huge seed": setting("seed", 10**30),
    "rate of no channel": setting("rate_channel", [9, 9]),
    "groups": setting("groups", 0),
    "text for a number": setting("rate", "fast"),
    "number for a list": setting("hidden", 3),
    "visited": finding("visited", {"theta": [1.0, -1.0], "omega": [0.0, 1.0]}),
    "visited nan": finding("visited", {"theta": [float("nan"), 1.0], "omega": [0.0, 1.0]}),
    "share": finding("network", {"omega": 7.0}),
    "share of no state": finding("network", {"phi": 0.5}),
    "term of no model": finding(
        "terms", [{"state": "omega", "term": "omega**9", "coefficient": 1.0, "error": 0.1, "low": 0.0, "high": 2.0}]
    ),
    "contradicting equation": contradicting,
    "parameter of no model": finding("parameters", [["k", 1.0, 0.0, 2.0]]),
    "warnings are no list": finding("warnings", 3),
    "no findings": finding("terms", None),
    "holds are a number": finding("holds", 3),
    "holds of no input": finding("holds", {"u": ["held", 0]}),
    "many orders": setting("order", [1] * 5_000),
    "window": argument("window", -1e308),
    "endless window": argument("window", float("inf")),
    "library is a number": argument("library", 1e308),
    "library": argument("library", ["__import__('os')"]),
    "wraps is a number": argument("wraps", 2.0),
    "wraps by lists": argument("wraps", [[]]),
    "on is a number": argument("on", 2**31),
    "on is no state": argument("on", ["phi"]),
    "sees nothing there": argument("sees", ["phi"]),
    "hold of no input": argument("hold", {"u": "held"}),
    "preset": argument("preset", "<script>"),
    "measured is text": argument("measured", "theta"),
    "fewer channels": argument("measured", ["theta"]),
}


@pytest.mark.parametrize("case", ABSURD)
def test_load_rejects_absurd_content_with_a_valid_checksum(
    case: str, parts: tuple[str, dict[str, np.ndarray]], tmp_path: Path
) -> None:
    header, arrays = json.loads(parts[0]), dict(parts[1])
    ABSURD[case](header, arrays)
    text = json.dumps(header)
    path = tmp_path / "a.tinyude"
    path.write_bytes(to_bytes(arrays, {"tinyude": text, "sha256": checksum(text, arrays)}))
    with pytest.raises(TinyUDEError, match="is damaged") as caught:
        tu.load(path)
    assert str(caught.value).isprintable() and len(str(caught.value)) < 600


def test_load_rejects_a_file_that_is_no_model_by_its_size(tmp_path: Path) -> None:
    path = tmp_path / "a.tinyude"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(TinyUDEError, match="bytes; give a file"):
        tu.load(path)


def test_load_rejects_devices_and_folders(tmp_path: Path) -> None:
    for path in (Path("/dev/zero"), tmp_path):
        with pytest.raises(TinyUDEError, match="not a regular file"):
            tu.load(path)


BOMBS = [
    "tanh(" * 5 + "(x+y)**16*(x-g)**15" + ")" * 5,
    "*".join(f"(x+{k}*y+g)" for k in range(700)),
    "*".join(f"sin(x+{k})" for k in range(400)),
    "tanh(" * 219 + "x" + ")" * 219,
    "exp(exp(exp(exp(exp(2)))))*x",
    "exp(exp(exp(16)))*x",
    "sinh(cosh(sinh(cosh(sinh(9**16)))))",
    "9**9**9",
    "(((sqrt(2)+sqrt(3))**16+sqrt(5))**16+sqrt(7))**16*" * 3 + "x**17",
]


@pytest.mark.parametrize("text", BOMBS)
def test_parse_expression_rejects_a_bomb(text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyude.physics.parsing.MAX_SECONDS", 1.0)
    with pytest.raises(TinyUDEError) as caught:
        parse_expression(text, SYMBOLS)
    assert len(str(caught.value)) < 400


def test_physics_rejects_parameters_that_make_it_infinite() -> None:
    for text, value in (("exp(exp(exp(exp(g))))*x", 9.81), ("x/g", 0.0), ("x*log(g)", 0.0)):
        with pytest.raises(TinyUDEError, match="parameters"):
            tu.Physics(["x"], [text], parameters={"g": value})


def test_with_time_limit_stops_work_without_an_end_and_nests() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(TinyUDEError, match=r"The inner takes SymPy longer than 0\.05 s"):
        with_time_limit(30.0, "The outer", lambda: with_time_limit(0.05, "The inner", forever))
    with pytest.raises(TinyUDEError, match="The outer takes"):
        with_time_limit(0.05, "The outer", lambda: with_time_limit(30.0, "The inner", forever))
    assert with_time_limit(5.0, "This", lambda: 3) == 3
    with pytest.raises(TinyUDEError, match="cannot be worked out"):
        with_time_limit(5.0, "This", lambda: 1 / 0)


@pytest.mark.parametrize(
    "term",
    ["*".join(["y"] * 17), "exp(17*log(x))", "1/x**16/x", "x**0.5*x**16", SYMBOLS["y"] ** 17, sp.gamma(SYMBOLS["y"])],
)
def test_ude_rejects_terms_that_its_saved_model_could_not_be_loaded_with(term: str | sp.Expr) -> None:
    """Read as a product, kept as a power: the saved model was called damaged, and was lost."""
    t = np.arange(100) * 0.01
    with pytest.raises(TinyUDEError, match=r"has an exponent beyond 16; use|calls an unknown function"):
        tu.UDE(tu.Physics(["x", "y"], ["y", "-x"]), library=[term]).fit(np.stack([t, np.sin(t)], axis=1), t=0.01)


@pytest.mark.parametrize("rate", ["-9*x", "-9e35*x", "-9*x + 1e-6/x**16"])
@pytest.mark.parametrize("term", ["y", "1e-40*y"])
@pytest.mark.filterwarnings("ignore::tinyude.errors.TinyUDEWarning")
def test_save_writes_what_can_be_loaded_or_says_why_not(term: str, rate: str, tmp_path: Path) -> None:
    """Physics far off, or a term in tiny units: the saved model was called damaged when it was read."""
    t = np.arange(300) * 0.01
    samples = np.stack([np.sin(3 * t), 3 * np.cos(3 * t)], axis=1) * np.exp(-0.15 * t)[:, None]
    samples += 1e-3 * np.random.default_rng(0).standard_normal(samples.shape)
    physics = tu.Physics(["x", "y"], ["y", rate])
    ude = tu.UDE(physics, library=[term], keep=term != "y", refine=False, network=None).fit(samples, t=0.01)
    if term != "y":
        with pytest.raises(TinyUDEError, match=r"cannot be saved: coefficients holds .* 1e\+30; check"):
            ude.save(tmp_path / "a.tinyude")
        assert not list(tmp_path.iterdir())
        return
    ude.save(tmp_path / "a.tinyude")
    np.testing.assert_array_equal(tu.load(tmp_path / "a.tinyude").predict(samples[:9]), ude.predict(samples[:9]))


CASES = ", ".join(f"(x**{k}, x < {k})" for k in range(1, 15))


@pytest.mark.parametrize(
    "text", [f"Piecewise({CASES}, (1, True))", "(x + y + g)**16*(x - y - g)**16", "sin((x + y + 1)**16*(x + g)**16)"]
)
def test_expanded_leaves_what_would_keep_sympy_busy_for_hours(text: str) -> None:
    """A fit with such a known part came to no end: its terms were multiplied out for the verdict."""
    expr = parse_expression(text, SYMBOLS, smooth=False)
    assert expanded(expr) is expr
    assert set(known_terms(tu.Physics(["x", "y"], [text, "-g*x"], parameters={"g": 2.0}), 1)) == {"x"}
    short = parse_expression("(x + y)**3*(x - g)", SYMBOLS)
    assert expanded(short) == sp.expand(short)


def test_with_parameters_is_the_same_physics_with_other_values() -> None:
    physics = tu.Physics(["x"], ["-k*x"], parameters={"k": 1.0})
    other = physics.with_parameters({"k": 2.0})
    assert other == tu.Physics(["x"], ["-k*x"], parameters={"k": 2.0}) and physics.parameters["k"].value == 1.0
    assert physics.field(np.array([1.0])).item() == -1.0 and other.field(np.array([1.0])).item() == -2.0


@pytest.mark.parametrize("period", [1e-38, 0.0, -1.0, 1e9, float("nan"), float("inf")])
def test_fit_rejects_a_period_beyond_all_measure(period: float, pendulum: tu.systems.system.System) -> None:
    with pytest.raises(TinyUDEError, match="The sample period is"):
        tu.UDE(pendulum.physics).fit(np.random.default_rng(0).standard_normal((100, 2)), t=period)


@pytest.mark.parametrize("period", ["1e-38", "1e30"])
def test_log_stream_rejects_a_period_of_a_physics_file_beyond_all_measure(period: str, tmp_path: Path) -> None:
    """The error named a setting of the core that nobody had given."""
    (tmp_path / "rig.toml").write_text(f'[states]\nx = "-x"\n[time]\nperiod = {period}\n')
    (tmp_path / "log.csv").write_text("x\n" + "".join(f"{k % 7}\n" for k in range(50)))
    rig = load_physics_file(tmp_path / "rig.toml")
    for several_rates in (False, True):
        with pytest.raises(TinyUDEError, match=r"The sample period is .*; it must be .* check the unit of the time"):
            log_stream([tmp_path / "log.csv"], Columns.of(rig), several_rates=several_rates)
