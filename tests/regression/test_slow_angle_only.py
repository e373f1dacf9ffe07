"""An angle at 20 Hz: windows found ten terms that cancel, and the right one was fitted with the noise of none."""

import pytest

import tinyude as tu


def test_fit_at_20_hz_by_the_angle_finds_the_damping() -> None:
    system = tu.systems.pendulum("A")
    times, samples = system.stream(noise=0.01, seed=7304)
    ude = tu.UDE(system.physics, measured=["theta"]).fit(samples[::50, :1], t=times[::50])
    assert [row["term"] for row in ude.terms_] == ["omega"]
    assert ude.terms_[0]["learned"] == pytest.approx(-0.4, rel=0.005)
    assert system.field_error(ude.predict) < 6e-4
