"""A second start for a network with a wrapped angle as input: its first layer begins with steps over [-pi, pi].

From small random weights a network learns what varies slowly with the angle and misses what varies fast, as cogging
does. From steps it learns both, and more of the noise. Held-out windows choose between the two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tinyude.reference.config import Config
from tinyude.reference.network.holdout import CLEARLY, LEAST_PARTS, holdout_better, holdout_gain
from tinyude.reference.network.mlp import Array, mlp_init, mlp_layers
from tinyude.reference.numeric.elementary import TWO_PI
from tinyude.reference.numeric.rng import Rng, rng_seed
from tinyude.reference.numeric.statistics import statistics_error
from tinyude.reference.signal.nodes import nodes_centre, nodes_gauss
from tinyude.reference.signal.window import window_make
from tinyude.training.operations import Engine

SLOW = 0.05  # of the learning rate: the steps are already in place
ELSEWHERE = 0.1  # of the usual slope, for inputs other than the angles
STREAM = 1  # stream of random numbers, separate from the learner's own


def restart(engine: Engine, config: Config, train: Callable[[], object]) -> None:
    """Train another network from steps; it replaces the first if its hold-out error is clearly smaller.

    Does nothing if the network has no wrapped angle as input, or if too little is held out to choose: the parts of one
    block are neighbours in time, and their errors are correlated.
    """
    state = engine.state()
    columns = [column for column, seen in enumerate(config.sees) if seen in config.angles]
    if not columns or len(_parts(config, state)) < LEAST_PARTS or len(state["reservoir"]) < config.batch:
        return
    first = np.array(state["average"], dtype=np.float64)
    for part in list(mlp_layers(first, config.sizes))[-1]:
        part[np.asarray(state["network_on"]) == 0] = 0.0  # as the model uses it: the second one must improve on this
    scales = np.asarray(state["x_scale"])[[config.sees[c] for c in columns]]
    weights = restart_weights(config.sizes, columns, scales, rng_seed(config.seed, STREAM))
    engine.set_network(weights, SLOW * config.rate)
    train()
    engine.conclude()
    state = engine.state()
    gain = _gain(config, state, state["average"]) - _gain(config, state, first)
    if not holdout_better(gain.sum(axis=1)):
        engine.set_network(first, config.rate)
        engine.judge()


def restart_weights(sizes: Sequence[int], columns: Sequence[int], scales: Array, rng: Rng) -> Array:
    """The usual weights except in the first layer: its units are divided among the angles, in rad scales[i] * column i.

    A unit's step is as wide as its distance to the next one.
    """
    params = mlp_init(sizes, rng)
    weight, bias = next(mlp_layers(params, sizes))
    weight *= ELSEWHERE
    units, angles = sizes[1], len(columns)
    for unit in range(units):
        place, angle = divmod(unit, angles)
        steps = (units - angle + angles - 1) // angles
        sign = -1.0 if place % 2 else 1.0
        weight[unit, columns[angle]] = sign * steps * scales[angle] / TWO_PI
        bias[unit] = -0.5 * sign * (2 * place + 1 - steps)
    return params


def clearly_better(config: Config, state: Mapping[str, Any], plain: Config, other: Mapping[str, Any]) -> bool:
    """Whether a learner predicts held-out parts clearly better than a simpler one fitted to the same record."""
    tags, gain = _used_gain(config, state)
    others, least = _used_gain(plain, other)
    _, here, there = np.intersect1d(tags, others, return_indices=True)
    better = gain[here] - least[there]
    return len(better) > 1 and bool(better.mean() > CLEARLY * statistics_error(better))


def _used_gain(config: Config, state: Mapping[str, Any]) -> tuple[Array, Array]:
    """Parts, and the hold-out gain in each of the network as the model uses it, over all residual states."""
    tags = _parts(config, state)
    gain = _gain(config, state, state["average"]) if len(tags) else np.zeros((0, len(config.on)))
    return tags, gain @ np.asarray(state["network_on"], dtype=np.float64)


def _parts(config: Config, state: Mapping[str, Any]) -> Array:
    """Tags of the parts of held-out blocks."""
    return np.unique(np.asarray(state["holdout"], dtype=np.float64).reshape(-1, config.width + 1)[:, -1])


def _gain(config: Config, state: Mapping[str, Any], params: Array) -> Array:
    """Hold-out gain of a network, by part and residual state."""
    window = window_make(int(state["window_half"]), int(state["window_spacing"]), config.poly, config.sample_period)
    single = config.network_nodes == 1
    nodes = nodes_centre(window, config.order) if single else nodes_gauss(window, config.network_nodes, config.order)
    entries = np.asarray(state["holdout"], dtype=np.float64)
    return holdout_gain(config, nodes.weights[:, list(config.on)], entries, np.asarray(params, dtype=np.float64))
