"""A plant: the physics given to a learner, the true field, and its streams."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng
from scipy.integrate import solve_ivp

from tinyude.errors import TinyUDEError
from tinyude.physics import Physics
from tinyude.physics.expressions import Array
from tinyude.systems.signals import sensor_noise

# Every sample is within 5e-10 of the exact flow from the one before. A damped pendulum is within 1e-9 of the exact
# states after a minute; the chaotic double pendulum within 2e-8 after 20 s.
RELATIVE_TOLERANCE = 1e-11
ABSOLUTE_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Impulses:
    """Kicks at regular times: each adds +-U(low, high) to one state."""

    period: float
    state: int
    low: float
    high: float

    def kick(self, state: Array, rng: Generator) -> Array:
        kicked = state.copy()
        kicked[self.state] += rng.uniform(self.low, self.high) * rng.choice([-1.0, 1.0])
        return kicked


@dataclass(frozen=True)
class Case:
    """One of the paper's three ways for the known physics to be wrong; the plant is always the same."""

    gravity_factor: float
    damping_known: bool


CASES = {"A": Case(1.0, False), "B": Case(0.9, True), "C": Case(0.9, False)}


def case_named(name: str) -> Case:
    if name not in CASES:
        raise TinyUDEError(f"There is no case {name!r}; choose {', '.join(CASES)}.")
    return CASES[name]


@dataclass(frozen=True, eq=False)
class System:
    """A plant with a known truth, made by `pendulum` and `double_pendulum`.

    Attributes
    ----------
    name : str
        What the plant is called.
    physics : Physics
        The known physics given to a learner.
    field : callable
        The truth: dx/dt at (states, time).
    start, start_spread : tuple of float
        Start state, and its standard deviation for seeds other than 0.
    seconds, rate : float
        Length of a stream, and samples a second.
    velocities : tuple of int
        Indices of the velocity states.
    impulses : Impulses, optional
        Kicks at regular times.
    switch_times : tuple of float
        When the plant itself changes.
    box : tuple of pairs, optional
        Ranges of the evaluation grid; without it, visited states are used.
    """

    name: str
    physics: Physics
    field: Callable[[Array, float], Array]  # the truth at (states, time)
    start: tuple[float, ...]
    start_spread: tuple[float, ...]  # standard deviation of the start for seeds other than 0
    seconds: float
    velocities: tuple[int, ...]
    impulses: Impulses | None = None
    switch_times: tuple[float, ...] = ()  # when the plant itself changes
    box: tuple[tuple[float, float], ...] | None = None  # the evaluation grid's ranges; visited states without it
    rate: float = 1000.0  # samples a second

    def truth(self, x: Array, time: float = 0.0) -> Array:
        """The true dx/dt, vectorised over leading axes."""
        return self.field(np.asarray(x), time)

    def missing(self, x: Array, time: float = 0.0) -> Array:
        """What the physics lacks, truth - physics: the value of a perfect residual."""
        return self.truth(x, time) - self.physics.field(x)

    def stream(self, noise: float = 0.01, seed: int = 0, seconds: float | None = None) -> tuple[Array, Array]:
        """Make the noisy stream, which is all a learner gets.

        Parameters
        ----------
        noise : float, default 0.01
            Standard deviation of the noise, relative to the RMS of each clean channel.
        seed : int, default 0
            Of the kicks and of the noise; seeds other than 0 also vary the start.
        seconds : float, optional
            Length of the stream; default: the system's own.

        Returns
        -------
        times : ndarray of shape (samples,)
            In seconds.
        samples : ndarray of shape (samples, states)
            The measured states.
        """
        times, states = self.clean(seed, seconds)
        _, noise_seed = SeedSequence(seed).spawn(2)
        return times, sensor_noise(states, noise, default_rng(noise_seed))

    def clean(self, seed: int = 0, seconds: float | None = None) -> tuple[Array, Array]:
        """Times and exact states behind `stream`, for evaluation only."""
        duration = self.seconds if seconds is None else seconds
        count = round(duration * self.rate)
        if count < 1:
            raise TinyUDEError(f"{duration} s contain no sample at {self.rate:g} Hz; ask for more.")
        times, states = _regular_trajectory(self, seed, count)
        return times.copy(), states.copy()

    def states_at(self, times: Array, seed: int = 0) -> Array:
        """Exact states at any increasing times, e.g. jittered ones."""
        times = np.asarray(times, dtype=np.float64)
        if times.ndim != 1 or times.size == 0 or times[0] < 0.0 or np.any(np.diff(times) <= 0.0):
            raise TinyUDEError("Times must be a non-empty list that starts at 0 or later and increases.")
        return _simulate(self, times, seed)

    def jump_times(self, seconds: float | None = None) -> Array:
        """When the plant is kicked; the sample at such a time is already after the kick."""
        duration = self.seconds if seconds is None else seconds
        if self.impulses is None:
            return np.empty(0)
        times = self.impulses.period * np.arange(1.0, np.floor(duration / self.impulses.period) + 1.0)
        return times[times < duration]

    def grid(self, seed: int = 0) -> Array:
        """States to evaluate on: a 41 x 41 grid over the box or, without a box, the visited states every 10 ms."""
        if self.box is None:
            return self.clean(seed)[1][:: round(self.rate / 100.0)]
        axes = [np.linspace(low, high, 41) for low, high in self.box]
        return np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, len(axes))

    def field_error(self, predict: Callable[[Array], Array], states: Array | None = None, time: float = 0.0) -> float:
        """|predict - truth| / |truth| over the grid, or over the states given (paper eq. field_error)."""
        x = self.grid() if states is None else np.asarray(states)
        truth = self.truth(x, time)
        return float(np.linalg.norm(predict(x) - truth) / np.linalg.norm(truth))

    def damping(self, residual: Callable[[Array], Array], states: Array | None = None) -> Array:
        """The damping in a learned residual: minus the least-squares slope of each acceleration on its velocity."""
        x = self.grid() if states is None else np.asarray(states)
        columns = list(self.velocities)
        velocity, acceleration = x[:, columns], residual(x)[:, columns]
        return np.asarray(-np.sum(velocity * acceleration, axis=0) / np.sum(velocity**2, axis=0))

    @cached_property
    def true_damping(self) -> Array:
        """The damping that a perfect residual shows: near 0 where the physics has it already."""
        return self.damping(self.missing)


