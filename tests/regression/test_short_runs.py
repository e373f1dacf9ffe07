"""Many short experiments, and one short record: as few as 12 samples a run."""

import warnings

import numpy as np
import pytest

import tinyude as tu

PERIOD = 0.1


def runs(count: int, samples: int, seed: int = 0) -> list[np.ndarray]:
    """Van der Pol oscillators from starts of their own, with 1 % noise."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.5, 2.5, (count, 2))
    rows, fine = [x], 50
    for _ in range(samples - 1):
        for _ in range(fine):
            half = x + 0.5 * PERIOD / fine * field(x)
            x = x + PERIOD / fine * field(half)
        rows.append(x)
    clean = np.stack(rows, axis=1)
    return list(clean + 0.01 * clean.std(axis=(0, 1)) * rng.standard_normal(clean.shape))


def field(x: np.ndarray) -> np.ndarray:
    return np.stack([x[:, 1], (1.0 - x[:, 0] ** 2) * x[:, 1] - x[:, 0]], axis=-1)


def physics() -> tu.Physics:
    return tu.Physics(["x", "v"], ["v", "v - x"])


def test_fit_learns_from_many_short_runs() -> None:
    ude = tu.UDE(physics()).fit(runs(25, 20), t=PERIOD)
    assert [row["term"] for row in ude.terms_] == ["v*x**2"]
    assert ude.terms_[0]["learned"] == pytest.approx(-1.0, abs=0.01)
    assert ude.verdict_.status == "good"


def test_fit_learns_from_eight_runs_of_fifteen_samples() -> None:
    """And takes the smallest change between samples of a coarse rate for no step of the sensor."""
    ude = tu.UDE(physics()).fit(runs(8, 15), t=PERIOD)
    assert [row["term"] for row in ude.terms_] == ["v*x**2"]
    assert ude.terms_[0]["learned"] == pytest.approx(-1.0, abs=0.02)
    assert not any(reason.kind == "quantised" for reason in ude.verdict_.reasons)


def test_fit_of_one_short_record_learns_parameters_with_a_caution() -> None:
    known = tu.Physics(["x", "v"], ["v", "m*(1 - x**2)*v - x"], parameters={"m": tu.Parameter(0.5, learn=True)})
    with pytest.warns(tu.TinyUDEWarning):
        ude = tu.UDE(known).fit(runs(1, 24, seed=3)[0], t=PERIOD)
    _, value, low, high = ude.parameters_[0]
    assert low < value < high and value == pytest.approx(1.0, abs=0.1)
    assert ude.verdict_.status == "caution"


@pytest.mark.parametrize(("seconds", "noise", "status"), [(6.0, 0.01, "good"), (1.5, 0.05, "caution")])
def test_one_short_transient_is_judged_by_what_its_first_part_predicts(
    seconds: float, noise: float, status: str
) -> None:
    t = np.linspace(0.0, seconds, 400 if seconds > 2.0 else 60)
    n = 2.0 / (1.0 + (2.0 / 0.05 - 1.0) * np.exp(-0.9 * t))  # logistic growth; the limit is not known
    Y = (n + noise * n.std() * np.random.default_rng(1).standard_normal(len(t)))[:, None]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ude = tu.UDE(tu.Physics(["n"], ["0.9*n"])).fit(Y, t=t)
    assert ude.verdict_.status == status
    told = [str(reason) for reason in ude.verdict_.reasons if reason.kind == "short"]
    assert "A fit to its first two thirds predicts the rest to" in told[0]


def test_fit_rejects_fewer_samples_with_a_remedy() -> None:
    with pytest.raises(tu.TinyUDEError, match=r"Y has 11 samples; at least 12 are needed. Record for longer"):
        tu.UDE(physics()).fit(runs(1, 11)[0], t=PERIOD)


def test_equations_of_unknown_states_begin_with_what_was_learned() -> None:
    ude = tu.UDE(tu.Physics(["x", "v"], ["0", "0"]), refine=False).fit(runs(25, 40), t=PERIOD)
    assert ude.equations()[0].startswith(("d(x)/dt = 0.9", "d(x)/dt = 1"))
