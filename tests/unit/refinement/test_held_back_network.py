"""A network is judged on blocks that it was not trained on."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.experiments.studies import choice
from tinyude.experiments.studies.choice_plants import TUNING
from tinyude.model.parts import MLP
from tinyude.refinement.hybrid import fixed_field, hybrid, without_parts

Fitted = tuple[tu.UDE, list[tuple[choice.Array, ...]]]


@pytest.fixture(scope="module")
def heater() -> Fitted:
    """A heater whose slow sensor no curve of temperature and power explains, fitted to eighteen levels of power."""
    plant, rng = TUNING["heater with a slow sensor"], np.random.default_rng(2)
    t, Y, u, _ = zip(*(choice.record(plant, motion, rng) for motion in plant.training), strict=True)
    held_out = [choice.record(plant, motion, rng) for motion in plant.held_out]
    ude = tu.UDE(choice.stated_physics(plant), measured=plant.measured)
    return ude.fit(list(Y), t=list(t), u=list(u)), held_out


def test_network_that_remembers_the_record_is_not_kept(heater: Fitted) -> None:
    ude, held_out = heater
    network = next(c for c in ude.candidates_ if c.name == "network")
    assert network.model.kernel is not None and not network.best
    assert network.error > 0.5  # it runs away in blocks that it has not seen
    assert choice.error(ude.simulate, TUNING["heater with a slow sensor"], held_out) < 0.3


def test_unlearned_weights_lie_around_zero_and_parameters_stay(heater: Fitted) -> None:
    ude, _ = heater
    unknowns = hybrid(next(c for c in ude.candidates_ if c.name == "network").model).unknowns
    before = unknowns.unlearned()
    weights = np.array([name.startswith("part") for name in unknowns.names])
    assert weights.any() and not before.prior_mean[weights].any()
    np.testing.assert_array_equal(before.prior_mean[~weights], unknowns.prior_mean[~weights])
    assert np.all(np.linalg.eigvalsh(before.prior_precision) >= 0.0)


def test_last_layer_of_a_perceptron_is_found_anew_without_a_block() -> None:
    """Its weights have seen every block: as they are they would only be judged on what they remember."""
    t = 0.02 * np.arange(1500)
    Y = np.column_stack([np.sin(3.0 * t), 3.0 * np.cos(3.0 * t)])
    physics = tu.Physics(["x", "v"], ["v", "-8.0*x"])
    model = tu.UDE(physics, (6, 5), library=None, skip=False, updates=300, refine=False).fit(Y, t=t).model_
    (network,) = model.parts
    assert isinstance(network, MLP) and network.active.any()
    assert len(hybrid(model).unknowns) == 0
    own = hybrid(model, last_layer=True)
    assert len(own.unknowns) == len(network.on) * (5 + 1)
    np.testing.assert_array_equal(own.unknowns.values, network.weights[-len(own.unknowns) :])
    assert not own.unknowns.unlearned().prior_mean.any()
    states = Y[:50]
    rates = own.field.evaluate(states, np.zeros((50, 0)), own.unknowns.values)
    np.testing.assert_allclose(rates, model.field(states, None), rtol=1e-9, atol=1e-9)
    nothing = own.field.evaluate(states, np.zeros((50, 0)), np.zeros(len(own.unknowns)))
    bare = fixed_field(without_parts(model)).evaluate(states, np.zeros((50, 0)), np.zeros(0))
    np.testing.assert_allclose(nothing, bare)
