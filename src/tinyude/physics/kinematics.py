"""Which sensor channel each state comes from, which states are derivatives of others, where a residual may act."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

from tinyude.errors import TinyUDEError
from tinyude.physics.physics import Physics


class MeasuredMap(NamedTuple):
    """How states follow from sensor channels."""

    names: tuple[str, ...]  # of the channels: the states that they measure
    channel: tuple[int, ...]  # for each state the channel it comes from; -1: none
    order: tuple[int, ...]  # for each state how often that channel is differentiated


def measured_map(physics: Physics, measured: Sequence[str] | None, unmeasured: Collection[str] = ()) -> MeasuredMap:
    """Which channel each state comes from; all states are measured by default.

    unmeasured: states that may go unseen; their channel is -1 unless they are the derivative of a measured one.
    """
    names = tuple(physics.states) if measured is None else tuple(str(name) for name in measured)
    for name in names:
        if name not in physics.states:
            raise TinyUDEError(
                f"measured names {name}, which is not a state; the states are {', '.join(physics.states)}."
            )
    if len(set(names)) != len(names) or not names:
        raise TinyUDEError(f"measured is {list(names)}; name each measured state once.")
    source: dict[str, tuple[int, int]] = {name: (channel, 0) for channel, name in enumerate(names)}
    for _ in physics.states:  # a chain may be several links long
        for state, rate in zip(physics.states, physics.kinematic, strict=True):
            if rate is not None and state in source and physics.states[rate] not in source:
                channel, order = source[state]
                source[physics.states[rate]] = (channel, order + 1)
    for name in physics.states:
        if name not in source and name in unmeasured:
            source[name] = (-1, 0)
        elif name not in source:
            raise TinyUDEError(
                f"The state {name} is neither measured nor the derivative of a measured state; "
                "add it to measured=[...], write the equation of its integral as a plain derivative, or give a guess "
                f"and a spread of it: unmeasured={{'{name}': (1.0, 0.5)}}."
            )
    sources = [source[name] for name in physics.states]
    return MeasuredMap(names, tuple(channel for channel, _ in sources), tuple(order for _, order in sources))


def rate_channels(physics: Physics, measured: Sequence[str] | None, on: Sequence[int]) -> tuple[int, ...]:
    """For each channel 1 + the channel that senses its rate, where that rate is exact (no residual); else 0."""
    names = measured_map(physics, measured).names
    senses = {name: 1 + channel for channel, name in enumerate(names)}
    rates = dict(zip(physics.states, physics.kinematic, strict=True))

    def rate(name: str) -> int:
        state = rates[name]
        if state is None or physics.states.index(name) in on:
            return 0
        return senses.get(physics.states[state], 0)

    return tuple(rate(name) for name in names)


def wrapped_channels(
    physics: Physics, measured: Sequence[str] | None, rotating: Sequence[str] | None = None
) -> tuple[int, ...]:
    """For each channel 1 where it senses an angle that may be taken on any revolution.

    rotating: channels that were seen to rotate; None: any angle may.
    """
    names = measured_map(physics, measured).names
    angles = set(physics.angles) if rotating is None else set(physics.angles) & set(rotating)
    return tuple(int(name in angles) for name in names)


def residual_states(physics: Physics, on: Sequence[str] | None, preset: str) -> tuple[int, ...]:
    """Where the residual acts: as given, otherwise every state that is not a pure derivative (paper: every state)."""
    if on is not None:
        for name in on:
            if name not in physics.states:
                raise TinyUDEError(
                    f"on names {name}, which is not a state; the states are {', '.join(physics.states)}."
                )
        _check_once("on", on, physics.states)
        return tuple(physics.states.index(name) for name in on)
    if preset != "default":
        return tuple(range(physics.n_states))
    free = tuple(i for i, rate in enumerate(physics.kinematic) if rate is None)
    return free or tuple(range(physics.n_states))


def free_states(physics: Physics) -> tuple[str, ...]:
    """States that nothing known bounds: integrals of another that no equation reads, such as the angle of a motor."""
    unread, angles = unread_states(physics), physics.angles
    pairs = zip(physics.states, physics.kinematic, strict=True)
    return tuple(name for name, rate in pairs if rate is not None and name in unread and name not in angles)


def unread_states(physics: Physics) -> tuple[str, ...]:
    """States that no equation uses: the known physics does not depend on their values."""
    read = {symbol.name for rhs in physics.rhs for symbol in rhs.free_symbols}
    return tuple(name for name in physics.states if name not in read)


def perceptron_columns(physics: Physics, sees: Sequence[str] | None, preset: str) -> tuple[int, ...]:
    """Inputs of a perceptron: as given, otherwise every state and input except free states (paper: those too).

    Free states leave the range of the training data, where a perceptron is arbitrary.
    """
    if sees is None and preset == "default":
        free = free_states(physics)
        sees = [name for name in (*physics.states, *physics.inputs) if name not in free]
    return seen_columns(physics, sees)


def seen_columns(physics: Physics, sees: Sequence[str] | None) -> tuple[int, ...]:
    """Inputs of a network: as given, otherwise every state and input."""
    names = (*physics.states, *physics.inputs)
    if sees is None:
        return tuple(range(len(names)))
    for name in sees:
        if name not in names:
            raise TinyUDEError(
                f"sees names {name}, which is neither a state nor an input; these are {', '.join(names)}."
            )
    _check_once("sees", sees, names)
    return tuple(names.index(name) for name in sees)


def _check_once(what: str, names: Sequence[str], allowed: Sequence[str]) -> None:
    if not len(names) or len(set(names)) < len(names):
        raise TinyUDEError(f"{what} is {list(names)}; name one or more of {', '.join(allowed)}, each once.")
