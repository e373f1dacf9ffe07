"""What a person should know before trusting a fit: sentences that say what is suspicious and what to do about it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model.model import Model
from tinyude.model.windows import Visited
from tinyude.reference.config import Config

Array = NDArray[Any]

GROUPS = 16  # of windows, that must agree on a latency
SURE = 6.0  # standard errors
LEAST_LAG = 0.25  # sample periods
TOGETHER = 1e-6  # of the variance of standardised signals: what is left when they move as one
UNITS_OFF = 30.0  # times the rates in the data that known physics may not be
SHARE_PASSED = 0.5
MOSTLY_NOISE = 0.5  # of the spread of a signal


def concerns(
    model: Model, config: Config, state: Mapping[str, Any], stream: Stream, found: Mapping[str, Any], seen: Visited
) -> list[str]:
    """All that is suspicious about a fit."""
    return [
        *_gates(config, state, found),
        *_sensors(state, stream),
        *_excitation(model, state, found, seen),
        *_noise(config, state, stream, seen),
        *_units(model, config, seen),
        *_latency(model, config, seen),
        *_learning(state, found),
    ]


def _gates(config: Config, state: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    share = found["accepted"] / max(found["windows"], 1)
    if share < SHARE_PASSED:
        yield f"only {share:.0%} of the windows passed the gates; the model speaks for those stretches alone."
    if state["sigma_scale"] > 1.2:
        yield (
            "the sensor noise is not even and white: it grows with speed, the signal is filtered, or the rate is too "
            "low for the dynamics; log raw data with exact time stamps, or sample faster."
        )
    if found["window"]["half_width_samples"] <= 7 and config.dense:
        yield "the shortest windows were needed: the sample rate is low for these dynamics; sample faster if you can."


def _sensors(state: Mapping[str, Any], stream: Stream) -> Iterator[str]:
    for name, step, sigma, turn in zip(stream.names, state["step"], state["sigma"], stream.jumps, strict=True):
        if np.isfinite(step) and step > 2.0 * sigma:
            yield f"{name} moves in steps of {step:.3g}, which is its main noise; a finer sensor would help most."
        if turn:
            yield (
                f"{name} jumps by about {turn:.4g} as an angle does that wraps; say so with wraps = "
                f"{'true' if turn < 7.0 else '360'} in the physics file, or UDE(wraps=...)."
            )
    faults = {
        "values that were not finite numbers": stream.bad,
        "repeated time stamps": stream.repeated,
        "rows less than half a sample period after another": stream.crowded,
        "rows without a time": stream.unstamped,
    }
    told = [f"{count} {fault}" for fault, count in faults.items() if count]
    if told:
        yield f"{' and '.join(told)} were bridged or left out; look after the logger when there are many."


def _excitation(model: Model, state: Mapping[str, Any], found: Mapping[str, Any], seen: Visited) -> Iterator[str]:
    if state["deficient"]:
        yield (
            f"{state['deficient']} learned parameter(s) cannot be told apart from the others in this motion; "
            "excite it differently, or fix them."
        )
    for name, (low, high) in found["visited"].items():
        if low == high:
            yield f"{name} stays at {low:.4g} throughout; how it acts cannot be learned from this record."
    names = [name for name, (low, high) in found["visited"].items() if low < high]
    everything = np.hstack([seen.x, seen.u])[:, [name in names for name in found["visited"]]]
    if len(everything) < 20 or len(names) < 2:
        return
    values, vectors = np.linalg.eigh(np.corrcoef(everything.T))
    if values[0] < TOGETHER:
        tied = [name for name, load in zip(names, vectors[:, 0], strict=True) if abs(load) > 0.3]
        yield (
            f"{' and '.join(tied)} move as one in this record, so what each of them does cannot be told apart; "
            "excite the system in other ways."
        )


def _noise(config: Config, state: Mapping[str, Any], stream: Stream, seen: Visited) -> Iterator[str]:
    for index, (channel, order) in enumerate(zip(config.channel, config.order, strict=True)):
        if order == 0 and len(seen.x) and state["sigma"][channel] > MOSTLY_NOISE * np.std(seen.x[:, index]):
            yield f"{stream.names[channel]} hardly rises above its noise; excite the system more strongly."


def _units(model: Model, config: Config, seen: Visited) -> Iterator[str]:
    """Rates that the known physics and the data see in different units: of time, most often."""
    if len(seen.x) < 20:
        return
    size = np.sqrt(np.mean(seen.dx**2, axis=0))
    known = np.sqrt(np.mean(model.physics.field(seen.x, seen.u if model.physics.n_inputs else None) ** 2, axis=0))
    for index, name in enumerate(model.physics.states):
        derived = (
            model.physics.kinematic[index] is not None
            and config.channel[index] == config.channel[model.physics.kinematic[index] or 0]
        )
        if not derived and known[index] > UNITS_OFF * size[index] > 0.0:
            yield (
                f"the known physics makes d({name})/dt {known[index] / size[index]:.2g} times as large as the data "
                "do; check the units, of time too (milliseconds: [time] scale = 0.001)."
            )
            return


def _latency(model: Model, config: Config, seen: Visited) -> Iterator[str]:
    """A measured rate that runs ahead of, or behind, the derivative of its measured position."""
    for state, rate in enumerate(model.physics.kinematic):
        if rate is None or config.channel[state] == config.channel[rate] or len(seen.x) < 4 * GROUPS:
            continue
        slope, gap = seen.dx[:, rate], seen.dx[:, state] - seen.x[:, rate]
        groups = np.arange(len(slope)) * GROUPS // len(slope)
        cross, square = (np.bincount(groups, product, GROUPS) for product in (gap * slope, slope**2))
        delay = float(cross.sum() / square.sum())
        left_out = (cross.sum() - cross) / (square.sum() - square)
        error = float(np.sqrt((GROUPS - 1) * np.mean((left_out - left_out.mean()) ** 2)))
        if abs(delay) > max(SURE * error, LEAST_LAG * config.sample_period):
            late = rate if delay > 0.0 else state
            yield (
                f"{model.physics.states[late]} seems to lag {abs(delay) * 1e3:.2g} ms behind the other channel; "
                "shift it by that much before fitting."
            )


def _learning(state: Mapping[str, Any], found: Mapping[str, Any]) -> Iterator[str]:
    if found["changes"]:
        times = ", ".join(f"{t:.1f} s" for t in found["changes"])
        yield f"the dynamics changed at {times}; the model follows what came after."
    if state["rolled_back"]:
        yield f"{state['rolled_back']} updates were not finite and were undone."
