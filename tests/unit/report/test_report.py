import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from tinyude.data.log import Log
from tinyude.errors import TinyUDEError
from tinyude.estimator.ude import UDE
from tinyude.model.equations import CONFIDENCE
from tinyude.model.start_state import state_at
from tinyude.model.validation import free_run, longest_stretch, run_scores, validate
from tinyude.physics import Physics
from tinyude.report import figures, panels
from tinyude.report.collect import collect
from tinyude.report.displays import record_run
from tinyude.report.page import render
from tinyude.report.panels import analysis_cards
from tinyude.report.sentences import INTERVAL, data_sentence, found_sentences, joined, percent, significant
from tinyude.report.slices import slice_of
from tinyude.systems import System, pendulum

DIAGNOSTICS = {
    "terms": [{"state": "v", "term": "v", "coefficient": -0.40006, "error": 3e-4, "low": -0.40066, "high": -0.39948}],
    "network": {"v": 0.0},
    "noise_relative": [0.01, 0.02],
    "window": {"samples": 163, "half_width_seconds": 0.081},
    "windows": 1200,
    "rejected": {"gap": 0, "misfit": 15, "jump": 3},
    "changes": [],
}


@pytest.fixture(scope="module")
def plant() -> System:
    return replace(pendulum("A"), impulses=None, rate=100.0)


@pytest.fixture(scope="module")
def fitted(plant: System) -> UDE:
    t, Y = plant.stream(noise=0.005, seconds=8.0)
    return UDE(plant.physics, hidden=(), engine="reference").fit(Y, t=t)


def fitted_to(physics: Physics, x0: list[float], field, u=None, **settings) -> UDE:
    """A fit to a short simulated record at 100 Hz, by Euler steps fine enough to look at."""
    x = [np.array(x0)]
    for row in range(599):
        x.append(x[-1] + 0.01 * field(x[-1], None if u is None else u[row]))
    record = np.array(x)[:, [physics.states.index(name) for name in settings.get("measured", physics.states)]]
    noisy = record + 1e-4 * np.random.default_rng(0).standard_normal(record.shape)
    return UDE(physics, hidden=(), engine="reference", library=["1", *physics.states], **settings).fit(
        noisy, t=0.01, u=u
    )


def test_sentences_tell_the_missing_term_with_its_interval() -> None:
    told = found_sentences(DIAGNOSTICS, ["x", "v"])
    found = "-0.4001 v (90 % interval -0.4007 to -0.3995)"
    assert told[0] == f"The known physics lacks {found} in d(v)/dt."
    assert "18 of 1,200 windows were rejected (misfit 15 and jump 3)" in data_sentence(DIAGNOSTICS)


def test_sentences_write_the_numbers_inside_a_term_short() -> None:
    term = {**DIAGNOSTICS["terms"][0], "term": "tanh(40.7339630195775*v)"}
    assert "-0.4001 tanh(40.73*v) (90 %" in found_sentences({**DIAGNOSTICS, "terms": [term]}, ["x", "v"])[0]


def test_page_tells_one_share_of_accepted_windows(fitted: UDE) -> None:
    found = fitted.diagnostics_
    rejected = sum(found["rejected"].values())
    assert found["accepted"] + rejected == found["windows"]
    share = found["accepted"] / found["windows"]
    assert found["verdict"]["figures"]["windows_passed"] == share
    assert collect(fitted)["page"]["cards"][-1]["value"] == percent(share)


def test_page_draws_the_interval_and_share_of_every_term(fitted: UDE) -> None:
    (row,) = collect(fitted)["page"]["terms"]
    assert row["term"] == "omega" and 0.0 < row["share"] < 1.0
    left, right = 4.0, 86.0  # of the picture: the least of interval and 0, and the most
    place = right + (right - left) * row["learned"] / -row["low"]  # the term is negative: 0 is at the right
    assert f'<circle cx="{place:.1f}"' in row["mark"] and f'class="zero" x1="{right:.1f}"' in row["mark"]


