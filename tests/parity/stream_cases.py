"""From the sensor to an accepted window."""

from __future__ import annotations

from typing import Any

import numpy as np
from cases import SEED, Outcome, case, exact
from compiled_core import Array, Core

from tinyude.reference.config import Config
from tinyude.reference.network import reservoir
from tinyude.reference.numeric import rng
from tinyude.reference.paper import median_gate
from tinyude.reference.signal import angle, calibrate, gates, kinematics, nodes, noise, repair, ring, window

RANDOM = np.random.default_rng(5)
PERIOD = 2.0**-8
TIME = PERIOD * np.arange(400)[:, None]
STREAM = exact(np.sin(TIME * [3.0, 7.0]) + RANDOM.normal(0.0, 0.01, (400, 2)))
WINDOWS = {"dense": (20, 1, 4), "dense, low order": (9, 1, 2), "spaced": (5, 4, 4), "high order": (12, 1, 6)}


def core_rng(core: Core) -> Outcome:
    state = core.new("tu_rng")
    core.lib.tu_rng_seed(state, SEED, 3)
    return {"normal": [core.lib.tu_rng_normal(state) for _ in range(50)]}


@case("rng", core_rng)
def reference_rng() -> Outcome:
    state = rng.rng_seed(SEED, 3)
    return {"normal": [rng.rng_normal(state) for _ in range(50)]}


def filled_ring(core: Core, span: int, rows: Array) -> Any:
    state = core.new("tu_ring")
    core.lib.tu_ring_carve(state, core.arena(), span, rows.shape[1])
    for row in rows:
        core.lib.tu_ring_push(state, core.pointer(row))
    return state


def reference_filled_ring(span: int, rows: Array) -> ring.Ring:
    state = ring.ring_init(span, rows.shape[1])
    for row in rows:
        ring.ring_push(state, row)
    return state


def core_ring(core: Core) -> Outcome:
    state, buffer = filled_ring(core, 21, STREAM[:50]), core.pointer(np.zeros(11))
    return {"last": [core.read(core.lib.tu_ring_last(state, column, 11, buffer), 11) for column in range(2)]}


@case("ring", core_ring)
def reference_ring() -> Outcome:
    return {"last": ring.ring_window(reference_filled_ring(21, STREAM[:50]), 5, 1).T}


def core_reservoir(core: Core, rolling: int = 0) -> Outcome:
    memory, state, random = core.array(np.zeros((20, 2))), core.new("tu_reservoir"), core.new("tu_rng")
    fresh = core.ffi.new("uint8_t[3]")
    core.lib.tu_reservoir_init(state, core.pointer(memory), fresh, core.ffi.NULL, 20, 2, rolling)
    core.lib.tu_rng_seed(random, SEED, 0)
    for number, row in enumerate(STREAM[:100]):
        if number == 90:
            core.lib.tu_reservoir_settle(state)
        core.lib.tu_reservoir_offer(state, core.pointer(row), random)
    drawn = core.ffi.new("uint32_t[30]")
    core.lib.tu_reservoir_draw(state, 30, random, drawn)
    marks = [bool(core.lib.tu_reservoir_is_fresh(state, index)) for index in range(20)]
    return {"entries": memory.copy(), "drawn": list(drawn), "fresh": marks}


@case("reservoir", core_reservoir)
def reference_reservoir(rolling: bool = False) -> Outcome:
    state, random = reservoir.reservoir_init(20, 2, rolling), rng.rng_seed(SEED)
    for number, row in enumerate(STREAM[:100]):
        if number == 90:
            reservoir.reservoir_settle(state)
        reservoir.reservoir_offer(state, row, random)
    drawn = reservoir.reservoir_draw(state, 30, random)
    marks = [reservoir.reservoir_is_fresh(state, index) for index in range(20)]
    return {"entries": state.entries, "drawn": drawn, "fresh": marks}


def core_rolling(core: Core) -> Outcome:
    return core_reservoir(core, 1)


@case("reservoir, rolling", core_rolling)
def reference_rolling() -> Outcome:
    return reference_reservoir(True)


def made_window(core: Core, shape: tuple[int, int, int]) -> Any:
    made = core.new("tu_window")
    core.lib.tu_window_make(made, *shape, PERIOD)
    return made


