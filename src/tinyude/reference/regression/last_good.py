"""The last good model: restored when a failing sensor has degraded the current one.

A sensor that drifts or freezes for minutes corrupts the learned model. The model from before is kept. It is dropped
only after it has been contradicted for as long as it had been good, and restored if it predicts clearly better than the
current one: when the sensor works again.
"""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.adam import adam_init
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.numeric.statistics import statistics_error
from tinyude.reference.state import Array, LastGood, Learner

COMPARED = 8  # blocks over which two models are compared
MOST_CREDIT = 1024  # maximum number of blocks for which a model must be contradicted: half an hour or more
CLEARLY = 2.0  # standard errors, over blocks, by which one must be better,
# systematic error of a solution, as a share of the target's RMS: curvature within windows, held inputs
SYSTEMATIC = 0.005
BESIDE_NETWORK = 0.03  # the same with a network, whose own error is as large
CONTRADICTED = 2.0  # standard errors by which a solution must differ from the model that the learner started from
WORTH = 0.005  # and share of the squared residual: 7 % of its size


def last_good_keep(learner: Learner, credit: int) -> None:
    """Make the current model the last good one; it is dropped after `credit` blocks of contradiction."""
    if learner.config.keeps_good:
        library = learner.library
        kept = (library.coefficients.copy(), library.errors.copy(), learner.good.copy(), learner.network_on.copy())
        learner.last_good = LastGood(*kept, credit)


def last_good_trust(learner: Learner) -> None:
    """Make the model that the learner starts from the last good one, with the maximum credit."""
    last_good_keep(learner, MOST_CREDIT)
    if learner.last_good:
        learner.last_good.given = True


def last_good_hold(learner: Learner) -> None:
    """After a solution: restore the model that the learner started from.

    Only if that model is more certain and the solution does not contradict it; not if the solution belongs to another
    network.
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
    """Make the last good model the current one."""
    good = learner.last_good
    assert good
    learner.library.coefficients[:], learner.library.errors[:] = good.coefficients, good.errors
    learner.params[:] = learner.average[:] = learner.good[:] = good.weights
    learner.network_on = good.network_on.copy()
    learner.adam = adam_init(len(learner.params))
    _clear_comparison(good)


def last_good_network(learner: Learner, entry: Array) -> Array:
    """Output of the model's network at a window's entry, where it is on and tested in the stream."""
    if not (learner.config.watched and learner.config.keeps_good):
        return np.zeros(len(learner.config.on))
    return _network(learner, learner.good, learner.network_on, entry)


def last_good_add(learner: Learner, design: Array, left: Array, target: Array, entry: Array) -> None:
    """Add both models' remainders of a window: its design, its target, the target minus the current network."""
    good = learner.last_good
    if good is None:
        return
    now = left - design @ learner.library.coefficients
    kept = target - design @ good.coefficients - _network(learner, good.weights, good.network_on, entry)
    good.gain += float(now @ now - kept @ kept)
    good.block_energy += float((target - kept) @ (target - kept))


def last_good_end_block(learner: Learner) -> bool:
    """Close a block. True: the last good model predicts clearly better than the current one."""
    good = learner.last_good
    if good is None:
        if learner.library.solved:
            last_good_keep(learner, COMPARED)
        return False
    good.gains.append(good.gain)
    good.energy += good.block_energy
    good.gain = good.block_energy = 0.0
    if len(good.gains) < COMPARED:
        return False
    gains = np.array(good.gains)
    mean, least = gains.mean(), max(CLEARLY * float(statistics_error(gains)), WORTH * good.energy / COMPARED)
    _clear_comparison(good)
    if mean < -least:
        good.credit -= COMPARED
    elif good.credit < MOST_CREDIT:
        good.credit += COMPARED
    if good.credit <= 0:
        last_good_keep(learner, COMPARED)
    # do not keep a network that only compensates for wrong terms
    wider = bool(learner.config.hidden) and bool(np.any(learner.network_on & ~good.network_on))
    return bool(mean > (0.0 if wider else least))


def _clear_comparison(good: LastGood) -> None:
    good.gain = good.block_energy = good.energy = 0.0
    good.gains.clear()


def _network(learner: Learner, weights: Array, on: Array, entry: Array) -> Array:
    """A network's output at the window's centre, where it is on."""
    config = learner.config
    if not (config.hidden and on.any()):
        return np.zeros(len(config.on))
    return np.where(on, mlp_forward(weights, config.sizes, entry[None, list(config.sees)])[-1][0], 0.0)