def test_slice_points_lie_on_the_curve(fitted: UDE) -> None:
    """Partial residuals compare data and model as the same window sees them."""
    part = slice_of(fitted, "omega", "omega")
    curve = np.interp(part["at"], part["axis"], part["learned"])
    assert np.std(part["data"] - curve) < 0.2 * np.std(curve)


@pytest.mark.parametrize(
    ("count", "columns"), [(1, [6]), (2, [3, 3]), (3, [2, 2, 2]), (4, [3] * 4), (5, [2, 2, 2, 3, 3])]
)
def test_analysis_cards_leave_no_hole(monkeypatch: pytest.MonkeyPatch, count: int, columns: list[int]) -> None:
    cards = [{"draw": lambda size: f"{size[0]:g}"} for _ in range(count)]
    monkeypatch.setattr("tinyude.report.panels.correlation_panels", lambda ude: cards)
    assert [card["columns"] for card in analysis_cards(None, None)] == columns


def test_interval_is_told_at_the_level_it_is_made_for() -> None:
    assert f"{100.0 * CONFIDENCE:g} % interval" == INTERVAL


def test_sentences_admit_that_nothing_was_found() -> None:
    assert "No missing term was found" in found_sentences({**DIAGNOSTICS, "terms": []}, ["x", "v"])[0]


def test_page_shows_what_stays_unexplained_over_time_where_no_term_explains_it() -> None:
    t = np.arange(0.0, 12.0, 0.01)
    push = np.interp(t, np.arange(0.0, 13.0), np.random.default_rng(2).normal(size=13))  # forgotten by the physics
    x = np.zeros(len(t))
    for k in range(len(t) - 1):
        x[k + 1] = x[k] + 0.01 * (3.0 * push[k] - 0.8 * x[k])
    noisy = (x + 0.002 * np.random.default_rng(3).normal(size=len(x)))[:, None]
    ude = UDE(Physics(["x"], ["-0.8*x"]), library=None, network=None).fit(noisy, t=0.01)
    data = collect(ude)
    assert data["found"] == ["Something is missing, but no term explains it."]
    assert [part["learned"] for part in data["page"]["slices"]] == [False]
    assert "<h3>What stays unexplained</h3>" in render(data)


def test_sentences_mention_the_network_and_changes() -> None:
    told = found_sentences({**DIAGNOSTICS, "network": {"v": 0.25}, "changes": [30.06]}, ["x", "v"])
    assert "a network accounts for 25 % of it" in told[0]
    assert "changed at 30.06 s" in told[1]


def test_significant_writes_to_the_digit_of_the_interval() -> None:
    assert significant([12.3456, 12.1, 12.6]) == ["12.35", "12.10", "12.60"]
    assert significant([1234.5, 1000.0, 1500.0]) == ["1234.5", "1000", "1500"]
    assert significant([0.5, 0.5, 0.5]) == ["0.5", "0.5", "0.5"]
    assert significant([-6.42e-6, -9.57e-6, -3.27e-6]) == ["-6.4e-06", "-9.6e-06", "-3.3e-06"]  # not -0.0000064
    assert significant([-728710.0, -731200.0, -726210.0]) == ["-7.287e+05", "-7.312e+05", "-7.262e+05"]