def fitted(core: Core, made: Any, samples: Any) -> Any:
    fit = core.new("tu_fit")
    core.lib.tu_fit_carve(fit, core.arena(), 2, made.poly)
    core.lib.tu_window_fit_begin(fit)
    while core.lib.tu_window_fit_slice(made, samples, 2, fit):
        pass
    return fit


def core_window(core: Core) -> Outcome:
    found: Outcome = {}
    for name, shape in WINDOWS.items():
        made = made_window(core, shape)
        fit = fitted(core, made, filled_ring(core, 47, STREAM[:90]))
        found[f"{name}: coefficients"] = core.read(fit.coefficients, 2, made.poly + 1)
        found[f"{name}: misfit"] = core.read(fit.misfit, 2)
        found[f"{name}: segments"] = core.read(fit.segments, 2)
    return found


@case("window_fit", core_window)
def reference_window() -> Outcome:
    found: Outcome = {}
    for name, (half, spacing, poly) in WINDOWS.items():
        made = window.window_make(half, spacing, poly, PERIOD)
        samples = ring.ring_window(reference_filled_ring(47, STREAM[:90]), half, spacing)
        coefficients, misfit, segments = window.window_fit(made, samples)
        found |= {f"{name}: coefficients": coefficients.T, f"{name}: misfit": misfit, f"{name}: segments": segments}
    return found


def node_config(core: Core) -> Any:
    config = core.new("tu_config")
    config.channels, config.states, config.on_count, config.poly, config.inputs = 2, 2, 2, 4, 0
    config.order = [0, 1]
    return config


def core_nodes(core: Core) -> Outcome:
    orders, made, found = core.ffi.new("int32_t[]", [0, 1]), made_window(core, (20, 1, 4)), {}
    for name, count in (("gauss", 9), ("intervals", 40), ("centre", 1)):
        nodes = core.new("tu_nodes")
        core.lib.tu_nodes_carve(nodes, core.arena(), node_config(core), count)
        if name == "gauss":
            core.lib.tu_nodes_gauss(nodes, made, count, orders)
            found["gauss: values"] = core.read(nodes.values, 2, count, 5)
        elif name == "intervals":
            core.lib.tu_nodes_intervals(nodes, made, orders)
        else:
            core.lib.tu_nodes_centre(nodes, made)
        found[name] = core.read(nodes.weights, count, 2)
    return found


@case("nodes", core_nodes)
def reference_nodes() -> Outcome:
    made = window.window_make(20, 1, 4, PERIOD)
    points = nodes.nodes_gauss(made, 9, (0, 1))
    return {
        "gauss: values": points.values,
        "gauss": points.weights,
        "intervals": nodes.nodes_intervals(made, (0, 1)).weights,
        "centre": nodes.nodes_centre(made, (0, 1)).weights,
    }


def core_noise_state(core: Core) -> tuple[Any, Any]:
    state, samples = core.new("tu_noise"), core.new("tu_ring")
    core.lib.tu_noise_carve(state, core.arena(), 2)
    core.lib.tu_noise_init(state)
    core.lib.tu_ring_carve(samples, core.arena(), 101, 2)
    for row in STREAM:
        core.lib.tu_ring_push(samples, core.pointer(row))
        core.lib.tu_noise_update(state, samples, 1)
    return state, samples


def reference_noise_state() -> tuple[noise.Noise, ring.Ring]:
    state, samples = noise.noise_init(2), ring.ring_init(101, 2)
    for row in STREAM:
        ring.ring_push(samples, row)
        noise.noise_update(state, samples)
    return state, samples


def core_noise(core: Core) -> Outcome:
    state, _ = core_noise_state(core)
    counted = [int(state.count[c]) for c in range(2)]
    return {"sigma": core.read(state.sigma, 2), "step": core.read(state.step, 2), "count": counted}


@case("noise", core_noise)
def reference_noise() -> Outcome:
    state, _ = reference_noise_state()
    return {"sigma": noise.noise_sigma(state), "step": noise.noise_step(state), "count": state.count}


def core_gates(core: Core) -> Outcome:
    state, samples = core_noise_state(core)
    gate, arena, found = core.new("tu_median_gate"), core.arena(), []
    core.lib.tu_median_gate_carve(gate, arena, 2, 1)
    for shape in (*WINDOWS.values(), *WINDOWS.values()):
        made = made_window(core, shape)
        fit = fitted(core, made, samples)
        for scale in (0.01, 1.0, 50.0):
            found.append(core.lib.tu_gates_accept(made, fit, state, scale))
            found.append(core.lib.tu_median_gate_accept(gate, made, samples, fit, state, scale))
    return {"reasons": found}


