"""Differences of signals that a plant may depend on."""

import pytest

import tinyude as tu
from tinyude.physics.differences import differences, relative_speeds


def named(physics: tu.Physics, pairs: list[tuple[int, int]]) -> set[frozenset[str]]:
    names = (*physics.states, *physics.inputs)
    return {frozenset((names[a], names[b])) for a, b in pairs}


def test_differences_of_masses_are_their_relative_motion() -> None:
    physics = tu.Physics(["x", "v", "y", "w"], ["v", "-k*(x - y)", "w", "k*x - k*y"], parameters={"k": 3.0})
    assert named(physics, differences(physics)) == {frozenset("xy"), frozenset("vw")}
    assert named(physics, relative_speeds(physics)) == {frozenset("vw")}


@pytest.mark.parametrize("rhs", ["a*(P - T) - b*(T - S)", "a*P + (b*S - b*T) - a*T"])
def test_differences_are_those_of_the_equations_whatever_their_form(rhs: str) -> None:
    states, inputs = ["T", "x", "y"], ["P", "S"]  # too many columns for pairs of all
    physics = tu.Physics(states, [rhs, "-x", "-y"], inputs=inputs, parameters={"a": 1.0, "b": 2.0})
    assert frozenset("TS") in named(physics, differences(physics))
    assert frozenset("PS") not in named(physics, differences(physics))  # two inputs


def test_differences_of_few_levels_are_offered_unasked() -> None:
    physics = tu.Physics(["h", "g"], ["q", "-g"], inputs=["q"])
    assert frozenset("hg") in named(physics, differences(physics))


def test_differences_of_a_pendulum_are_none() -> None:
    assert differences(tu.Physics(["theta", "omega"], ["omega", "-sin(theta)"])) == []


def test_two_positions_with_one_rate_have_no_relative_speed() -> None:
    """A mount's stiffness and its hysteresis follow the same speed: v - v has no size, by which a fit divided."""
    physics = tu.Physics(["x", "v", "z"], ["v", "-2*x - 3*z", "v"])
    assert named(physics, differences(physics)) == {frozenset("xz")}
    assert relative_speeds(physics) == []
