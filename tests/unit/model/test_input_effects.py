"""Effects of inputs in the fitted model against those in the known physics."""

import numpy as np

import tinyude as tu


def drag_in_wind(noise: float = 0.01) -> tuple[tu.Physics, float, np.ndarray, np.ndarray]:
    """A cart in wind w: known are its drive F and a little linear drag, missing is the quadratic drag."""
    period, rng = 0.1, np.random.default_rng(7)
    times = period * np.arange(2500)
    drive = np.repeat(rng.uniform(-0.7, 3.0, 50), 50)
    wind = 8.0 * np.sin(0.05 * times) + 4.0 * np.sin(0.13 * times + 1.0)
    speed = np.empty(len(times))
    speed[0] = 3.0
    for k in range(len(times) - 1):
        now = speed[k]
        for _ in range(100):  # steps of 1 ms
            now += period / 100 * (drive[k] - 0.01 * (now - wind[k]) - 0.004 * (now - wind[k]) * abs(now - wind[k]))
        speed[k + 1] = now
    samples = speed + noise * speed.std() * rng.standard_normal(len(times))
    physics = tu.Physics(["v"], ["F - r*(v - w)"], inputs=["F", "w"], parameters={"r": 0.01})
    return physics, period, samples[:, None], np.stack([drive, wind], axis=1)


def test_drag_in_wind_is_no_wrong_unit_of_the_wind() -> None:
    physics, period, samples, inputs = drag_in_wind()
    found = tu.UDE(physics, refine=False).fit(samples, t=period, u=inputs)
    assert found.terms_ and all("v - w" in row["term"] for row in found.terms_)
    assert found.verdict_.status == "good", found.verdict_
