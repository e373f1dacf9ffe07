"""A second start where an angle goes round: the network begins with steps set evenly round the circle.

From small random weights a network finds what changes slowly with the angle and misses what changes fast, as cogging
does. From steps it finds both, and more of the noise. Held-back windows say which start has served better.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tinyude.reference.network.adam import adam_init
from tinyude.reference.network.mlp import Array, mlp_init, mlp_layers
from tinyude.reference.network.reservoir import reservoir_count
from tinyude.reference.numeric.rng import Rng
from tinyude.reference.regression.targets import earned, held_back_gain
from tinyude.reference.state import Learner

GENTLE = 0.05  # of the learning rate: the steps are in place
ELSEWHERE = 0.1  # of the usual slope, along everything but the angles


def around_init(sizes: Sequence[int], columns: Sequence[int], scales: Array, rng: Rng) -> Array:
    """Weights as ever, but for the first layer: its units take turns at the angles, in radians scales[i] * column i.

    A unit's step is as wide as its distance to the next one.
    """
    params = mlp_init(sizes, rng)
    weight, bias = next(mlp_layers(params, sizes))
    weight *= ELSEWHERE
    units, angles = sizes[1], len(columns)
    for unit in range(units):
        place, turn = divmod(unit, angles)
        steps = (units - turn + angles - 1) // angles
        sign = -1.0 if place % 2 else 1.0
        weight[unit, columns[turn]] = sign * steps * scales[turn] / (2.0 * np.pi)
        bias[unit] = -0.5 * sign * (2 * place + 1 - steps)
    return params


def around_begin(learner: Learner) -> bool:
    """Lay the trained network aside and start another one. False: there is no angle to go round, or no way to judge."""
    config, scales = learner.config, learner.scales
    columns = [column for column, seen in enumerate(config.sees) if seen in config.angles]
    enough = reservoir_count(learner.reservoir) >= config.batch and reservoir_count(learner.holdout) > 0
    if not (config.around and config.hidden and columns and enough and scales):
        return False
    learner.aside = learner.average.copy()
    for part in list(mlp_layers(learner.aside, config.sizes))[-1]:
        part[~learner.network_on] = 0.0  # where it did not earn its keep; that is what the second one must beat
    learner.params[:] = around_init(config.sizes, columns, scales.x[[config.sees[c] for c in columns]], learner.rng)
    learner.average[:] = learner.params
    learner.adam = adam_init(len(learner.params))
    learner.since_change = 0
    learner.network_on[:] = True
    return True


def around_end(learner: Learner) -> None:
    """Keep the network that predicts held-back windows better; the first one where that is not clear."""
    assert learner.aside is not None
    gain = held_back_gain(learner, learner.average) - held_back_gain(learner, learner.aside)
    if not earned(gain.sum(axis=1)):
        learner.average[:] = learner.aside
        learner.params[:] = learner.aside
    learner.aside = None