@case("gates", core_gates)
def reference_gates() -> Outcome:
    state, samples = reference_noise_state()
    gate, found = median_gate.median_gate_init(2), []
    for half, spacing, poly in (*WINDOWS.values(), *WINDOWS.values()):
        made = window.window_make(half, spacing, poly, PERIOD)
        taken = ring.ring_window(samples, half, spacing)
        _, misfit, segments = window.window_fit(made, taken)
        for scale in (0.01, 1.0, 50.0):
            sigma = noise.noise_sigma(state) * scale
            for reason in (
                gates.gates_accept(made, misfit, segments, sigma, noise.noise_step(state)),
                median_gate.median_gate_accept(gate, made, misfit, taken, sigma),
            ):
                found.append(-1 if reason is None else gates.REASONS.index(reason))
    return {"reasons": found}


COARSE_SHARES = (0.96, 1.04)  # of the limit on segment sums


def coarse_segments(half: int) -> float:
    """The limit on segment sums where steps of 0.3 are the noise, at a sigma of 0.1."""
    return gates.JUMP * 0.1**2 + (2 * half + 1) * 0.3**2 / 6.0


def core_gates_of_a_coarse_sensor(core: Core) -> Outcome:
    state, samples = core_noise_state(core)
    found = []
    for shape in WINDOWS.values():
        made = made_window(core, shape)
        fit = fitted(core, made, samples)
        for share in COARSE_SHARES:
            for c in range(2):
                state.sigma[c], state.step[c], fit.misfit[c] = 0.1, 0.3, 0.0
                fit.segments[c] = share * coarse_segments(shape[0])
            found.append(core.lib.tu_gates_accept(made, fit, state, 1.0))
    return {"reasons": found}


@case("gates of a coarse sensor", core_gates_of_a_coarse_sensor)
def reference_gates_of_a_coarse_sensor() -> Outcome:
    found = []
    for half, spacing, poly in WINDOWS.values():
        made = window.window_make(half, spacing, poly, PERIOD)
        for share in COARSE_SHARES:
            segments = np.full(2, share * coarse_segments(half))
            reason = gates.gates_accept(made, np.zeros(2), segments, np.full(2, 0.1), np.full(2, 0.3))
            found.append(-1 if reason is None else gates.REASONS.index(reason))
    return {"reasons": found}


ANGLE = exact(
    np.column_stack([20.0 * TIME[:, 0], 20.0 + np.sin(TIME[:, 0])]) + RANDOM.normal(0.0, [0.4, 0.01], (400, 2))
)
SIGMA = exact(np.array([0.4, 0.01]))
CARRIED = Config(
    channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, rate_channel=(2, 0), wrap=(1, 0)
)  # fmt: skip


def core_angle(core: Core) -> Outcome:
    config, state, made = core.new("tu_config"), core.new("tu_kinematics"), made_window(core, WINDOWS["dense"])
    config.channels, config.sample_period = 2, PERIOD
    config.rate_channel, config.wrap = list(CARRIED.rate_channel), list(CARRIED.wrap)
    core.lib.tu_kinematics_carve(state, core.arena(), config)
    samples, sigma, found = core.new("tu_ring"), core.pointer(SIGMA), []
    core.lib.tu_ring_carve(samples, core.arena(), 41, 2)
    for number, row in enumerate(ANGLE):
        core.lib.tu_ring_push(samples, core.pointer(row))
        if number % 10 == 9:
            core.lib.tu_kinematics_push(state, config, made, sigma, samples, 10)
        if number % 50 == 49:
            fit = fitted(core, made, samples)
            core.lib.tu_kinematics_fuse(state, config, made, sigma, fit)
            core.lib.tu_angle_wrap_window(config.wrap, 2, made.poly, fit)
            found.append(core.read(fit.coefficients, 2, made.poly + 1))
    return {"coefficients": found, "count": core.read(state.count, 2)}


