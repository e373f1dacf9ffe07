"""A levitated magnet under its controller: free runs under recorded currents diverge, also of the right model."""

import numpy as np
import pytest

import tinyude as tu

PERIOD, HEIGHT = 1e-3, 0.012
KNOWN = "9.81 - 0.001*(i/z)**2"


def held_by_a_controller(samples: int = 8000) -> tuple[np.ndarray, np.ndarray]:
    """Gap and current; eddy currents slow the magnet by 6 v, and each sample of the gap has 2 um of noise."""
    rng = np.random.default_rng(13)
    current = HEIGHT * np.sqrt(9.81 / 0.001)
    wanted = HEIGHT + 0.0015 * np.repeat(rng.uniform(-1.0, 1.0, samples // 500), 500)
    gaps, currents = np.zeros((samples, 1)), np.zeros((samples, 1))
    x, before, speed = np.array([HEIGHT, 0.0]), HEIGHT, 0.0
    for n in range(samples):
        gaps[n] = x[0] + 2e-6 * rng.standard_normal()
        speed, before = 0.9 * speed + 0.1 * (gaps[n, 0] - before) / PERIOD, gaps[n, 0]
        currents[n] = np.clip(current * (1.0 + 250.0 * (gaps[n, 0] - wanted[n]) + 5.0 * speed), 0.0, 4.0 * current)
        for _ in range(5):
            middle = x + 0.1 * PERIOD * rate(x, currents[n, 0])
            x = x + 0.2 * PERIOD * rate(middle, currents[n, 0])
    return gaps, currents


def rate(x: np.ndarray, current: float) -> np.ndarray:
    return np.array([x[1], 9.81 - 0.001 * (current / x[0]) ** 2 - 6.0 * x[1]])


def test_fit_of_a_levitated_magnet_is_bad_only_where_it_is_wrong() -> None:
    gaps, currents = held_by_a_controller()
    physics = tu.Physics(["z", "v"], ["v", KNOWN], inputs=["i"])
    with pytest.warns(tu.TinyUDEWarning, match="i follows the states"):
        ude = tu.UDE(physics, measured=["z"]).fit(gaps, t=PERIOD, u=currents)
    assert [row["term"] for row in ude.terms_] == ["v"]
    assert ude.terms_[0]["learned"] == pytest.approx(-6.0, abs=0.05)
    assert ude.verdict_.status == "caution"
    assert any(reason.kind == "unstable" for reason in ude.verdict_.reasons)
    weak = tu.Physics(["z", "v"], ["v", KNOWN.replace("0.001", "0.0008")], inputs=["i"])
    with pytest.warns(tu.TinyUDEWarning):
        wrong = tu.UDE(weak, library=None, network=None, measured=["z"]).fit(gaps, t=PERIOD, u=currents)
    assert wrong.verdict_.status == "bad"
