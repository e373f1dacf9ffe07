"""Records in wrong units: the known part is thousands of times off, and what is left is far above the noise."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.estimator.ude import UDE
from tinyude.experiments.studies.rigs import make_rig


@pytest.mark.filterwarnings("ignore::tinyude.TinyUDEWarning")
@pytest.mark.parametrize("plant", ["predators", "oscillator"])
def test_fit_ends_with_a_verdict_when_time_is_in_milliseconds(plant: str) -> None:
    rig = make_rig(plant, "milliseconds", 5000)
    verdict = UDE(rig.physics, measured=rig.measured).fit(rig.Y, t=rig.period, u=rig.u).verdict_
    assert verdict.status == "bad"
    assert any(reason.kind == "units" for reason in verdict.reasons)


@pytest.mark.parametrize(("change", "words"), [((180.0 / np.pi, 1.0), "degrees"), ((-1.0, 1.0), "opposite signs")])
def test_a_noisy_angle_that_contradicts_its_rate_is_named(change: tuple[float, float], words: str) -> None:
    """Far noisier than its rate, it was replaced by the rate's integral: the wrong unit was gone, and the fit bad."""
    _, samples = tu.systems.pendulum("A").stream(noise=0.0, seconds=20.0, seed=1)
    samples = samples[::5] + np.array([0.03, 0.005]) * np.random.default_rng(0).normal(size=samples[::5].shape)
    physics = tu.Physics(["theta", "omega"], ["omega", "-9.81*sin(theta)"])
    with pytest.warns(tu.TinyUDEWarning):
        ude = tu.UDE(physics, refine=False).fit(samples * np.array(change), t=0.005)
    assert ude.verdict_.status == "bad"
    assert words in str(ude.verdict_)
