"""Each finding comes when it should, and a clean record draws none."""

import json
import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import tinyude as tu
from tinyude.model.dynamics import known_dynamics
from tinyude.model.evidence import Continuation, Evidence, Innovations, Sensor, Unexplained
from tinyude.model.input_effects import InputEffect
from tinyude.model.other_values import OtherValue
from tinyude.model.probes import RunErrors
from tinyude.model.simulation import free_run
from tinyude.model.validation import run_scores
from tinyude.model.verdict import Verdict, combined, judge
from tinyude.model.wrong_values import Addend, Net
from tinyude.physics import Physics
from tinyude.systems.signals import delay, quantise, sensor_noise

NAMES = ["theta", "omega"]
PERIOD = 0.002
SWING = tu.Physics(["theta", "omega"], ["omega", "-12*sin(theta)"])


def swing(period: float = PERIOD, seconds: float = 16.0, damping: float = 0.3, start: float = 2.0) -> np.ndarray:
    """A damped pendulum, pushed every four seconds; integrated finely whatever the period."""
    inner = max(1, round(period / 0.001))
    step = period / inner
    x, rows = np.array([start, 0.0]), []

    def field(x: np.ndarray) -> np.ndarray:
        return np.array([x[1], -12.0 * np.sin(x[0]) - damping * x[1]])

    for row in range(round(seconds / period)):
        if row % round(4.0 / period) == 0:
            x = x + np.array([0.0, 2.0])
        rows.append(x)
        for _ in range(inner):
            middle = x + 0.5 * step * field(x)
            x = x + step * field(middle)
    return np.array(rows)


@pytest.fixture(scope="module")
def clean() -> np.ndarray:
    return swing()


def fitted(samples: np.ndarray, period: float = PERIOD, physics: tu.Physics = SWING, **options: object) -> tu.UDE:
    return tu.UDE(physics, hidden=(), **options).fit(samples, t=period)


def warned(samples: np.ndarray, period: float = PERIOD, physics: tu.Physics = SWING, **options: object) -> str:
    return " ".join(fitted(samples, period, physics, **options).diagnostics_["warnings"])


@pytest.mark.parametrize("level", [0.001, 0.01, 0.05])
def test_verdict_are_none_about_a_clean_record(clean: np.ndarray, level: float) -> None:
    for seed in range(2):
        assert warned(sensor_noise(clean, level, np.random.default_rng(seed))) == ""


@pytest.mark.parametrize("level", [0.001, 0.01, 0.05])
@pytest.mark.parametrize(("channel", "late"), [(0, 1), (1, 5)])
def test_verdict_find_a_late_channel_and_by_how_much(clean: np.ndarray, level: float, channel: int, late: int) -> None:
    samples = delay(sensor_noise(clean, level, np.random.default_rng(3)), channel, late)[late:]
    lag = re.search(rf"{NAMES[channel]} lags ([\d.]+) ms behind the other channel. Shift it", warned(samples))
    assert lag and float(lag[1]) == pytest.approx(1e3 * late * PERIOD, rel=0.25)


def test_verdict_find_coarse_steps(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.001, np.random.default_rng(0))
    assert "theta moves in steps of" in warned(quantise(noisy, 6))
    assert "moves in steps" not in warned(quantise(noisy, 14))


def test_verdict_is_good_at_a_low_rate_that_suffices() -> None:
    slow = sensor_noise(swing(0.1, 60.0), 0.001, np.random.default_rng(0))
    assert warned(slow, 0.1) == ""


def test_verdict_find_an_angle_that_wraps() -> None:
    turning = sensor_noise(swing(damping=0.0, start=3.0), 0.001, np.random.default_rng(0))
    wrapped = turning.copy()
    wrapped[:, 0] = np.mod(turning[:, 0] + np.pi, 2.0 * np.pi) - np.pi
    assert np.ptp(turning[:, 0]) > 7.0  # it does go over the top
    assert "theta jumps by about 6.283" in warned(wrapped) and "jumps by" not in warned(wrapped, wraps=["theta"])
    np.testing.assert_allclose(
        fitted(wrapped, wraps=["theta"]).model_.coefficients, fitted(turning).model_.coefficients, atol=1e-9
    )


