"""What a user needs to know to trust a fit: figures, and warnings they can act on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude import native
from tinyude.model import Model
from tinyude.presets import chip_config
from tinyude.reference.config import Config
from tinyude.reference.gates import REASONS
from tinyude.reference.window import window_make
from tinyude.streams import Stream
from tinyude.windows import run_jets
from tinyude.words import interval_factor, term_table

Array = NDArray[Any]
EXCERPT = 2000  # rows kept of the record, for pictures
PICTURED_WINDOWS = 400


def diagnose(
    model: Model, config: Config, state: Mapping[str, Any], stream: Stream, preset: str, engine: str, precision: str
) -> dict[str, Any]:
    window_seconds = state["window_half"] * state["window_spacing"] * config.sample_period
    sigma = np.asarray(state["sigma"], dtype=np.float64)
    factor = interval_factor(config.groups)
    memory = native.memory(config, "float32") if native.available() else {}
    x, dx = visited(config, state, stream)
    diagnostics: dict[str, Any] = {
        "preset": preset,
        "engine": engine,
        "precision": precision,
        "samples": int(state["samples"]),
        "noise": sigma,
        "noise_relative": sigma / stream.rms,
        "window": {
            "half_width_samples": int(state["window_half"] * state["window_spacing"]),
            "half_width_seconds": window_seconds,
            "samples": 2 * int(state["window_half"]) + 1,
            "spacing": int(state["window_spacing"]),
        },
        "windows": int(state["windows"]),
        "accepted": int(state["accepted"]),
        "rejected": {reason: int(n) for reason, n in zip(REASONS, state["rejected"], strict=True)},
        "filled": int(state["filled"]) + stream.missing,
        "outliers": int(state["replaced"]),
        "repeated_times": stream.repeated,
        "second_order": float(state["second_order"]),
        "snr2": float(state["snr2"]),
        "static_bytes": int(memory.get("total", 0)),
        "memory": memory,
        "chip_bytes": chip_bytes(model, config) if native.available() else 0,
        "updates": int(state["updates"]),
        "rolled_back": int(state["rolled_back"]),
        "changes": [float(tick) * config.sample_period for tick in state["changed_at"][: int(state["changes"])]],
        "terms": term_table(model, config.groups),
        "parameters": [
            (name, p.value, p.value - factor * e, p.value + factor * e)
            for name, e in zip(model.physics.learned, model.parameter_errors, strict=True)
            for p in (model.physics.parameters[name],)
        ],
        "network": network_share(model, x, stream),
    }
    diagnostics["warnings"] = warnings_for(model, config, state, stream, diagnostics, x, dx)
    return diagnostics


def chip_bytes(model: Model, config: Config) -> int:
    """Arena of the same learner on a microcontroller, in float32, offered the terms that proved their worth here."""
    kept = int(np.sum(model.errors.any(axis=0)))
    return native.memory(chip_config(config, max(kept, 4)), "float32")["total"]


def visited(config: Config, state: Mapping[str, Any], stream: Stream) -> tuple[Array, Array]:
    """States and derivatives at some hundred good windows of the record."""
    window = window_make(state["window_half"], state["window_spacing"], config.poly, stream.period)
    sigma = state["sigma"] * state["sigma_scale"]
    stride = max(config.stride, stream.count // PICTURED_WINDOWS)
    parts = [run_jets(config, window, run.samples, sigma, state["step"], stride) for run in stream.runs]
    return np.concatenate([p[1] for p in parts]), np.concatenate([p[2] for p in parts])


def network_share(model: Model, x: Array, stream: Stream) -> dict[str, float]:
    """For each residual state, the share of the learned residual's RMS that the network carries."""
    if len(x) == 0:
        used = [bool(model.hidden) and bool(on) for on in model.network_on]
        return {model.physics.states[i]: float(on) for i, on in zip(model.on, used, strict=True)}
    u = np.zeros((len(x), model.physics.n_inputs)) if model.physics.n_inputs else None
    network, total = model.network(x, u), model.residual(x, u)
    shares = {}
    for i in model.on:
        size, own = float(np.sqrt(np.mean(total[:, i] ** 2))), float(np.sqrt(np.mean(network[:, i] ** 2)))
        shares[model.physics.states[i]] = min(1.0, own / size) if own > 0.0 else 0.0
    return shares