@case("kinematics_fuse, angle_wrap_window", core_angle)
def reference_angle() -> Outcome:
    half, spacing, poly = WINDOWS["dense"]
    made, state, samples = (
        window.window_make(half, spacing, poly, PERIOD),
        kinematics.kinematics_init(2),
        ring.ring_init(41, 2),
    )
    found = []
    for number, row in enumerate(ANGLE):
        ring.ring_push(samples, row)
        if number % 10 == 9:
            kinematics.kinematics_push(state, CARRIED, made, SIGMA, ANGLE[number - 9 : number + 1])
        if number % 50 == 49:
            coefficients, _, _ = window.window_fit(made, ring.ring_window(samples, half, spacing))
            coefficients = kinematics.kinematics_fuse(state, CARRIED, made, coefficients, SIGMA)
            found.append(angle.angle_wrap_window(coefficients, CARRIED.wrap).T)
    return {"coefficients": found, "count": state.count}


SPOILT = STREAM[:80].copy()
SPOILT[::13, 0], SPOILT[7::17, 1] = np.nan, 9.0


def core_repair(core: Core) -> Outcome:
    state, found, flags = core.new("tu_repair"), [], []
    core.lib.tu_repair_carve(state, core.arena(), 2)
    for row in SPOILT:
        taken = core.array(row)
        flags.append(core.lib.tu_repair_push(state, core.pointer([0.02, 0.02]), 1.0, 2, core.pointer(taken)))
        found.append(taken if flags[-1] else np.zeros(2))
    return {"rows": found, "flags": flags}


@case("repair", core_repair)
def reference_repair() -> Outcome:
    state, found, flags = repair.repair_init(2), [], []
    for row in SPOILT:
        done = repair.repair_push(state, row, np.full(2, 0.02))
        found.append(np.zeros(2) if done is None else done[0])
        flags.append(0 if done is None else 1 + 2 * done[1].any() + 4 * done[2].any())
    return {"rows": found, "flags": flags}


CONFIG = Config(channels=2, channel=(0, 1), order=(0, 0), sample_period=PERIOD, on=(1,), sees=(0, 1), max_half=40)


def core_calibrate(core: Core) -> Outcome:
    config, cal, setup, jets = core.new("tu_config"), core.new("tu_calibration"), core.new("tu_setup"), np.zeros(6)
    config.channels, config.states, config.poly, config.dense, config.max_half = 2, 2, CONFIG.poly, 1, CONFIG.max_half
    config.channel, config.sample_period = list(CONFIG.channel), PERIOD
    state, samples = core_noise_state(core)
    gate, fit, tried = core.new("tu_median_gate"), core.new("tu_fit"), core.new("tu_candidate")
    core.lib.tu_median_gate_carve(gate, core.arena(), 2, 0)
    core.lib.tu_fit_carve(fit, core.arena(), 2, CONFIG.poly)
    core.lib.tu_calibrate_carve(cal, setup, core.arena(), config)
    for row in STREAM:
        core.lib.tu_ring_push(samples, core.pointer(row))
        more = core.lib.tu_calibrate_begin(cal, config, 101, tried)
        while more:
            more = core.lib.tu_calibrate_window_slice(cal, config, samples, state, gate, tried, fit, core.pointer(jets))
    sigma_scale = core.array([0.0])
    index = core.lib.tu_calibrate_choose(cal, config, core.pointer(sigma_scale))
    core.lib.tu_calibrate_candidate(cal, config, index, tried)
    while core.lib.tu_window_make_slice(core.ffi.addressof(tried, "window"), core.ffi.addressof(tried, "work")):
        pass
    setup.window, setup.sigma_scale = tried.window, sigma_scale[0]
    core.lib.tu_calibrate_finish(cal, config, state, index, core.ffi.NULL, setup)
    scales = [core.read(part, 2) for part in (setup.scales.x, setup.scales.dx, setup.scales.ddx)]
    return {"half": setup.window.half, "scales": scales, "sigma_scale": setup.sigma_scale, "snr2": setup.snr2}


@case("calibrate", core_calibrate)
def reference_calibrate() -> Outcome:
    state, samples = reference_noise_state()
    cal, gate = calibrate.calibrate_init(CONFIG), median_gate.median_gate_init(2)
    for row in STREAM:
        ring.ring_push(samples, row)
        calibrate.calibrate_window(cal, CONFIG, samples, state, gate, 101)
    setup = calibrate.calibrate_finish(cal, CONFIG, state)
    scales = [setup.scales.x, setup.scales.dx, setup.scales.ddx]
    return {"half": setup.window.half, "scales": scales, "sigma_scale": setup.sigma_scale, "snr2": setup.snr2}
