"""The learner's whole state, mechanism by mechanism, and how it starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.reference.config import Config
from tinyude.reference.network.adam import Adam, adam_init
from tinyude.reference.network.mlp import mlp_init
from tinyude.reference.network.reservoir import Reservoir, reservoir_init
from tinyude.reference.numeric.rng import Rng, rng_seed
from tinyude.reference.paper.median_gate import MedianGate, median_gate_init
from tinyude.reference.regression.change_detection import Change, change_init
from tinyude.reference.regression.library import Library, library_init
from tinyude.reference.signal.calibrate import Calibration, calibrate_init
from tinyude.reference.signal.gates import REASONS
from tinyude.reference.signal.kinematics import Kinematics, kinematics_init
from tinyude.reference.signal.nodes import Nodes
from tinyude.reference.signal.noise import Noise, noise_init
from tinyude.reference.signal.repair import Repair, repair_init
from tinyude.reference.signal.ring import Ring, ring_init
from tinyude.reference.signal.setup import Setup

Array = NDArray[Any]
Function = Callable[[Array, Array], Array]


@dataclass(frozen=True)
class Known:
    """The known part, vectorised over rows of states (rows, states) and inputs (rows, inputs)."""

    field: Function  # (rows, states)
    jacobian: Function  # (rows, states, states)
    terms: Function  # (rows, library terms)
    sensitivity: Function  # (rows, residual states, parameters)
    outside: Function | None = None  # (rows, 1): above 0 where the known part is not valid


@dataclass
class Counters:
    samples: int = 0
    filled: int = 0
    replaced: int = 0
    windows: int = 0
    accepted: int = 0
    rejected: dict[str, int] = field(default_factory=lambda: dict.fromkeys(REASONS, 0))
    updates: int = 0
    rolled_back: int = 0
    recalibrations: int = 0
    no_signal: int = 0
    returned: int = 0
    changes: list[int] = field(default_factory=list)  # ticks at which a change of the dynamics was detected


@dataclass
class LastGood:
    """The last good model, besides the current one."""

    coefficients: Array
    errors: Array
    weights: Array
    network_on: NDArray[np.bool_]
    credit: int  # blocks of contradiction after which it is dropped
    given: bool = False  # it is the model that the learner started from
    gain: float = 0.0  # squared remainders of the current model minus its own, over the block
    block_energy: float = 0.0  # its squared residual over the block
    energy: float = 0.0  # the same over the blocks so far
    gains: list[float] = field(default_factory=list)  # of those blocks


@dataclass
class Learner:
    config: Config
    known: Known
    rng: Rng
    ring: Ring
    repair: Repair
    kinematics: Kinematics
    noise: Noise
    median_gate: MedianGate
    calibration: Calibration
    library: Library
    change: Change
    reservoir: Reservoir
    holdout: Reservoir
    params: Array
    average: Array
    good: Array  # the model's weights: the average, or its last good state if it is tested in the stream
    adam: Adam
    counters: Counters = field(default_factory=Counters)
    setup: Setup | None = None  # None before the first calibration has ended
    physics_nodes: Nodes | None = None
    network_nodes: Nodes | None = None
    network_on: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, dtype=bool))
    tick: int = 0
    bad: int = -1  # ring position of the newest sample that no window may include
    bad_reason: str = "gap"
    run: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # identical samples in a row
    still: int = 0  # windows in a row without motion
    doubted: bool = False  # the last window was rejected for its samples: they are not used for the noise
    suspicion: int = 0  # grows with windows whose angles contradict their rates
    checked: int = 0  # windows whose angles were checked against their rates, up to CHECKED
    agreed: int = 0  # windows among them that agreed
    held_variance: Array = field(default_factory=lambda: np.zeros(0))  # of the noise, during a recalibration
    since_change: int = 0  # updates
    rate: float = 0.0  # learning rate at the start of the schedule
    calibrating: bool = True
    until: int = 0  # tick at which the calibration ends
    losses: list[float] = field(default_factory=list)
    losses_taken: int = 0
    last_good: LastGood | None = None  # None if it is not kept, or does not exist yet
    go_back: bool = False  # the last good model predicts better: return to it
    anew: bool = False  # restart the library's sums: the network was replaced

    @property
    def sigma_scale(self) -> float:
        """The calibration's factor on sigma; 1 before there is one."""
        return self.setup.sigma_scale if self.setup else 1.0


def learner_init(config: Config, known: Known) -> Learner:
    columns = config.channels + config.inputs
    rng = rng_seed(config.seed)
    params = mlp_init(config.sizes, rng) if config.hidden else np.zeros(0)
    average = params.copy()
    return Learner(
        config,
        known,
        rng,
        ring_init(config.span, columns),
        repair_init(columns),
        kinematics_init(config.channels),
        noise_init(config.channels),
        median_gate_init(config.channels),
        calibrate_init(config),
        library_init(config.groups, config.columns),
        change_init(config.columns + config.answers),
        reservoir_init(config.reservoir, config.width, config.rolling),
        reservoir_init(config.holdout, config.width + 1, config.rolling),
        params,
        average,
        average.copy() if config.watched else average,
        adam_init(len(params)),
        network_on=np.full(len(config.on), not (config.watched and config.columns)),  # off until hold-out error drops
        run=np.zeros(config.channels, dtype=np.int64),
        rate=config.rate,
        until=config.calibration,
    )
