"""An arm whose joint has a stiffening spring and friction that the physics lacks; only its angle is measured."""

import numpy as np
import pytest

import tinyude as tu

PERIOD, ROWS = 0.005, 6000
STIFF, VISCOUS, DRY, INERTIA, WEIGHT = 0.6, 0.25, 0.3, 0.2, 1.6


@pytest.fixture(scope="module")
def record() -> tuple[np.ndarray, np.ndarray]:
    """Angle and torque."""
    t = PERIOD * np.arange(ROWS)
    torque = 2.0 * np.sin(0.9 * t) + np.sign(np.sin(2.1 * t)) + 0.8 * np.sin(5.0 * t)
    angle, rate, samples = 0.3, 0.0, []
    for u in torque:
        samples.append(angle)
        for _ in range(10):
            friction = VISCOUS * rate + DRY * np.tanh(20.0 * rate) + STIFF * angle**3
            rate += (u - WEIGHT * np.sin(angle) - friction) / INERTIA * PERIOD / 10
            angle += rate * PERIOD / 10
    noise = 0.003 * np.random.default_rng(3).standard_normal(ROWS)
    return (np.array(samples) + noise)[:, None], torque


def arm() -> tu.Physics:
    return tu.Physics(["q", "w"], ["w", "(tau - m*sin(q))/J"], ["tau"], {"m": WEIGHT, "J": INERTIA})


def test_the_cube_of_an_angle_is_found(record: tuple[np.ndarray, np.ndarray]) -> None:
    ude = tu.UDE(arm(), measured=["q"]).fit(record[0], t=PERIOD, u=record[1])
    spring = next(row for row in ude.terms_ if row["term"] == "q**3")
    assert spring["learned"] == pytest.approx(-STIFF / INERTIA, rel=0.01)
    assert len(ude.terms_) <= 4 and ude.verdict_.status == "good"


def test_a_coefficient_that_is_not_determined_is_no_wrong_sign(record: tuple[np.ndarray, np.ndarray]) -> None:
    """These shapes together make up the cube; the net value of sin(q) then says nothing."""
    library = ["w", "tanh(20*w)", "q", "sin(q)", "sin(2*q)", "sin(3*q)"]
    ude = tu.UDE(arm(), measured=["q"], library=library, network=None).fit(record[0], t=PERIOD, u=record[1])
    assert any(row["collinear"] and row["net"] * row["yours"] < 0.0 for row in ude.terms_)
    assert not any("check the sign" in reason.text for reason in ude.verdict_.reasons)
