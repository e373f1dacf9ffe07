"""The last good model: what the learner goes back to when a failing sensor has led it astray.

The learner follows what it is told, and a sensor that drifts or is frozen tells something else for minutes. The model
from before is kept beside it. It is given up only when it has been contradicted for as long as it had been good, and
it comes back when it predicts clearly better than the model now: when the sensor is whole again.
"""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.adam import adam_init
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.numeric.statistics import statistics_error
from tinyude.reference.state import Array, LastGood, Learner

LOOK = 8  # blocks over which two models are compared
MOST_CREDIT = 1024  # blocks for which a model must be contradicted, at most: half an hour or more
CLEARLY = 2.0  # standard errors, from blocks, by which one must be better,
# share of the target's RMS by which a solution is off for other reasons than noise: windows bend, inputs are held
SYSTEMATIC = 0.005
BESIDE_NETWORK = 0.03  # the same beside a network, which is off by as much itself
CONTRADICTED = 2.0  # standard errors of a solution by which it must differ from the model that was started from
WORTH = 0.005  # and share of the squared residual: 7 % of its size


def last_good_keep(learner: Learner, credit: int) -> None:
    """Let the model now be the last good one, to be given up when contradicted for `credit` blocks."""
    if learner.config.keeps_good:
        library = learner.library
        kept = (library.coefficients.copy(), library.errors.copy(), learner.good.copy(), learner.network_on.copy())
        learner.last_good = LastGood(*kept, credit)


def last_good_trust(learner: Learner) -> None:
    """The model that a learner starts from is the last good one for as long as any can be."""
    last_good_keep(learner, MOST_CREDIT)
    if learner.last_good:
        learner.last_good.given = True


def last_good_hold(learner: Learner) -> None:
    """After a solution: put the model that the learner was started from back in its place.

    Where that model is the surer one, and the solution does not contradict it; not where it is a solution beside
    another network.
    """
    good, library, config = learner.last_good, learner.library, learner.config
    network_on = bool(config.hidden) and bool(learner.network_on.any())
    if good is None or not good.given or (network_on and bool(np.any(good.weights != learner.good))):
        return
    total = library.sums.sum(axis=0)
    norms, step = total.diagonal()[:-1], library.coefficients - good.coefficients
    beside = config.frozen_network or (network_on and not config.forget)
    share = BESIDE_NETWORK if beside else SYSTEMATIC
    error = share**2 * total[-1, -1] + library.errors**2 @ norms  # of the solution, squared, over the windows
    apart = step @ total[:-1, :-1] @ step
    if (beside or good.errors**2 @ norms <= error) and apart <= CONTRADICTED**2 * error:
        library.coefficients[:], library.errors[:] = good.coefficients, good.errors


def last_good_restore(learner: Learner) -> None:
    """Let the model now be the last good one again."""
    good = learner.last_good
    assert good
    learner.library.coefficients[:], learner.library.errors[:] = good.coefficients, good.errors
    learner.params[:] = learner.average[:] = learner.good[:] = good.weights
    learner.network_on = good.network_on.copy()
    learner.adam = adam_init(len(learner.params))
    _look_anew(good)


def last_good_network(learner: Learner, entry: Array) -> Array:
    """What the model's network, where it is on and judged in the stream, answers at a window's entry."""
    if not (learner.config.watched and learner.config.keeps_good):
        return np.zeros(len(learner.config.on))
    return _network(learner, learner.good, learner.network_on, entry)


def last_good_add(learner: Learner, design: Array, left: Array, target: Array, entry: Array) -> None:
    """Add what both models leave of a window: its design, its target, what is left of it without the network now."""
    good = learner.last_good
    if good is None:
        return
    now = left - design @ learner.library.coefficients
    kept = target - design @ good.coefficients - _network(learner, good.weights, good.network_on, entry)
    good.gain += float(now @ now - kept @ kept)
    good.block_energy += float((target - kept) @ (target - kept))


def last_good_end_block(learner: Learner) -> bool:
    """Close a block. True: the last good model predicts clearly better than the model now."""
    good = learner.last_good
    if good is None:
        if learner.library.solved:
            last_good_keep(learner, LOOK)
        return False
    good.gains.append(good.gain)
    good.energy += good.block_energy
    good.gain = good.block_energy = 0.0
    if len(good.gains) < LOOK:
        return False
    gains = np.array(good.gains)
    mean, least = gains.mean(), max(CLEARLY * float(statistics_error(gains)), WORTH * good.energy / LOOK)
    _look_anew(good)
    if mean < -least:
        good.credit -= LOOK
    elif good.credit < MOST_CREDIT:
        good.credit += LOOK
    if good.credit <= 0:
        last_good_keep(learner, LOOK)
    # a network that only makes up for wrong terms is not worth having
    wider = bool(learner.config.hidden) and bool(np.any(learner.network_on & ~good.network_on))
    return bool(mean > (0.0 if wider else least))


def _look_anew(good: LastGood) -> None:
    good.gain = good.block_energy = good.energy = 0.0
    good.gains.clear()


def _network(learner: Learner, weights: Array, on: Array, entry: Array) -> Array:
    """A network's answer at the window's centre, where it is on."""
    config = learner.config
    if not (config.hidden and on.any()):
        return np.zeros(len(config.on))
    return np.where(on, mlp_forward(weights, config.sizes, entry[None, list(config.sees)])[-1][0], 0.0)