def test_joined_and_percent_read_well() -> None:
    assert [joined(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert [percent(share) for share in (0.0, 0.0123, 0.5, 1.0)] == ["0 %", "1.2 %", "50 %", "100 %"]


@pytest.mark.parametrize(
    ("name", "rate", "expected"),
    [
        ("theta", False, r"$\theta$ [rad]"),
        ("theta", True, r"d$\theta$/dt [rad/s]"),
        ("omega2", True, r"d$\omega_{2}$/dt [rad/s²]"),
        ("x", False, "$x$"),
        ("cart_position", False, "cart_position"),
    ],
)
def test_label_typesets_names_and_units(name: str, rate: bool, expected: str) -> None:
    assert figures.label(name, {"theta": "rad", "omega2": "rad/s"}, rate) == expected


def test_collect_finds_the_state_that_a_residual_depends_on(fitted: UDE, plant: System) -> None:
    parts = collect(fitted, truth=plant.truth)["residuals"]
    assert [(part["state"], part["against"]) for part in parts] == [("omega", "omega")]
    np.testing.assert_allclose(parts[0]["truth"], -0.4 * parts[0]["axis"], atol=1e-9)
    np.testing.assert_allclose(parts[0]["learned"], parts[0]["truth"], atol=0.05)
    np.testing.assert_allclose(parts[0]["data"], -0.4 * parts[0]["at"], atol=0.3)


def test_render_is_one_self_contained_page(fitted: UDE, plant: System) -> None:
    times, states = plant.clean(seconds=3.0)
    run = free_run(fitted, times, states, name="truth", x0=states[0])
    page = render(collect(fitted, title="Rig <7>", headline=["It worked."], truth=plant.truth, run=run))
    assert page.count("<img") == 2  # a fit without a network has no loss history
    assert not re.search(r'(src|href)="(?!data:)', page)
    assert "Rig &lt;7&gt;" in page
    assert "It worked." in page
    assert len(page) < 1_500_000
    assert page.count('<p class="equation">') == 2 and "<math" in page
    summary = str(fitted.verdict_.summary).replace("'", "&#39;")
    assert summary.replace(" %", "\u00a0%") in page  # a number and its sign stay on one line


def test_render_is_repeatable(fitted: UDE) -> None:
    assert render(collect(fitted)) == render(collect(fitted))


BARE = {"title": "t", "headline": [], "equations": ["d(x)/dt = x"], "terms": [], "diagnostics": [], "memory": {}}


def test_render_shows_every_reason_of_the_verdict() -> None:
    reason = {"severity": "caution", "text": "theta is <quantised>.", "remedy": "A finer sensor.", "kind": "quantised"}
    figures = {"judged_on": "b.csv"}
    verdict = {"status": "caution", "summary": "Look.", "reasons": [reason], "figures": figures}
    page = render({**BARE, "page": {"verdict": verdict, "next": "A finer sensor."}})
    assert "Usable within limits" in page and "theta is &lt;quantised&gt;." in page and "What to do next" in page


def test_render_leaves_out_what_there_is_no_data_for() -> None:
    page = render(BARE)
    assert "<img" not in page
    assert "Loss history" not in page


def test_render_serves_one_state_with_an_input() -> None:
    physics = Physics(["T"], ["-T + q"], inputs=["q"])
    u = np.sign(np.sin(np.arange(600) * 0.03))[:, None]
    ude = fitted_to(physics, [1.0], lambda x, q: -x + q - 0.5 * x, u)
    data = collect(ude)
    assert data["portrait"]["names"] == ["T"]
    assert render(data).count("<img") == 2


def test_render_serves_hidden_rates() -> None:
    physics = Physics(["x", "v"], ["v", "-4*x"])
    ude = fitted_to(physics, [1.0, 0.0], lambda x, _: np.array([x[1], -4.0 * x[0] - 0.5 * x[1]]), measured=["x"])
    assert render(collect(ude)).count("<img") == 2


def test_figures_draw_twelve_states_and_a_diverging_run() -> None:
    states = [f"x{i}" for i in range(12)]
    t = np.linspace(0.0, 1.0, 50)
    wide = np.tile(np.sin(6.0 * t)[:, None], 12)
    part = {
        "states": states,
        "channels": states,
        "t": t,
        "Y": wide,
        "window_t": t,
        "x": wide,
        "dx": wide,
        "model": wide,
    }
    assert len(figures.signals(part).axes) == 2 * figures.MOST_PANELS
    low, high = figures._run_view(wide[:, 0], 1e9 * wide[:, 0] ** 3)
    assert high - low < 10.0


def test_history_draws_a_loss_that_is_zero() -> None:
    for loss, scale, drawn in (([0.0, 0.0, 0.0], "linear", []), ([2.0, 0.0, 1.0], "log", [0.0, 2.0])):
        (axes,) = figures.history({"update": np.arange(3.0), "loss": loss}).axes
        assert axes.get_yscale() == scale and axes.lines[0].get_xdata().tolist() == drawn


def test_run_scores_measure_the_error_in_standard_deviations() -> None:
    t = np.linspace(0.0, 10.0, 1001)
    reference = np.sin(t)[:, None]
    drifting = reference + 0.1 * t[:, None]
    scores = run_scores(t, drifting, reference)
    spread = np.std(reference)
    assert scores["valid_seconds"] == pytest.approx(4.0 * spread, abs=0.02)
    assert scores["total_error"] == pytest.approx(0.1 * np.sqrt(np.mean(t**2)) / spread)


def test_state_at_recovers_a_hidden_rate() -> None:
    physics = Physics(["x", "v"], ["v", "-4*x"])
    ude = fitted_to(physics, [1.0, 0.0], lambda x, _: np.array([x[1], -4.0 * x[0] - 0.5 * x[1]]), measured=["x"])
    t = 5.0 + np.arange(300) * 0.01
    log = Log(t, np.cos(2.0 * t)[:, None], None)
    np.testing.assert_allclose(state_at(ude, log, 6.0), [np.cos(12.0), -2.0 * np.sin(12.0)], atol=0.02)
    with pytest.raises(TinyUDEError, match="outside the log"):
        state_at(ude, log, 4.0)


def test_validate_runs_freely_over_a_log_it_never_saw(fitted: UDE, plant: System) -> None:
    t, Y = replace(plant, start=(-0.8, 1.0)).stream(noise=0.005, seed=3, seconds=5.0)
    run = validate(fitted, Log(t, Y, None))
    assert run["total_error"] < 0.05
    assert run["valid_seconds"] == pytest.approx(run["t"][-1])


def test_longest_stretch_ends_at_holes_and_steps_back() -> None:
    t = np.concatenate([np.arange(10.0), 30.0 + np.arange(25.0), np.arange(5.0)])
    log = Log(t, t[:, None], None)
    assert longest_stretch([log]).t.tolist() == (30.0 + np.arange(25.0)).tolist()


def test_longest_stretch_is_the_same_in_pieces() -> None:
    t = np.concatenate([np.arange(10.0), 30.0 + np.arange(25.0), np.arange(5.0)])
    pieces = [Log(part, part[:, None], part[:, None]) for part in np.split(t, range(3, len(t), 3))]
    found = longest_stretch(pieces)
    assert found.t.tolist() == found.u[:, 0].tolist() == (30.0 + np.arange(25.0)).tolist()


def test_longest_stretch_reads_no_further_than_it_needs() -> None:
    endless = (Log(10.0 * k + np.arange(10.0), np.zeros((10, 1)), None) for k in itertools.count())
    assert longest_stretch(endless, most=25).t.tolist() == np.arange(25.0).tolist()


def test_numbers_are_typeset_with_a_power_of_ten_and_signs_with_room() -> None:
    from tinyude.physics.typeset import number, summands
    from tinyude.report.mathml import learned_summands

    assert number(-6.418e-6).replace("&#8722;", "-") == (
        "<mrow><mn>-6.418</mn><mo>&#215;</mo><msup><mn>10</mn><mn>-6</mn></msup></mrow>"
    )
    assert number(12.5) == "<mn>12.5</mn>"
    x = sp.Symbol("x")
    first, second = summands(-3 * x - 1e-7 * x**2)
    assert "infix" not in first and 'form="infix"' in second and "e-07" not in second
    assert 'form="infix"' in learned_summands([{"learned": -2.0, "term": "x"}])[0]


def test_free_run_panel_of_an_unstable_plant_shows_the_judged_horizon(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    x = 2.0 * np.exp(-0.6 * 0.02 * np.arange(400)) + 1e-3 * rng.normal(size=400)
    ude = UDE(Physics(["x"], ["0"]), network=None).fit(x[:, None], t=0.02)

    def diverges(ude: UDE, most: float = np.inf) -> dict[str, object]:
        if most == np.inf:
            raise TinyUDEError("The simulation diverged.")
        return record_run(ude, most=most)

    monkeypatch.setattr(panels, "record_run", diverges)
    shown = panels.free_run_panel(ude, None, {})
    judged = ude.verdict_.figures["free_run"]["seconds"]
    assert shown is not None and 0.8 * judged < shown["t"][-1] < 1.01 * judged
    assert shown["where"].endswith("s of the fitted record")
