"""From an accepted window to what it teaches: the filtered residual, for the library and for the network."""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import reservoir_count, reservoir_offer
from tinyude.reference.regression.change_detection import trial_compare
from tinyude.reference.regression.library import (
    library_add,
    library_clear,
    library_end_block,
    library_end_part,
    library_solve,
)
from tinyude.reference.signal.calibrate import window_jets
from tinyude.reference.signal.ring import usable
from tinyude.reference.signal.window import Nodes, Window
from tinyude.reference.state import Array, Learner

HOLDOUT_EVERY = 8  # one block in so many judges the network instead of teaching it
PARTS = 4  # of a block, each with a say of its own where the network or a change is judged
SOLVE_EVERY = 8  # blocks between two looks at the library
EARNED = 1.0  # standard errors by which it must improve held-back parts; a network that fits noise makes them worse
TAGS = 32768  # block numbers that a compact entry can tell apart


def teach_window(learner: Learner, window: Window, coefficients: Array) -> bool:
    """What the known physics leaves of the derivative, filtered as the window filters it, goes to the learners.

    False: the known part or the library is not finite somewhere in the window, and nothing was learned.
    """
    config, library = learner.config, learner.library
    assert learner.scales and learner.physics_nodes and learner.network_nodes
    on = list(config.on)
    unit = learner.scales.dx[on]
    _, dx, ddx = window_jets(config, window, coefficients)
    nodes, states, inputs = _node_states(learner, coefficients, learner.physics_nodes)
    flow = np.einsum("qi,qi->i", nodes.weights, learner.known.field(states, inputs))
    target = (dx - flow)[on] / unit
    design = np.zeros((len(on), 0))
    if config.columns:
        design = np.einsum("qi,qik->ik", nodes.weights[:, on], design_rows(learner, states, inputs))
    nodes, states, inputs = _node_states(learner, coefficients, learner.network_nodes)
    rest = target - _library_at(learner, states, inputs, nodes.weights[:, on])
    entry = np.concatenate([scaled_row(learner, states, inputs).ravel(), rest, ddx if config.second_order else []])
    if not (usable(design).all() and usable(target).all() and usable(entry).all()):
        return False
    if not (library.trial and trial_compare(learner, entry, design, target)):
        _store(learner, entry)
    if config.columns:
        library_add(library, design, target)
    _count_block(learner)
    return True


def _store(learner: Learner, entry: Array) -> None:
    """Keep the window for the network; those of every eighth block, tagged by part, to judge it instead."""
    config, library = learner.config, learner.library
    if config.holdout and library.blocks % HOLDOUT_EVERY == HOLDOUT_EVERY - 1:
        tag = library.blocks // HOLDOUT_EVERY * PARTS + PARTS * library.windows // config.block
        reservoir_offer(learner.holdout, np.append(entry, tag % TAGS), learner.rng)
    elif config.reservoir:
        reservoir_offer(learner.reservoir, entry, learner.rng)


