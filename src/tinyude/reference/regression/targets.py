"""From an accepted window to its regression target: the filtered residual, for the library and for the network."""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.holdout import holdout_watch
from tinyude.reference.network.last_layer import last_layer_relearns
from tinyude.reference.network.reservoir import (
    Reservoir,
    reservoir_clear,
    reservoir_count,
    reservoir_offer,
    reservoir_settle,
)
from tinyude.reference.regression.change_detection import (
    change_add,
    change_clear,
    change_compare,
    change_end_block,
    change_end_part,
    change_nearest,
)
from tinyude.reference.regression.last_good import (
    last_good_add,
    last_good_end_block,
    last_good_hold,
    last_good_network,
)
from tinyude.reference.regression.library import library_add, library_clear, library_end_block, library_solve
from tinyude.reference.signal.calibrate import window_jets
from tinyude.reference.signal.nodes import Nodes
from tinyude.reference.signal.ring import usable
from tinyude.reference.state import Array, Learner

HOLDOUT_EVERY = 8  # one block in this many is held out
PARTS = 4  # parts of a block; each is one observation in the tests of the network and of a change
SOLVE_EVERY = 8  # blocks between two solutions of the library
TAGS = 32768  # parts that a compact entry can distinguish


def targets_add(learner: Learner, coefficients: Array) -> str | None:
    """Add an accepted window, from its polynomials (poly + 1, channels), to the library's sums and to the reservoir.

    Its target is the derivative minus the known physics, both filtered alike. Returns the reason if it was not added:
    it is not finite, or outside the range in which the known part is valid.
    """
    config, setup = learner.config, learner.setup
    assert setup and learner.physics_nodes and learner.network_nodes
    on = list(config.on)
    unit = setup.scales.dx[on]
    _, dx, ddx = window_jets(config, setup.window, coefficients)
    nodes, states, inputs = _node_states(learner, coefficients, learner.physics_nodes)
    flow = np.einsum("qi,qi->i", nodes.weights, learner.known.field(states, inputs))
    target = (dx - flow)[on] / unit
    design = np.zeros((len(on), 0))
    if config.columns:
        design = np.einsum("qi,qik->ik", nodes.weights[:, on], design_rows(learner, states, inputs))
    nodes, states, inputs = _node_states(learner, coefficients, learner.network_nodes)
    rest = target - targets_library_at(learner, states, inputs, nodes.weights[:, on])
    entry = np.concatenate([scaled_row(learner, states, inputs).ravel(), rest, ddx if config.second_order else []])
    if not (usable(design).all() and usable(target).all() and usable(entry).all()):
        return "nonfinite"
    outside = learner.known.outside
    if outside is not None and outside(states[-1:], inputs[-1:])[0, 0] > 0.0:
        return "outside"
    answer = last_good_network(learner, entry)
    left = target - answer  # a network counts as known physics for the library
    if not (learner.change.trial and _compare_with_stored(learner, entry, design, target, answer)):
        _store(learner, entry)
    if config.columns:
        change_add(learner.change, learner.library, design, left, answer[: config.answers])
        library_add(learner.library, design, left, target)
    else:
        learner.library.windows += 1
    last_good_add(learner, design, left, target, entry)
    _count_block(learner)
    return None


def targets_add_prior(learner: Learner, x: Array, u: Array) -> None:
    """Add one window, as the library's model predicts it at a state, to the library's sums."""
    (design,) = design_rows(learner, x[None], u[None])
    target = design @ learner.library.coefficients
    if usable(design).all() and usable(target).all():
        library_add(learner.library, design, target)


def _compare_with_stored(learner: Learner, entry: Array, design: Array, target: Array, answer: Array) -> bool:
    """In a trial: compare the model's remainders of the window and its stored neighbour. False: no neighbour."""
    config = learner.config
    columns = config.states + config.inputs
    middle, rest = config.network_nodes // 2 * columns, config.network_nodes * columns  # the node; the targets
    nearest = change_nearest(learner.reservoir, entry, [middle + k for k in config.sees])
    found = nearest < reservoir_count(learner.reservoir)
    difference = None
    if found:
        there = learner.reservoir.entries[nearest]
        difference = (entry - there)[rest : rest + len(config.on)] - answer + last_good_network(learner, there)
    change_compare(learner.change, design, target, difference, answer[: config.answers])
    return found


def _store(learner: Learner, entry: Array) -> None:
    """Store the window to train the network, or in every eighth block, tagged by part, to test it."""
    config, library = learner.config, learner.library
    if config.holdout and library.blocks % HOLDOUT_EVERY == HOLDOUT_EVERY - 1:
        tag = library.blocks // HOLDOUT_EVERY * PARTS + PARTS * library.windows // config.block
        reservoir_offer(learner.holdout, np.append(entry, tag % TAGS), learner.rng)
    elif config.reservoir:
        reservoir_offer(learner.reservoir, entry, learner.rng)


