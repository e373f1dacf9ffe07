"""What inputs do between samples, told by the likelihood of the innovations."""

import numpy as np
import pytest

import tinyude as tu

PERIOD, RATE, FINE = 0.1, 2.0, 200


def driven(between: str, shift: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """A first-order lag, 60 s under a random input that is held or goes straight from sample to sample."""
    rng = np.random.default_rng(4)
    u = rng.standard_normal(601)
    x, states = 0.0, [0.0]
    for k in range(600):
        held, after = u[max(k - shift, 0)], u[max(k + 1 - shift, 0)]
        for step in range(FINE):
            now = held if between == "held" else held + (after - held) * (step + 0.5) / FINE
            x += (now - RATE * x) * PERIOD / FINE
        states.append(x)
    return np.array(states) + 0.002 * rng.standard_normal(601), u


@pytest.mark.parametrize(("between", "shift"), [("held", 0), ("linear", 0), ("held", 1), ("linear", 1)])
def test_likeliest_hold_is_the_one_that_drove_the_plant(between: str, shift: int) -> None:
    samples, u = driven(between, shift)
    physics = tu.Physics(["x"], ["u - a*x"], inputs=["u"], parameters={"a": tu.Parameter(1.5, learn=True)})
    ude = tu.UDE(physics, hidden=(), library=[]).fit(samples, t=PERIOD, u=u)
    assert ude.diagnostics_["holds"]["u"] == (between, -shift)  # logged before it acts


@pytest.mark.parametrize(("between", "shift"), [("held", 0), ("linear", 0), ("held", 1), ("linear", 1)])
def test_windows_find_the_hold_before_they_choose_terms(between: str, shift: int) -> None:
    """Under a wrong hold the input itself leaves a rate that terms or a network would explain."""
    samples, u = driven(between, shift)
    physics = tu.Physics(["x"], ["u"], inputs=["u"])
    ude = tu.UDE(physics, refine=False).fit(samples, t=PERIOD, u=u)
    assert ude.diagnostics_["holds"]["u"] == (between, -shift)  # logged before it acts
    [(term, coefficient)] = [(str(row["term"]), row["learned"]) for row in ude.terms_]
    assert term == "x" and coefficient == pytest.approx(-RATE, rel=0.02)


def test_windows_take_the_hold_that_they_are_told() -> None:
    samples, u = driven("linear")
    physics = tu.Physics(["x"], ["u - a*x"], inputs=["u"], parameters={"a": tu.Parameter(1.5, learn=True)})
    fits = {hold: tu.UDE(physics, library=[], hidden=(), refine=False, hold=hold) for hold in ("held", "linear")}
    errors = {hold: abs(ude.fit(samples, t=PERIOD, u=u).parameters_[0][1] - RATE) for hold, ude in fits.items()}
    assert errors["linear"] < 0.5 * errors["held"]