def _count_block(learner: Learner) -> None:
    """Close a block of windows when it is full; look at the library now and then; start over after a change."""
    config, library = learner.config, learner.library
    if not config.columns:
        library.windows += 1
    if library.windows % max(1, config.block // PARTS) == 0:
        library_end_part(library)
    if library.windows < config.block:
        return
    trial = library.trial > 0
    if library_end_block(library) and config.follow:
        learner.counters.changes.append(learner.tick)
        library_clear(library)
        learner.reservoir.seen = learner.holdout.seen = 0
        learner.since_change = 0
    elif not library.trial and (trial or library.blocks % SOLVE_EVERY == 0):
        teach_solve(learner)


def teach_solve(learner: Learner) -> None:
    """Look at the library anew, and take the change out of what the network has stored to learn."""
    library, config = learner.library, learner.config
    before = library.coefficients.copy()
    if not config.columns or not library_solve(library, config.forced, config.threshold):
        return
    change = library.coefficients - before
    assert learner.network_nodes
    columns = config.states + config.inputs
    start = config.network_nodes * columns
    for store in (learner.reservoir, learner.holdout):
        entries = store.entries[: reservoir_count(store)]
        if len(entries) == 0 or not change.any():
            continue
        assert learner.scales
        rows = entries[:, :start].reshape(-1, columns)
        x, u = rows[:, : config.states] * learner.scales.x, rows[:, config.states :] * learner.scales.u
        design = design_rows(learner, x, u)
        design = design.reshape(len(entries), config.network_nodes, len(config.on), -1)
        weights = learner.network_nodes.weights[:, list(config.on)]
        entries[:, start : start + len(config.on)] -= np.einsum("qi,bqik,k->bi", weights, design, change)


def teach_judge(learner: Learner) -> None:
    """Keep the network for a state only where it predicts held-back blocks better than the library alone."""
    config = learner.config
    if not config.hidden or not config.columns or reservoir_count(learner.holdout) == 0:
        return
    learner.network_on = earned(held_back_gain(learner, learner.average))


def earned(gain: Array) -> Array:
    """Whether the mean over parts, the first axis, is clearly above 0; fewer than two parts cannot tell."""
    if len(gain) < 2:
        return np.zeros(gain.shape[1:], dtype=bool)
    return np.asarray(gain.mean(axis=0) > EARNED * gain.std(axis=0, ddof=1) / np.sqrt(len(gain)))


def held_back_gain(learner: Learner, params: Array) -> Array:
    """(parts of held-back blocks, residual states): mean squared rest without this network, minus that with it."""
    config, count = learner.config, reservoir_count(learner.holdout)
    entries = learner.holdout.entries[:count]
    nodes, rest = network_batch(learner, entries)
    assert learner.network_nodes
    answer = mlp_forward(params, config.sizes, nodes.reshape(-1, nodes.shape[-1]))[-1]
    weights = learner.network_nodes.weights[:, list(config.on)]
    answer = np.einsum("bqi,qi->bi", answer.reshape(count, config.network_nodes, -1), weights)
    gain = rest**2 - (rest - answer) ** 2
    tags = entries[:, -1]
    return np.array([gain[tags == tag].mean(axis=0) for tag in np.unique(tags)]).reshape(-1, len(config.on))


def network_batch(learner: Learner, entries: Array) -> tuple[Array, Array]:
    """What the network sees at the nodes (batch, q, inputs), and what is left for it to learn."""
    config = learner.config
    columns = config.states + config.inputs
    start = config.network_nodes * columns
    nodes = entries[:, :start].reshape(len(entries), config.network_nodes, columns)
    return nodes[:, :, list(config.sees)], entries[:, start : start + len(config.on)]


def _node_states(learner: Learner, coefficients: Array, nodes: Nodes) -> tuple[Nodes, Array, Array]:
    """States from the window's polynomial and inputs from the ring, at the nodes."""
    config, ring = learner.config, learner.ring
    states = np.empty((len(nodes.weights), config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        states[:, state] = nodes.values[order] @ coefficients[:, channel]
    held = ring.values[(ring.pushed - 1 - nodes.ticks) % len(ring.values)]
    return nodes, states, held[:, config.channels :]


def design_rows(learner: Learner, x: Array, u: Array) -> Array:
    """(rows, residual states, columns): parameters first, then the terms of each residual state in its own block."""
    config, known = learner.config, learner.known
    count = len(config.on)
    assert learner.scales
    unit = learner.scales.dx[list(config.on)]
    sensitivity = known.sensitivity(x, u)
    terms = known.terms(x, u)
    parameters = sensitivity.shape[-1]
    design = np.zeros((len(x), count, config.columns))
    design[:, :, :parameters] = sensitivity
    for i in range(count):
        start = parameters + i * terms.shape[-1]
        design[:, i, start : start + terms.shape[-1]] = terms
    return design / unit[:, None]


def _library_at(learner: Learner, x: Array, u: Array, weights: Array) -> Array:
    if not learner.config.columns:
        return np.zeros(len(learner.config.on))
    return np.einsum("qi,qik,k->i", weights, design_rows(learner, x, u), learner.library.coefficients)


def scaled_row(learner: Learner, x: Array, u: Array) -> Array:
    assert learner.scales
    return np.concatenate([x / learner.scales.x, u / learner.scales.u], axis=1)