def warnings_for(
    model: Model,
    config: Config,
    state: Mapping[str, Any],
    stream: Stream,
    found: Mapping[str, Any],
    x: Array,
    dx: Array,
) -> list[str]:
    """Sentences that say what is suspicious and what to do about it."""
    said = []
    names = stream.names
    share = found["accepted"] / max(found["windows"], 1)
    if share < 0.5:
        said.append(f"only {share:.0%} of the windows passed the gates; the model speaks for those stretches alone.")
    if state["sigma_scale"] > 1.2:
        said.append(
            "the sensor noise is not white: a filtered signal, or a rate too low for the dynamics; "
            "log raw data, or sample faster."
        )
    for name, step, sigma in zip(names, state["step"], state["sigma"], strict=True):
        if np.isfinite(step) and step > 2.0 * sigma:
            said.append(
                f"{name} moves in steps of {step:.3g}, which is its main noise; a finer sensor would help most."
            )
    if found["window"]["half_width_samples"] <= 7 and config.dense:
        said.append(
            "the shortest windows were needed: the sample rate is low for these dynamics; sample faster if you can."
        )
    if state["deficient"]:
        said.append(
            f"{state['deficient']} learned parameter(s) cannot be told apart from the others in this motion; "
            "excite it differently, or fix them."
        )
    if found["changes"]:
        times = ", ".join(f"{t:.1f} s" for t in found["changes"])
        said.append(f"the dynamics changed at {times}; the model follows what came after.")
    if state["rolled_back"]:
        said.append(f"{state['rolled_back']} updates were not finite and were undone.")
    said += _latency(model, config, x, dx)
    return said


def _latency(model: Model, config: Config, x: Array, dx: Array) -> list[str]:
    """A measured rate that runs ahead of, or behind, the derivative of its measured position."""
    said = []
    for state, rate in enumerate(model.physics.kinematic):
        if rate is None or config.channel[state] == config.channel[rate] or len(x) < 20:
            continue
        slope = dx[:, rate]
        gap = dx[:, state] - x[:, rate]
        delay = float(gap @ slope / (slope @ slope))
        scatter = float(np.sqrt(np.mean((gap - delay * slope) ** 2) / (slope @ slope)))
        if abs(delay) > 6.0 * scatter and abs(delay) > 0.25 * config.sample_period:
            late = rate if delay > 0.0 else state
            said.append(
                f"{model.physics.states[late]} seems to lag {abs(delay) * 1e3:.2g} ms behind the other channel; "
                "shift it by that much before fitting."
            )
    return said


def record_excerpt(config: Config, state: Mapping[str, Any], stream: Stream) -> dict[str, Array]:
    """A stretch of the data with the states and derivatives estimated in it."""
    run = stream.longest
    rows = min(len(run.samples), 10 * EXCERPT)
    thin = max(1, rows // EXCERPT)
    window = window_make(state["window_half"], state["window_spacing"], config.poly, stream.period)
    sigma = state["sigma"] * state["sigma_scale"]
    stride = max(config.stride, rows // PICTURED_WINDOWS)
    centre, x, dx = run_jets(config, window, run.samples[:rows], sigma, state["step"], stride)
    return {
        "t": run.start + np.arange(0, rows, thin) * stream.period,
        "Y": run.samples[:rows:thin],
        "u": run.inputs[:rows:thin],
        "window_t": run.start + centre * stream.period,
        "x": x,
        "dx": dx,
    }
