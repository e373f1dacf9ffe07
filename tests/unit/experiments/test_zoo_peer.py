import pytest

pytest.importorskip("pysindy", reason="pysindy is not installed")

from tinyude.experiments.studies.zoo import plant_named
from tinyude.experiments.studies.zoo_peer import TunedWeakSindy


def test_tuned_weak_sindy_finds_a_polynomial() -> None:
    plant = plant_named("Lotka-Volterra")
    samples, _ = plant.record(0.01)
    assert plant.error(TunedWeakSindy(plant.physics).fit(samples, None, plant.period).residual) < 0.01