def test_verdict_find_parameters_that_cannot_be_told_apart(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    ratio = {"g": tu.Parameter(9.0, learn=True), "L": tu.Parameter(0.8, learn=True)}
    both = tu.Physics(["theta", "omega"], ["omega", "-g/L*sin(theta)"], parameters=ratio)
    one = tu.Physics(["theta", "omega"], ["omega", "-g/L*sin(theta)"], parameters=ratio | {"L": 0.8})
    assert "cannot be told apart" in warned(noisy, physics=both, library=["omega"])
    assert warned(noisy, physics=one, library=["omega"]) == ""


def test_verdict_find_signals_that_move_as_one(clean: np.ndarray) -> None:
    decay = np.exp(-0.3 * np.arange(4000) * PERIOD)[:, None] * np.array([1.0, -0.3])
    text = warned(decay + 1e-4 * np.random.default_rng(0).standard_normal((4000, 2)), library=["omega"])
    assert "theta and omega are collinear" in text


def test_verdict_find_an_input_that_never_moves(clean: np.ndarray) -> None:
    driven = tu.Physics(["theta", "omega"], ["omega", "-12*sin(theta) + tau"], inputs=["tau"])
    ude = tu.UDE(driven, hidden=(), library=["omega"])
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    assert any(
        "tau stays at 0" in line for line in ude.fit(noisy, PERIOD, np.zeros(len(noisy))).diagnostics_["warnings"]
    )


def test_verdict_find_time_in_milliseconds(clean: np.ndarray) -> None:
    noisy = sensor_noise(clean, 0.01, np.random.default_rng(0))
    assert "The time seems to be in milliseconds" in warned(noisy[:, :1], 1e3 * PERIOD, measured=["theta"])
    assert "looks like 1000 (milli: mm, ms, g, mA)" in warned(noisy, 1e3 * PERIOD)


def test_verdict_find_a_signal_that_is_mostly_noise() -> None:
    assert "hardly rises above its noise" in warned(0.01 * np.random.default_rng(1).standard_normal((3000, 2)))


def test_verdict_count_what_was_bridged(clean: np.ndarray) -> None:
    broken = sensor_noise(clean, 0.01, np.random.default_rng(0))
    broken[500, 0], broken[900, 1], broken[1000, 1] = np.nan, np.inf, 1e300
    ude = fitted(broken)
    assert any("3 values that were no numbers, or far" in reason.text for reason in ude.verdict_.reasons)
    assert ude.verdict_.status == "good"  # a note costs no trust


def errors(model: float, known: float, expected: float, starts: int = 9) -> RunErrors:
    rows = [np.full((2, starts), value) for value in (model, known, 1.0, expected)]
    return RunErrors(np.array([0.5, 2.0]), *rows, diverged=0.0, noise=0.01)


PARAMETER = {"name": "k", "value": 2.0, "low": 2.0, "high": 2.0, "at": "", "limit": 9.0}
SOUND = Evidence(
    ("x",), (), samples=5000, seconds=10.0, period=0.002, cycles=20.0, windows=500,
    unexplained={"x": Unexplained(0.01, 0.3, 0.009)}, runs=errors(0.01, 0.4, 0.01), uneven_noise=1.0,
)  # fmt: skip


VALUE = {"values": {("x", "u"): "k", ("x", "v"): "k"}}
NOISY = Unexplained(0.58, 0.9, 0.74)
CROSSED = Innovations((0.05, "x"), (0.3, "x", "u"), 0.04)
COLOURED = Innovations((0.6, "x"), (0.0, "", ""), 0.04)


@pytest.mark.parametrize(
    ("change", "status", "words"),
    [
        ({}, "good", "off by 1 % of the signals' spread (known physics alone: 40 %)"),
        ({"passed": 0.3, "passed_time": 0.4}, "caution", "Only 30 % of the windows pass the acceptance test"),
        ({"passed": 0.3, "passed_time": 0.9}, "good", ""),  # windows at kicks are short and many
        ({"sizes": {"x": (1e-3, 1.0)}}, "caution", "The known physics makes only 0.1 % of d(x)/dt"),
        ({"sizes": {"x": (0.0, 1.0)}}, "good", ""),  # nothing is known of it
        (
            {"sizes": {"x": (50.0, 1.0)}},
            "caution",
            "50 times as large as in the data; the learned part compensates for it",
        ),
        (
            {"sizes": {"x": (50.0, 1.0)}, "unexplained": {"x": Unexplained(0.04, 50.0, 0.01)}},
            "bad",
            "50 times as large as in the data.",
        ),
        (
            {"sizes": {"x": (50.0, 1.0)}, "addends": [Addend("x", "k*x", 0.02, 0.01, 50.0, 40.0, 90.0)]},
            "caution",
            "50 times",
        ),
        (
            {"sizes": {"x": (50.0, 1.0)}, "addends": [Addend("x", "k*x", 0.0, 0.01, 50.0, 0.3, 1.0)]},
            "good",
            "",
        ),  # balanced
        (
            {"sizes": {"x": (50.0, 1.0)}, "effects": [InputEffect("x", "u", 1.0, 1e-4, 18.0)]},
            "good",
            "",
        ),  # the input acts as stated: a loss that balances it was missing
        (
            {"sizes": {"x": (500.0, 1.0)}, "effects": [InputEffect("x", "u", 1.0, 1e-4, 18.0)]},
            "caution",
            "500 times",
        ),
        ({"apart": 6.0}, "caution", "too short"),
        ({"cycles": 0.6}, "caution", "less than three time constants, or three quarters of a period"),
        ({"cycles": 0.6, "continuation": Continuation(0.012, 0.01, 0.3, 0.8)}, "good", "The record is short"),
        (
            {"cycles": 0.6, "continuation": Continuation(0.01, 0.01, 0.01, 0.8)},
            "caution",
            "The record is too short",
        ),  # nothing was learned: a short record hides what is missing
        ({"innovations": Innovations((0.05, "x"), (0.04, "x", "u"), 0.04)}, "good", ""),
        (
            {"innovations": CROSSED, "unexplained": {"x": Unexplained(0.03, 0.9, 0.018)}},
            "caution",
            "correlates with the input u (r = 0.30",
        ),
        ({"innovations": CROSSED}, "good", "correlates with the input u (r = 0.30"),  # a part that is hardly noticed
        ({"innovations": Innovations((0.05, "x"), (0.3, "x", "u"), 0.2)}, "good", ""),  # few rows
        ({"innovations": COLOURED}, "good", "not white noise"),  # a filtered sensor
        (
            {
                "innovations": Innovations((0.6, "x"), (0.0, "", ""), 0.04),
                "unexplained": {"x": Unexplained(0.03, 0.9, 0.018)},
            },
            "caution",
            "is not white noise (autocorrelation 0.60",
        ),
        ({"innovations": COLOURED, "unexplained": {"x": Unexplained(0.012, 0.9, 0.005)}}, "good", "not white noise"),
        ({"nets": [Net("x", "u", 30.0, -15.0, 0.1, 0.4)], **VALUE}, "caution", "another value of k explains it"),
        ({"nets": [Net("x", "u", 30.0, -15.0, 0.1, 0.4)]}, "caution", "0.5 times as much: a factor of 2"),
        ({"nets": [Net("x", "u", 30.0, -13.0, 0.1, 0.4)]}, "good", ""),  # a missing term that is like a known one
        ({"nets": [Net("x", "u", 30.0, -15.4, 0.1, 0.4)]}, "good", ""),  # surely no factor of 2
        ({"nets": [Net("x", "u", 30.0, -15.0, 0.1, 0.4, alike=True)]}, "good", ""),  # of another shape
        ({"nets": [Net("x", "u", 30.0, -15.0, 2.0, 0.4)]}, "good", ""),  # as good as any other factor
        ({"nets": [Net("x", "u", 30.0, -15.0, 0.1, 0.01)], **VALUE}, "good", ""),  # too small a part of the rate
        ({"nets": [Net("x", "u", 30.0, -5.0, 0.1, 0.4)], **VALUE}, "good", ""),  # a part of it was missing
        (
            {"nets": [Net("x", "v", -0.3, -0.7, 0.01, 0.1)], **VALUE},
            "good",
            "",
        ),  # friction that was missing beside the known
        ({"nets": [Net("x", "v", -0.3, -0.3, 0.01, 0.6)], **VALUE}, "caution", "net -0.6 v against your -0.3 v"),
        ({"nets": [Net("x", "v", -0.3, -0.3, 0.01, 0.6, True)], **VALUE}, "caution", "a factor of 2"),
        ({"nets": [Net("x", "v", -0.3, -0.35, 0.01, 0.6, True)], **VALUE}, "good", ""),  # the first of a series
        ({"nets": [Net("x", "u", 30.0, -29.9, 0.1, 0.4)]}, "caution", "0.0033 times as much"),
        ({"nets": [Net("x", "u", 30.0, -29.9, 0.1, 0.4, True)], **VALUE}, "good", ""),  # another shape took its place
        (
            {"nets": [Net("x", "u", 30.0, -29.9, 0.1, 0.4, True)], "unexplained": {"x": Unexplained(0.01, 4.0, 0.009)}},
            "caution",
            "against your +30 u: learning cancels your term",
        ),
        ({"effects": [InputEffect("x", "u", 5.6, 0.1, 0.4)]}, "caution", "u acts 5.6 times as strongly as you state"),
        ({"effects": [InputEffect("x", "u", -1.0, 0.1, 0.4)]}, "caution", "u acts the other way round"),
        ({"effects": [InputEffect("x", "u", 0.7, 0.01, 0.4)]}, "good", ""),  # it saturates
        ({"effects": [InputEffect("x", "u", 5.6, 0.1, 0.01)]}, "good", ""),  # it hardly matters
        ({"effects": [InputEffect("x", "u", 0.4, 0.01, 0.4)]}, "caution", "u acts 0.4 times as strongly"),
        ({"effects": [InputEffect("x", "u", 0.4, 0.01, 0.4, True)]}, "good", ""),  # a saturation was learned
        ({"effects": [InputEffect("x", "u", 0.02, 0.001, 0.4, True)]}, "caution", "u acts 0.02 times as strongly"),
        ({"effects": [InputEffect("x", "u", 5.6, 0.1, 0.4, True)]}, "caution", "u acts 5.6 times as strongly"),
        ({"nets": [Net("x", "u", 0.01, 3.0, 0.1, 0.4)]}, "caution", "3e+02 times as much"),
        ({"nets": [Net("x", "u", 30.0, -60.0, 0.1, 0.4)]}, "caution", "check the sign"),
        ({"addends": [Addend("x", "k*u", -1.0, 0.01, 0.5, 10.0, 5.0)]}, "caution", "-1 times your term k*u"),
        ({"addends": [Addend("x", "k*u", -1.0, 0.01, 0.5, 10.0, 1.1)]}, "good", ""),  # learned terms do the same
        (
            {"addends": [Addend("x", "k*u", -1.0, 0.01, 0.5, 10.0, 1.1)], "network": {"x": 1.0}},
            "caution",
            "-1 times your term k*u",
        ),  # a network stands for it
        ({"runs": errors(0.8, 0.9, 0.01)}, "bad", "off by 80 % of the signals' spread"),
        ({"runs": errors(0.2, 0.9, 0.01)}, "caution", "off by 20 %"),
        ({"runs": errors(0.2, 0.9, 0.2)}, "good", ""),  # as uncertain as its start
        ({"runs": errors(0.3, 0.1, 0.01)}, "bad", "Learning made it worse"),
        ({"runs": None}, "caution", "No stretch of the record is long enough"),
        ({"unexplained": {"x": Unexplained(0.5, 0.9, 0.01)}}, "bad", "50 % of d(x)/dt stays unexplained, 50 times"),
        ({"unexplained": {"x": Unexplained(0.08, 0.9, 0.01)}}, "caution", "8 % of d(x)/dt stays unexplained"),
        ({"unexplained": {"x": Unexplained(0.5, 0.9, 0.4)}}, "good", ""),  # all of it noise
        ({"unexplained": {"x": Unexplained(0.5, 0.3, 0.25)}}, "bad", "worse: 50 % of d(x)/dt stays unexplained"),
        ({"unexplained": {"x": Unexplained(0.5, 0.3, 0.4)}}, "good", ""),  # all of it noise
        ({"windows": 10}, "caution", "too short"),
        ({"shortest": True, "unexplained": {"x": Unexplained(0.03, 0.9, 0.01)}}, "caution", "sample rate is low"),
        ({"parameters": [{**PARAMETER, "kept": True}]}, "good", "k stays at your value 2"),
        ({"parameters": [PARAMETER]}, "caution", "k is not identified"),
        (
            {"parameters": [{**PARAMETER, "high": 2.1}], "replaced": {"k": ["x in d(x)/dt"]}},
            "caution",
            "The value of k depends on what was learned beside it: x in d(x)/dt can replace its effect",
        ),
        ({"deficient": 2}, "caution", "2 learned parameter(s) cannot be told apart"),
        ({"held_out": "b.csv", "outside": {"x": 0.2}, "outside_total": 0.2}, "caution", "outside the recorded range"),
        ({"uneven_noise": 3.0}, "good", "not even and white"),
        ({"input_shifts": {"u": 1}}, "good", "u acts a sample before its row"),
        ({"changed_at": [12.5]}, "good", "The dynamics changed at 12.5 s"),
        ({"rolled_back": 2}, "good", "2 updates were not finite"),
    ],
)
def test_judge_follows_the_evidence(change: dict[str, Any], status: str, words: str) -> None:
    verdict = judge(replace(SOUND, **change))
    assert verdict.status == status
    assert words in f"{verdict.summary} {' '.join(reason.text for reason in verdict.reasons)}"
    assert all(reason.remedy for reason in verdict.reasons if reason.severity != "note")
    assert Verdict.from_dict(json.loads(json.dumps(verdict.to_dict()))) == verdict


def test_value_that_explains_most_makes_the_other_findings_needless() -> None:
    both = OtherValue("m", 1.0, 2.0, (("x", "u"), ("x", "v")))
    nets = [Net("x", "u", 30.0, -15.0, 0.1, 0.4), Net("x", "v", -4.0, 2.0, 0.01, 0.4)]
    inner = replace(both, name="k", terms=(("x", "u"),))
    turned = replace(both, name="k", factor=-1.0, terms=(("y", "u"),))
    mixed = {"values": {("x", "u"): "k", ("x", "v"): "m"}, "nets": nets}
    found = judge(replace(SOUND, **mixed, other_values=[inner, both, turned])).reasons
    assert [(r.kind, r.text) for r in found if r.severity == "caution"] == [
        ("value", "m = 2 instead of your 1 explains what was learned of u in d(x)/dt and v in d(x)/dt."),
        ("sign", "k = -1 instead of your 1 explains what was learned of u in d(y)/dt."),
    ]


def test_good_summary_of_a_noisy_record_says_that_noise_is_left() -> None:
    noisy, quiet = (judge(replace(SOUND, unexplained={"x": u})) for u in (NOISY, Unexplained(0.02, 0.9, 0.019)))
    assert (noisy.status, quiet.status) == ("good", "good")
    assert noisy.summary.endswith("; what is left of the rates is sensor noise.")
    assert quiet.summary.endswith("; 2 % of the rates stay unexplained, where sensor noise accounts for 1.9 %.")


@pytest.mark.parametrize("expected", [0.001, 0.05, 0.2, 0.24, 0.3, 0.9])
@pytest.mark.parametrize("error", [0.06, 0.3, 0.51, 0.9, 2.0])
@pytest.mark.parametrize("known", [0.01, 0.4, 3.0])
def test_judge_never_says_good_above_a_failing_free_run(error: float, known: float, expected: float) -> None:
    verdict = judge(replace(SOUND, runs=errors(error, known, expected)))
    failing = error > 0.5 or error > 4.0 * expected or (error > 2.0 * expected and error > 1.3 * known)
    assert (verdict.status != "good") == failing
    lost = judge(replace(SOUND, runs=replace(errors(0.01, known, expected), diverged=0.3)))
    assert lost.status == "bad"


def test_judge_does_not_blame_the_model_for_an_unstable_system_under_recorded_inputs() -> None:
    runs = errors(0.02, 0.4, 0.02)
    runs = replace(runs, expected=np.array([[0.02] * 9, [1.5] * 9]), diverged=0.5, known_diverged=0.6)
    driven = judge(replace(SOUND, inputs=("i",), runs=runs))
    assert driven.status == "good" and any(reason.kind == "unstable" for reason in driven.reasons)
    assert judge(replace(SOUND, runs=runs)).status == "bad"  # nothing drives it: its own motion is bounded
    learned = replace(runs, known_diverged=0.0)  # what was learned makes it diverge
    assert judge(replace(SOUND, inputs=("i",), runs=learned)).status == "bad"


def test_coarse_sensor_is_not_called_clipped_at_its_highest_step() -> None:
    fine = Sensor("x", sigma=0.01, spread=1.0, step=0.001, stuck=0.0, stuck_at=None, clipped=0.1, revolution=0.0)
    coarse = replace(fine, step=0.2)
    kinds = [[reason.kind for reason in judge(replace(SOUND, sensors=[one])).reasons] for one in (fine, coarse)]
    assert "clipped" in kinds[0] and "quantised" not in kinds[0]
    assert "quantised" in kinds[1] and "clipped" not in kinds[1]


def test_combined_keeps_the_doubts_of_the_fit() -> None:
    fit, unseen = judge(replace(SOUND, deficient=1)), judge(replace(SOUND, held_out="b.csv"))
    both = combined(fit, unseen)
    assert (fit.status, unseen.status, both.status) == ("caution", "good", "caution")
    assert "cannot be told apart" in both.summary and both.figures["judged_on"] == "b.csv"
    failed = combined(fit, judge(replace(SOUND, held_out="b.csv", runs=errors(0.9, 0.9, 0.01))))
    assert failed.status == "bad" and "unseen b.csv" in failed.summary


def test_combined_drops_what_belongs_to_the_fitted_record_alone() -> None:
    """Its free runs, its length, its rejected windows: the unseen record has its own."""
    short = judge(replace(SOUND, cycles=0.6, passed=0.3, passed_time=0.3, runs=errors(0.3, 0.9, 0.01)))
    assert {"short", "rejected", "free run"} <= {reason.kind for reason in short.reasons}
    both = combined(short, judge(replace(SOUND, held_out="b.csv")))
    assert both.status == "good" and not {"short", "rejected", "free run"} & {reason.kind for reason in both.reasons}


@pytest.mark.parametrize(("worse", "told"), [(6, False), (7, True)])
def test_learning_made_it_worse_if_most_free_runs_say_so(worse: int, told: bool) -> None:
    """More than seven of ten; here of nine."""
    runs = errors(0.3, 0.4, 0.01)
    runs.known[:, :worse] = 0.1
    kinds = [reason.kind for reason in judge(replace(SOUND, runs=runs)).reasons]
    assert ("worse" in kinds) == told


def test_fit_warns_of_a_forgotten_input_and_promises_nothing(clean: np.ndarray) -> None:
    rng = np.random.default_rng(0)
    t = np.arange(8000) * PERIOD
    push = np.sin(3.1 * t) + np.sin(7.3 * t)
    driven = tu.Physics(["x", "v"], ["v", "-9*x - 0.5*v + 6*u"], inputs=["u"])
    from tinyude.model.dynamics import known_dynamics
    from tinyude.model.simulation import free_run

    samples = sensor_noise(free_run(known_dynamics(driven), [0.5, 0.0], t, np.ones(2), push), 0.01, rng)
    forgotten = tu.Physics(["x", "v"], ["v", "-9*x"])
    with pytest.warns(tu.TinyUDEWarning, match=r"verdict: bad\. .*stays unexplained"):
        ude = tu.UDE(forgotten, hidden=()).fit(samples, t=PERIOD)
    assert "nothing else" not in str(ude) and "suffices" not in str(ude)
    unused = {"volts": (t, push)}
    verdict = ude.validate(samples, PERIOD, name="again.csv", unused=unused)
    assert any("the unused column volts" in reason.text for reason in verdict.reasons)
    assert verdict.status == "bad"


def test_fit_ends_at_the_same_total_with_right_and_wrong_known_part(clean: np.ndarray) -> None:
    """The same data, and a known part with the sign of gravity wrong: the totals agree within their intervals."""
    noisy = sensor_noise(clean, 0.005, np.random.default_rng(1))
    library = ["omega", "sin(theta)"]
    right = fitted(noisy, library=library)
    wrong = fitted(noisy, physics=tu.Physics(["theta", "omega"], ["omega", "20*sin(theta)"]), library=library)
    totals = []
    for ude, known in ((right, -12.0), (wrong, 20.0)):
        rows = {row["term"]: row for row in ude.terms_}
        gravity = rows.get("sin(theta)", {"learned": 0.0, "error": rows["omega"]["error"]})
        totals.append((known + gravity["learned"], gravity["error"], rows["omega"]["learned"], rows["omega"]["error"]))
    (a, ae, b, be), (c, ce, d, de) = totals
    assert abs(a - c) < 4.0 * (ae + ce) and abs(b - d) < 4.0 * (be + de)
    assert abs(c + 12.0) < 0.1
    assert wrong.verdict_.status != "good" and "sign" in wrong.verdict_.summary
    assert wrong.terms_[0]["net"] == pytest.approx(c) and wrong.terms_[0]["yours"] == 20.0


def test_run_scores_leave_a_signal_that_does_not_move_out() -> None:
    t = np.arange(100) * 0.1
    moving, still = np.sin(t), np.full(100, 20.0)
    found = run_scores(t, np.column_stack([moving + 0.1, still + 3.0]), np.column_stack([moving, still]))
    assert found["error"][0] == pytest.approx(0.1 / moving.std()) and np.isnan(found["error"][1])
    assert found["total_error"] == pytest.approx(found["error"][0])


def test_a_value_of_yours_is_told_from_a_term_that_is_missing_beside_it() -> None:
    t = np.arange(0.0, 40.0, 0.01)
    u = np.sign(np.sin(0.9 * t)) + np.sin(2.1 * t)
    rng = np.random.default_rng(0)
    for drag, mass, said in ((0.7, 2.0, False), (0.2, 4.0, True)):  # of the plant, and the mass that is told
        plant = known_dynamics(Physics(["v"], ["u/2 - c*v"], ["u"], {"c": drag}))
        v = free_run(plant, np.zeros(1), t, np.ones(1), u[:, None])
        physics = Physics(["v"], ["u/m - 0.2*v"], ["u"], {"m": mass})
        ude = tu.UDE(physics).fit(v + 0.003 * rng.standard_normal(v.shape), t, u)
        assert any(reason.kind == "value" for reason in ude.verdict_.reasons) == said


def heated(known: list[str], values: dict[str, float], truth: list[str], states: list[str]) -> Verdict:
    """The verdict on a plant driven by steps of a heater."""
    t = np.arange(0.0, 400.0, 0.5)
    u = np.random.default_rng(3).uniform(0.0, 1.0, 41)[(t / 10.0).astype(int)]
    start = np.full(len(states), 20.0)
    x = free_run(known_dynamics(Physics(states, truth, ["u"])), start, t, start, u[:, None])
    noisy = x + 0.003 * x.std(axis=0) * np.random.default_rng(4).standard_normal(x.shape)
    return tu.UDE(Physics(states, known, ["u"], values)).fit(noisy, t, u).verdict_


def test_a_flipped_sign_is_named_although_another_equation_lacks_a_large_term() -> None:
    truth = ["9*u - 0.2*(T - W) - 0.1*(T - 5)", "0.05*(T - W) - 0.04*(W - 2)"]
    verdict = heated(["-q*u - 0.2*(T - W) - 0.1*(T - 5)", "0.05*(T - W)"], {"q": 9.0}, truth, ["T", "W"])
    assert verdict.status == "bad" and "the sign of the parameter q = 9 seems to be wrong" in verdict.summary


def test_a_doubled_value_is_named_although_its_equation_lacks_a_series() -> None:
    truth = ["9*u - 0.1*(T - 20) - 0.002*(T - 20)**2 - 0.00004*(T - 20)**3"]
    verdict = heated(["q*u - 0.1*(T - 20)"], {"q": 18.0}, truth, ["T"])
    assert verdict.status == "caution" and "another value of q explains it" in verdict.summary


def test_two_angles_in_degrees_are_named_together() -> None:
    t = np.arange(0.0, 30.0, 0.01)
    rates = ["v", "w", "-9.81*sin(a) - 4*sin(a - b) - 0.1*v", "-9.81*sin(b) + 4*sin(a - b) - 0.1*w"]
    known = ["v", "w", "-9.81*sin(a) - 4*sin(a - b)", "-9.81*sin(b) + 4*sin(a - b)"]
    states = free_run(known_dynamics(Physics(["a", "b", "v", "w"], rates)), np.array([0.9, -0.4, 0, 0]), t, np.ones(4))
    noisy = states + 0.001 * np.random.default_rng(1).standard_normal(states.shape)
    ude = tu.UDE(Physics(["a", "b", "v", "w"], known)).fit(np.degrees(noisy), t)
    assert any("a and b seem to be in degrees" in reason.text for reason in ude.verdict_.reasons)


def driven(truth: str, known: str, **options: Any) -> Verdict:
    """The verdict on a cart of speed v under a force u."""
    t = np.arange(0.0, 60.0, 0.02)
    u = np.random.default_rng(5).uniform(-1.0, 2.0, 61)[t.astype(int)]
    v = free_run(known_dynamics(Physics(["v"], [truth], ["u"])), np.ones(1), t, np.ones(1), u[:, None])
    noisy = v + 0.004 * v.std() * np.random.default_rng(6).standard_normal(v.shape)
    return tu.UDE(Physics(["v"], [known], ["u"]), **options).fit(noisy, t, u).verdict_


@pytest.mark.parametrize(
    ("known", "options", "words"),
    [
        ("4*u - 0.9*v", {}, ""),  # sound: the offset is missing
        ("4*u - 0.6*v", {}, ""),  # friction of the known shape is missing too
        ("4*u - 0.45*v", {}, "2 times as much: a factor of 2"),
        ("2*u - 0.9*v", {}, "2 times as much: a factor of 2"),
        ("4*u + 0.9*v", {"library": None}, "sign"),
        ("-4*u - 0.9*v", {"library": None}, "the sign of the input u seems to be wrong"),
        ("0.4*u - 0.9*v", {"library": None}, "the input u acts 10 times as strongly as you state"),
        ("4*u**3 - 0.9*v", {}, "the exponent of u in 4*u**3 of d(v)/dt seems to be 1, not 3"),
    ],
)
def test_the_known_part_is_doubted_where_it_is_wrong(known: str, options: dict[str, Any], words: str) -> None:
    verdict = driven("4*u - 0.9*v - 0.5", known, **options)
    assert (verdict.status == "good") == (not words)
    assert words.lower() in str(verdict).replace("\n", " ").lower()


@pytest.mark.parametrize("known", ["-6*sin(q)", "-6*cos(q)"])
def test_an_angle_counted_from_another_zero_is_named(known: str) -> None:
    t = np.arange(0.0, 12.0, 0.01)
    truth = known_dynamics(Physics(["q", "w"], ["w", "-6*sin(q) - 0.2*w"]))
    x = free_run(truth, np.array([1.4, 0.0]), t, np.ones(2))
    noisy = x + 0.003 * np.random.default_rng(7).standard_normal(x.shape)
    verdict = tu.UDE(Physics(["q", "w"], ["w", known])).fit(noisy, t).verdict_
    assert ("counted from another zero (-90 degrees)" in verdict.summary) == (known == "-6*cos(q)")


def test_a_learned_parameter_beside_a_term_of_its_shape_is_told_with_the_value_that_explains_it() -> None:
    beyond = OtherValue("m", 4.6, 0.63, (("x", "u"),), bounds=(4.0, 5.8))
    inside = replace(beyond, factor=0.9)
    stuck = {"name": "m", "value": 4.6, "low": 4.6, "high": 4.6, "at": "", "limit": 4.0}
    for value, kind, remedy in ((beyond, "bound", "Widen the bounds"), (inside, "value", "Offer no term of its shape")):
        first = judge(replace(SOUND, other_values=[value], parameters=[stuck])).reasons[0]
        assert (first.severity, first.kind) == ("caution", kind)
        assert f"{value.factor * 4.6:.4g}" in first.text and first.remedy.startswith(remedy)
    found = judge(replace(SOUND, other_values=[beyond], parameters=[stuck])).reasons
    assert not any("not identified" in reason.text for reason in found)  # it is: its bounds exclude it


def test_other_values_finds_the_value_that_bounds_exclude() -> None:
    rng = np.random.default_rng(0)
    t = np.arange(0.0, 12.0, 0.01)
    u = np.sin(2.0 * t) + np.sin(5.3 * t)
    v = np.zeros(len(t))
    for k in range(len(t) - 1):
        v[k + 1] = v[k] + 0.01 * (u[k] / 2.0 - 0.8 * v[k])
    physics = Physics(["v"], ["u/m"], ["u"], {"m": tu.Parameter(3.2, learn=True, min=2.8, max=4.0)})
    ude = tu.UDE(physics, network=None, hold="held").fit((v + 0.002 * rng.normal(size=len(t)))[:, None], t=0.01, u=u)
    told = [reason.text for reason in ude.verdict_.reasons if reason.kind == "bound"]
    assert len(told) == 1 and "outside its bounds (2.8 to 4)" in told[0]
    assert float(re.search(r"but ([\d.]+)", told[0])[1]) == pytest.approx(2.0, rel=0.03)


def test_a_network_that_only_reproduces_its_record_is_doubted() -> None:
    whole = replace(SOUND, network={"x": 0.9}, held_back={"known": 1.0, "": 0.54})
    first = judge(whole).reasons[0]
    assert (first.severity, first.kind) == ("bad", "free run") and "reproduces this record" in first.text
    assert judge(replace(whole, held_back={"": 0.2})).status == "caution"
    assert judge(replace(whole, held_back={"": 0.06})).status == "good"  # six times the error over the record
    assert judge(replace(whole, network={})).status == "good"  # a formula has too few values to reproduce a record
    assert judge(replace(whole, held_out="other.csv")).status == "good"  # the unseen record says more
    rows = [np.array([[0.01], [0.01]])] * 3
    growing = RunErrors(np.array([0.5, 2.0]), *rows, np.array([[0.002], [0.01]]), diverged=0.0, noise=0.002)
    assert judge(replace(whole, runs=growing)).status == "good"  # held-back runs are longer, and errors grow
