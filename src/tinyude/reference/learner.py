"""Algorithm 1 of the paper as two functions: `learner_push` takes a sample, `learner_step` makes an update."""

from __future__ import annotations

import numpy as np

from tinyude.reference.network.adam import adam_init, adam_step, clip, cosine_rate, ema_update
from tinyude.reference.network.last_layer import settle_network
from tinyude.reference.network.loss import SecondOrder, loss_first, loss_second
from tinyude.reference.network.mlp import mlp_forward
from tinyude.reference.network.reservoir import reservoir_count, reservoir_draw
from tinyude.reference.network.restart import GENTLE, around_begin, around_end
from tinyude.reference.regression.targets import (
    design_rows,
    network_batch,
    scaled_row,
    teach_judge,
    teach_solve,
    teach_window,
)
from tinyude.reference.signal.angle import turn_states, turn_window
from tinyude.reference.signal.calibrate import calibrate_finish, calibrate_snr2, calibrate_window
from tinyude.reference.signal.carried_angle import reckon_push, reckon_window
from tinyude.reference.signal.fusion import fuse_rates
from tinyude.reference.signal.gates import STUCK_RUN, gates_median, gates_noise
from tinyude.reference.signal.noise import noise_ready, noise_sigma, noise_update
from tinyude.reference.signal.recalibrate import revise_finish, revise_watch
from tinyude.reference.signal.repair import repair_push
from tinyude.reference.signal.ring import ring_clear, ring_push, ring_row, ring_window, usable
from tinyude.reference.signal.window import nodes_centre, nodes_gauss, nodes_intervals, window_fit
from tinyude.reference.state import Array, Counters, Learner


def learner_push(learner: Learner, y: Array, u: Array | None = None) -> None:
    """One sample of every sensor channel (and of the inputs held until the next one)."""
    row = np.concatenate([y, u]) if u is not None else np.asarray(y, dtype=np.float64)
    learner.counters.samples += 1
    if learner.config.repair:
        sigma = noise_sigma(learner.noise) * learner.sigma_scale if noise_ready(learner.noise) else None
        repaired = repair_push(learner.repair, row, sigma)
        if repaired is None:
            return
        row, filled, replaced = repaired
        learner.counters.filled += int(filled.any())
        learner.counters.replaced += int(replaced.any())
    _take(learner, row)


def learner_step(learner: Learner) -> None:
    """One update: draw a minibatch, its exact gradient, clip, Adam, average. Skipped while there is too little data."""
    config, counters = learner.config, learner.counters
    counters.updates += 1
    learner.since_change += 1
    if not config.hidden or reservoir_count(learner.reservoir) < config.batch:
        return
    index = reservoir_draw(learner.reservoir, config.batch, learner.rng)
    loss, grad = _loss(learner, learner.reservoir.entries[index])
    if not (np.isfinite(loss) and np.all(np.isfinite(grad))):
        learner.params[:] = learner.average
        learner.adam = adam_init(len(learner.params))
        counters.rolled_back += 1
        return
    grad = clip(grad)
    rate = config.rate if learner.aside is None else GENTLE * config.rate
    if config.adam:
        rate = cosine_rate(learner.since_change - 1, config.updates, rate, config.rate_floor)
        adam_step(learner.adam, learner.params, grad, rate)
    else:
        learner.params -= rate * grad
    if config.decay:
        ema_update(learner.average, learner.params, learner.since_change - 1, config.decay)
    else:
        learner.average[:] = learner.params
    learner.losses.append(float(loss))


def learner_finish(learner: Learner) -> None:
    """End of the stream: settle the library, run the updates that are left, keep the network only where it earns it."""
    if learner.window is None:
        return
    teach_solve(learner)
    while learner.since_change < learner.config.updates:
        learner_step(learner)
    learner_conclude(learner)


def learner_conclude(learner: Learner) -> None:
    """When training is over: settle the network's last layer, and keep the network only where it earns it."""
    if learner.window is not None:
        settle_network(learner)
        teach_judge(learner)


def learner_around(learner: Learner) -> bool:
    """After the conclusion: start the network anew where an angle goes round, for as many updates and a choice."""
    return learner.window is not None and around_begin(learner)


def learner_choose(learner: Learner) -> None:
    """Conclude a second start: keep the network that predicts held-back windows better."""
    if learner.aside is not None:
        settle_network(learner)
        around_end(learner)
        teach_judge(learner)


def learner_gap(learner: Learner) -> None:
    """The next sample does not follow on the last one: a new run, or a hole in the record."""
    ring_clear(learner.ring)
    learner.repair.held = 0
    learner.reckon.count[:] = 0
    learner.bad = -1
    learner.run[:] = 0


def learner_rewind(learner: Learner) -> None:
    """Start the stream over, calibrated: what a recorded stream allows and a live one does not."""
    learner_gap(learner)
    learner.tick = learner.stretch = learner.refused = 0
    learner.counters = Counters()
    learner.gates.rejected = dict.fromkeys(learner.gates.rejected, 0)


def learner_residual(learner: Learner, x: Array, u: Array) -> Array:
    """N(x, u) of the averaged model: (rows, residual states), in physical units."""
    config, scales = learner.config, learner.scales
    answer = np.zeros((len(x), len(config.on)))
    if scales is None:
        return answer
    unit = scales.dx[list(config.on)]
    x = turn_states(x, config.angles)
    if config.hidden and learner.network_on.any():
        seen = scaled_row(learner, x, u)[:, list(config.sees)]
        answer += np.where(learner.network_on, unit * mlp_forward(learner.average, config.sizes, seen)[-1], 0.0)
    if config.columns:
        answer += unit * (design_rows(learner, x, u) @ learner.library.coefficients)
    return answer