def _count_block(learner: Learner) -> None:
    """Close a full block of windows: solve the library every SOLVE_EVERY blocks, start over after a change."""
    config, library, change = learner.config, learner.library, learner.change
    if library.windows % max(1, config.block // PARTS) == 0:
        change_end_part(change)
    if library.windows < config.block:
        return
    trial = change.trial > 0
    library_end_block(library, config.forget)
    changed = change_end_block(change, library.solved)
    if change.settled:
        reservoir_settle(learner.reservoir)
    if changed and config.follow:
        _start_over(learner)
    elif last_good_end_block(learner):
        learner.go_back = True
    elif not change.trial and (trial or library.blocks % SOLVE_EVERY == 0):
        if not (config.watched and last_layer_relearns(learner)):
            targets_solve(learner)
        if config.watched:
            _take_out_moved(learner, holdout_watch(learner))


def _start_over(learner: Learner) -> None:
    """After a change of the dynamics: discard the data, keep the model until there is a better one."""
    learner.counters.changes.append(learner.tick)
    targets_forget(learner)
    learner.since_change = 0


def targets_forget(learner: Learner) -> None:
    """Clear all windows; keep the model."""
    library_clear(learner.library)
    change_clear(learner.change)
    reservoir_clear(learner.reservoir)
    reservoir_clear(learner.holdout)
    learner.rate = learner.config.rate


def targets_solve(learner: Learner) -> None:
    """Solve the library again, and subtract its change from the stored targets of the network."""
    library, config = learner.library, learner.config
    before = library.coefficients.copy()
    if not config.columns or not library_solve(library, config.forced, config.threshold):
        return
    last_good_hold(learner)
    _take_out_moved(learner, library.coefficients - before)


def _take_out_moved(learner: Learner, moved: Array) -> None:
    """Subtract the library's change from every stored target."""
    for store in (learner.reservoir, learner.holdout):
        if reservoir_count(store) and moved.any():
            _take_out_of(learner, store, moved)


def _take_out_of(learner: Learner, store: Reservoir, moved: Array) -> None:
    config, setup = learner.config, learner.setup
    assert setup and learner.network_nodes
    entries = store.entries[: reservoir_count(store)]
    columns = config.states + config.inputs
    start = config.network_nodes * columns
    rows = entries[:, :start].reshape(-1, columns)
    x, u = rows[:, : config.states] * setup.scales.x, rows[:, config.states :] * setup.scales.u
    design = design_rows(learner, x, u).reshape(len(entries), config.network_nodes, len(config.on), -1)
    weights = learner.network_nodes.weights[:, list(config.on)]
    entries[:, start : start + len(config.on)] -= np.einsum("qi,bqik,k->bi", weights, design, moved)


def _node_states(learner: Learner, coefficients: Array, nodes: Nodes) -> tuple[Nodes, Array, Array]:
    """States from the window's polynomial and inputs from the ring, at the nodes."""
    config = learner.config
    states = np.empty((len(nodes.weights), config.states))
    for state, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        states[:, state] = nodes.values[order] @ coefficients[:, channel]
    inputs = [_inputs_at(learner, number, nodes) for number in range(config.inputs)]
    return nodes, states, np.stack(inputs, axis=1) if inputs else np.zeros((len(states), 0))


def _inputs_at(learner: Learner, number: int, nodes: Nodes) -> Array:
    """An input in the middle of every sampling interval; for other nodes, at the last sample up to the node."""
    config, ring = learner.config, learner.ring
    column, newest = ring.values[:, config.channels + number], ring.pushed - 1
    back = np.clip(nodes.ticks - sum(config.shift[number : number + 1]), 0, len(column) - 1)
    value = column[(newest - back) % len(column)]
    if not (nodes.intervals and any(config.linear[number : number + 1])):
        return value
    return 0.5 * (value + column[(newest - np.maximum(back - 1, 0)) % len(column)])


def design_rows(learner: Learner, x: Array, u: Array) -> Array:
    """(rows, residual states, columns): parameters first, then the terms of each residual state in its own block."""
    config, known = learner.config, learner.known
    count = len(config.on)
    assert learner.setup
    unit = learner.setup.scales.dx[list(config.on)]
    sensitivity = known.sensitivity(x, u)
    terms = known.terms(x, u)
    parameters = sensitivity.shape[-1]
    design = np.zeros((len(x), count, config.columns))
    design[:, :, :parameters] = sensitivity
    for i in range(count):
        start = parameters + i * terms.shape[-1]
        design[:, i, start : start + terms.shape[-1]] = terms
    return design / unit[:, None]


def targets_library_at(learner: Learner, x: Array, u: Array, weights: Array) -> Array:
    """The library's contribution at nodes, weighted by residual state."""
    if not learner.config.columns:
        return np.zeros(len(learner.config.on))
    return np.einsum("qi,qik,k->i", weights, design_rows(learner, x, u), learner.library.coefficients)


def scaled_row(learner: Learner, x: Array, u: Array) -> Array:
    """States and inputs in units of their scales."""
    assert learner.setup
    return np.concatenate([x / learner.setup.scales.x, u / learner.setup.scales.u], axis=1)
