"""Records in wrong units: the known part is thousands of times off, and what is left is far above the noise."""

import pytest

from tinyude.estimator.ude import UDE
from tinyude.experiments.studies.rigs import make_rig


@pytest.mark.filterwarnings("ignore::tinyude.TinyUDEWarning")
@pytest.mark.parametrize("plant", ["predators", "oscillator"])
def test_fit_ends_with_a_verdict_when_time_is_in_milliseconds(plant: str) -> None:
    rig = make_rig(plant, "milliseconds", 5000)
    verdict = UDE(rig.physics, measured=rig.measured).fit(rig.Y, t=rig.period, u=rig.u).verdict_
    assert verdict.status == "bad"
    assert any(reason.kind == "units" for reason in verdict.reasons)