def _take(learner: Learner, row: Array) -> None:
    """Algorithm 1, lines 3 to 14, for a sample that has been looked after."""
    config = learner.config
    ring = learner.ring
    good = usable(row)
    row = np.where(good, row, ring_row(ring, 0) if ring.pushed else 0.0)
    _watch_run(learner, row[: config.channels])
    ring_push(ring, row)
    if not good.all():
        learner.bad, learner.bad_reason = ring.pushed - 1, "nonfinite"
    noise_update(learner.noise, ring)
    learner.tick += 1
    if learner.tick % config.stride == 0:
        _carry_angles(learner)
        if learner.calibrating:
            clean = ring.pushed - 1 - learner.bad
            calibrate_window(learner.calibration, config, ring, learner.noise, learner.gates, clean)
        else:
            _window(learner)
    if learner.calibrating and learner.tick >= learner.until:
        learner_calibrated(learner)
    elif learner.window and config.train_every and learner.tick % config.train_every == 0:
        learner_step(learner)


def _carry_angles(learner: Learner) -> None:
    """Carry angles on to the newest sample, or start anew where samples are missing since the last window."""
    ring, stride = learner.ring, learner.config.stride
    fresh = max(0, min(stride, ring.pushed - 1 - learner.bad, len(ring.values)))
    if fresh < stride:
        learner.reckon.count[:] = 0
    if learner.window:
        rows = ring.values[(ring.pushed - fresh + np.arange(fresh)) % len(ring.values)]
        reckon_push(learner.reckon, learner.config, learner.window, noise_sigma(learner.noise), rows)


def learner_calibrated(learner: Learner) -> None:
    """End the calibration stretch, unless it has ended: from here on windows teach."""
    config = learner.config
    if not learner.calibrating:
        return
    if learner.window:
        revise_finish(learner)
    else:
        window, scales, second, scale = calibrate_finish(learner.calibration, config, learner.noise)
        learner.window, learner.scales, learner.second_order, learner.sigma_scale = window, scales, second, scale
        learner.snr2 = calibrate_snr2(config, window, scales, learner.noise)
    learner_settle(learner)


def learner_settle(learner: Learner) -> None:
    """What follows from the settled window: the nodes of its physics and of the network."""
    config, window = learner.config, learner.window
    assert window
    learner.calibrating = False
    if config.physics_nodes == 1:
        learner.physics_nodes = nodes_centre(window, config.order)
    elif config.inputs:
        learner.physics_nodes = nodes_intervals(window, config.order)
    else:
        learner.physics_nodes = nodes_gauss(window, config.physics_nodes, config.order)
    if config.network_nodes == 1:
        learner.network_nodes = nodes_centre(window, config.order)
    else:
        learner.network_nodes = nodes_gauss(window, config.network_nodes, config.order)


def _watch_run(learner: Learner, y: Array) -> None:
    """Mark a channel that repeats itself where its noise should have moved it."""
    if not learner.config.repair or not learner.ring.pushed:
        return
    same = y == ring_row(learner.ring, 0)[: len(y)]
    learner.run = np.where(same, learner.run + 1, 0)
    noise = learner.noise
    fine = ~np.isfinite(noise.step) | (noise.step < noise_sigma(noise))
    if np.any((learner.run >= STUCK_RUN) & fine):
        learner.bad, learner.bad_reason = learner.ring.pushed, "stuck"


def _window(learner: Learner) -> None:
    """Estimate the newest window and count what becomes of it."""
    learner.counters.windows += 1
    reason = _try_window(learner)
    if reason:
        learner.gates.rejected[reason] += 1
    else:
        learner.counters.accepted += 1
    revise_watch(learner, reason)


def _try_window(learner: Learner) -> str | None:
    """Let the newest window teach library and network where it passes the gates; else the reason why not."""
    config, ring, window = learner.config, learner.ring, learner.window
    assert window
    if ring.pushed <= 2 * window.reach:
        return "gap"
    if ring.pushed - 1 - learner.bad <= 2 * window.reach and learner.bad >= 0:
        return learner.bad_reason
    samples = ring_window(ring, window.half, window.spacing)[:, : config.channels]
    coefficients, misfit, segments = window_fit(window, samples)
    sigma = noise_sigma(learner.noise) * learner.sigma_scale
    reason = None
    if config.dense:
        reason = gates_noise(window, misfit, segments, sigma, learner.noise.step)
    elif config.gated:
        reason = gates_median(learner.gates, window, misfit, samples, sigma)
    if reason:
        return reason
    coefficients = fuse_rates(window, coefficients, config.rate_channel, sigma)
    coefficients = reckon_window(learner.reckon, config, window, coefficients, noise_sigma(learner.noise))
    return None if teach_window(learner, window, turn_window(coefficients, config.circular)) else "nonfinite"


def _loss(learner: Learner, entries: Array) -> tuple[float, Array]:
    config = learner.config
    nodes, rest = network_batch(learner, entries)
    if not learner.second_order:
        assert learner.network_nodes
        weights = learner.network_nodes.weights[:, list(config.on)]
        loss, grad = loss_first(learner.params, config.sizes, nodes, weights, rest)
        return float(np.real(loss)), np.asarray(grad, dtype=np.float64)
    assert learner.scales
    scales = learner.scales
    columns = config.states + config.inputs
    x, u = entries[:, : config.states] * scales.x, entries[:, config.states : columns] * scales.u
    second = SecondOrder(
        learner.known.field(x, u),
        learner.known.jacobian(x, u),
        entries[:, columns + config.states : columns + 2 * config.states],
        scales.x,
        scales.dx,
        scales.ddx,
    )
    loss, grad = loss_second(learner.params, config.sizes, nodes[:, 0], rest, second, learner.second_order)
    return float(np.real(loss)), np.asarray(grad, dtype=np.float64)
