"""Inputs that follow the measured states, and inputs that do not."""

import numpy as np
import pytest
import sympy as sp

import tinyude as tu
from tinyude.experiments.studies.choice import record, stated_physics
from tinyude.experiments.studies.choice_plants import TUNING, Plant
from tinyude.physics.holds import Hold
from tinyude.refinement.records import Record
from tinyude.training.batch.feedback import followed_states

HELD = [Hold()]


def one(plant: Plant, seed: int) -> Record:
    t, samples, u, _ = record(plant, plant.training[0], np.random.default_rng(seed))
    return Record(t, samples, u)


@pytest.mark.parametrize("name", ["swing-up by a controller", "arm under a controller"])
def test_an_input_of_a_controller_follows_the_states(name: str) -> None:
    assert all(followed_states([one(TUNING[name], seed)], ["u"], HELD) == ["u"] for seed in (11, 12))


@pytest.mark.parametrize("name", ["motor pendulum", "cart with hysteresis", "motor without its coil"])
def test_an_input_that_was_played_back_does_not(name: str) -> None:
    assert all(followed_states([one(TUNING[name], seed)], ["u"], HELD) == [] for seed in (11, 12))


def test_an_input_that_acts_before_its_row_tells_nothing() -> None:
    found = one(TUNING["arm under a controller"], 11)
    for hold in (Hold("linear"), Hold("cubic"), Hold("held", 1)):
        assert followed_states([found], ["u"], [hold]) == []


def test_few_rows_no_input_and_a_constant_one_tell_nothing() -> None:
    found = one(TUNING["arm under a controller"], 11)
    few = Record(found.times[:60], found.samples[:60], found.inputs[:60])
    still = Record(found.times, found.samples, np.ones_like(found.inputs))
    none = Record(found.times, found.samples, np.zeros((len(found.times), 0)))
    assert (
        followed_states([few], ["u"], HELD)
        == followed_states([still], ["u"], HELD)
        == followed_states([none], [], [])
        == []
    )


def test_the_verdict_says_that_an_input_follows_the_states() -> None:
    plant = TUNING["arm under a controller"]
    found = one(plant, 11)
    ude = tu.UDE(stated_physics(plant), measured=plant.measured, hidden=()).fit(
        found.samples, t=found.times, u=found.inputs
    )
    assert ude.diagnostics_["refinement"]["following"] == ["u"]
    assert ude.verdict_.status != "good" and "u follows the states, as a controller does" in " ".join(str(ude).split())


def test_of_an_input_that_follows_the_states_no_shapes_are_offered() -> None:
    plant = TUNING["arm under a controller"]
    found = one(plant, 11)
    ude = tu.UDE(stated_physics(plant), measured=plant.measured, refine=False, network=None)
    ude.fit(found.samples, t=found.times, u=found.inputs)
    learned = [sp.sympify(row["term"]) for row in ude.terms_ if row["learned"]]
    assert learned and all(term == sp.Symbol("u") or sp.Symbol("u") not in term.free_symbols for term in learned)
