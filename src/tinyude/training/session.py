"""Runs a learner over a record: calibrate, push, update, read the model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import sympy as sp
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model.kernel import KernelNetwork
from tinyude.model.kernel_parts import kernel_parts, with_gains_moved
from tinyude.model.model import Model
from tinyude.model.result import Calibration, FitCounters, FitResult
from tinyude.physics import Physics
from tinyude.reference.config import Config
from tinyude.training.engines import make_engine
from tinyude.training.operations import Engine
from tinyude.training.restart import restart as restart_network

Array = NDArray[Any]
Progress = Callable[[int, int], None]

CHUNK = 5_000  # rows between two reports of progress
HISTORY = 50  # updates averaged into one point of the loss history
_MODEL_ARRAYS = ("average", "network_on", "x_scale", "u_scale", "dx_scale", "coefficients", "errors")
_COUNTERS = (
    "samples", "filled", "replaced", "windows", "accepted", "deficient", "updates", "rolled_back", "recalibrations",
)  # fmt: skip


@dataclass
class Session:
    """A running learner, with what is needed to read its model."""

    engine: Engine
    engine_name: str
    config: Config
    terms: list[sp.Expr]
    physics: Physics
    started: float
    losses: list[tuple[int, float]]
    may_stop: bool = False  # training may end early when the network has nothing to learn
    second_start: bool = False  # of a network that sees a wrapped angle
    kernel: KernelNetwork | None = None  # of the model it continues from; it keeps its shape


def calibrate(session: Session, stream: Stream) -> None:
    """Calibrate on the first stretch, then start again from the first row with that calibration."""
    for rows in _chunks(session, stream):
        if session.engine.state()["calibrated"]:
            break
        session.engine.push(rows)
    session.engine.end_calibration()
    session.engine.rewind()


def push_stream(session: Session, stream: Stream, report: Callable[[int], None]) -> int:
    done = 0
    for rows in _chunks(session, stream):
        session.engine.push(rows)
        done += len(rows)
        _note_loss(session)
        report(done)
    return done


def _chunks(session: Session, stream: Stream) -> Iterator[Array]:
    """The rows of a stream, a few thousand at a time; the start of each run is signalled to the learner."""
    for run in stream.runs:
        if not run.follows:
            session.engine.gap()
        rows = run.rows
        for start in range(0, len(rows), CHUNK):
            yield rows[start : start + CHUNK]


def most_updates(session: Session) -> int:
    """Number of updates allowed for a stream."""
    return session.config.updates * (1 + session.second_start) if session.config.hidden else 0


def train(session: Session, report: Callable[[int], None]) -> None:
    """The end of a recorded stream, as in tu_learner_finish, with progress; and a second start where one applies."""
    engine = session.engine
    engine.solve()
    left = engine.updates_left()
    if _run_updates(session, report):
        engine.conclude()
    if session.second_start:
        restart_network(engine, session.config, lambda: _run_updates(session, lambda done: report(left + done), False))


def _run_updates(session: Session, report: Callable[[int], None], may_stop: bool = True) -> bool:
    """The remaining updates. False: after a quarter the network had nothing to learn; not retested, to limit false
    positives.
    """
    if not session.config.hidden:
        return True
    left = session.engine.updates_left()
    for done in range(0, left, HISTORY):
        session.engine.step(min(HISTORY, left - done))
        _note_loss(session)
        report(done)
        if may_stop and session.may_stop and done <= left // 4 < done + HISTORY and not _network_helps(session):
            return False
    return True


def _network_helps(session: Session) -> bool:
    """Whether the network beats the library anywhere."""
    session.engine.judge()
    return bool(session.engine.state()["network_on"].any())


def _note_loss(session: Session) -> None:
    total, count = session.engine.take_losses()
    if count:
        session.losses.append((int(session.engine.state()["updates"]), total / count))


def restart(session: Session, physics: Physics, engine: str, precision: str, network: bool) -> Session:
    """The same session from the start with other parameter values, with or without its network."""
    config = session.config if network else replace(session.config, hidden=(), holdout=0, reservoir=1)
    made, name = make_engine(engine, precision, config, physics, session.terms)
    return replace(session, engine=made, engine_name=name, config=config, physics=physics, losses=[])


def move_parameters(physics: Physics, steps: Array) -> tuple[float, Physics]:
    """Parameters after the solved steps, within their bounds; and the relative change."""
    values, moved = {}, 0.0
    for name, step in zip(physics.learned, steps, strict=True):
        old = physics.parameters[name]
        values[name] = float(np.clip(old.value + step, old.min, old.max))
        moved = max(moved, abs(values[name] - old.value) / max(abs(old.value), 1e-12))
    return moved, physics.with_parameters(values)


def read_result(session: Session) -> FitResult:
    """The learner's model with its calibration, counters and losses."""
    state = session.engine.state()
    calibration = Calibration(
        int(state["window_half"]), int(state["window_spacing"]), np.asarray(state["sigma"], dtype=np.float64),
        np.asarray(state["step"], dtype=np.float64), float(state["sigma_scale"]), float(state["second_order"]),
        float(state["snr2"]),
    )  # fmt: skip
    whole = {name: int(state[name]) for name in _COUNTERS}
    changed = tuple(int(tick) for tick in state["changed_at"][: int(state["changes"])])
    counters = FitCounters(**whole, rejected=tuple(int(n) for n in state["rejected"]), changed_at=changed)
    history = {
        "update": np.array([update for update, _ in session.losses]),
        "loss": np.array([loss for _, loss in session.losses]),
    }
    config = with_gains(session.config, -gains_of(session.kernel))  # the network that is read has them
    return FitResult(
        read_model(session, state), config=config, calibration=calibration, counters=counters, history=history
    )


def gains_of(kernel: KernelNetwork | None) -> int:
    """Parameters of a learner that continues from such a network: a factor of each of its curves and of their parts."""
    return 0 if kernel is None else len(kernel.on) + len(kernel_parts(kernel))


def with_gains(config: Config, gains: int) -> Config:
    """With so many parameters more, or fewer, that are used only where windows ask for them."""
    forced_terms = config.forced > config.parameters
    return replace(config, parameters=config.parameters + gains, forced=config.forced + (gains if forced_terms else 0))


def read_model(session: Session, state: Mapping[str, Any]) -> Model:
    config = session.config
    gains = gains_of(session.kernel)
    count, own = config.parameters, config.parameters - gains
    shape = (len(config.on), config.library_terms)
    numbers = {name: np.array(state[name], dtype=np.float64) for name in _MODEL_ARRAYS}
    coefficients, errors = numbers["coefficients"], numbers["errors"]
    _, physics = move_parameters(session.physics, coefficients[:own])
    return Model(
        physics=physics,
        on=config.on,
        sees=config.sees,
        hidden=config.hidden,
        weights=numbers["average"],
        network_on=numbers["network_on"],
        x_scale=numbers["x_scale"],
        u_scale=numbers["u_scale"],
        dx_scale=numbers["dx_scale"],
        terms=tuple(session.terms),
        coefficients=coefficients[count:].reshape(shape),
        errors=errors[count:].reshape(shape),
        parameter_errors=errors[:own],
        angles=config.angles,
        kernel=session.kernel and with_gains_moved(session.kernel, coefficients[own:count]),
    )
