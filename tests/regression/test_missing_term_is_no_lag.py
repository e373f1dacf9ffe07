"""dy/dt = x + 0.2 y, told as dy/dt = x: the missing term was reported as a lag of y by 150 ms."""

import tinyude as tu
from tinyude.experiments.zoo import plant_named


def test_lags_are_not_told_of_a_state_whose_equation_lacks_a_term() -> None:
    plant = plant_named("Rossler, spiral")
    samples, _ = plant.record(0.01)
    ude = tu.UDE(plant.physics, refine=False).fit(samples, t=plant.period)
    assert not [reason for reason in ude.verdict_.reasons if "lags" in str(reason)]
    assert ude.verdict_.status == "good"