@lru_cache(maxsize=8)
def _regular_trajectory(system: System, seed: int, count: int) -> tuple[Array, Array]:
    times = np.arange(count) / system.rate
    return times, _simulate(system, times, seed)


def _simulate(system: System, times: Array, seed: int) -> Array:
    """The exact states at increasing times, integrated afresh after every kick and change of the plant."""
    motion_seed, _ = SeedSequence(seed).spawn(2)
    rng = default_rng(motion_seed)
    state = np.array(system.start)
    if seed != 0:
        state = state + np.array(system.start_spread) * rng.standard_normal(len(state))
    states = np.empty((len(times), len(state)))
    end = float(times[-1])
    kicks = set(system.jump_times(np.nextafter(end, np.inf)).tolist())
    breaks = sorted({0.0, *kicks, *(t for t in system.switch_times if 0.0 < t <= end)})
    for begin, stop in zip(breaks, [*breaks[1:], None], strict=True):
        if system.impulses is not None and begin in kicks:
            state = system.impulses.kick(state, rng)
        first = int(np.searchsorted(times, begin))
        last = len(times) if stop is None else int(np.searchsorted(times, stop))
        goal = end if stop is None else stop
        states[first:last], state = _integrate(system, state, begin, goal, times[first:last])
    return states


def _integrate(system: System, state: Array, begin: float, goal: float, times: Array) -> tuple[Array, Array]:
    """States at the times within [begin, goal], and the state at goal."""
    if goal <= begin:
        return np.broadcast_to(state, (len(times), len(state))), state
    solution = solve_ivp(
        lambda _, x: system.field(x, begin),
        (begin, goal),
        state,
        method="DOP853",
        t_eval=np.append(times[times < goal], goal),
        rtol=RELATIVE_TOLERANCE,
        atol=ABSOLUTE_TOLERANCE,
    )
    if not solution.success:
        raise TinyUDEError(f"The {system.name} could not be simulated beyond {solution.t[-1]:g} s: {solution.message}")
    found = solution.y.T
    inside = found[: len(times)] if len(times) == len(found) else found[:-1]
    return inside, found[-1]
