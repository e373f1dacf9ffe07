"""The panel of what the known physics lacks: what was learned along the states, what stays unexplained over time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from tinyude.model.evidence import LEFT_LARGE, NEAR_NOISE
from tinyude.report.slices import inputs_at_windows, slice_of
from tinyude.report.svg import Chart

Data = dict[str, Any]
CLOUD = 250
STATES, AXES = 3, 4  # pictured at most
FIRST, FURTHER, MOST = (
    430.0,
    170.0,
    770.0,
)  # height, about that of the free run beside: of one signal, of each other one
BAND = 2.0  # standard deviations of noise


def missing_slices(ude: Any, verdict: Mapping[str, Any] | None, units: Mapping[str, str]) -> list[Data]:
    """A picture for every state that something was learned for, along the states; then what stays unexplained."""
    found = []
    channels = len(ude.measured or ude.model_.physics.states)
    size = (500.0, min(FIRST + FURTHER * (channels - 1), MOST))
    states = ude.model_.physics.states
    inputs = inputs_at_windows(ude.record_, ude.model_.physics.n_inputs)
    learned = [s for s in ude.model_.on if np.any(ude.residual(ude.record_["x"], inputs)[:, s] != 0.0)]
    for state in learned[:STATES]:
        first = slice_of(ude, states[state])["against"]
        for against in sorted(states, key=lambda name: name != first)[:AXES]:
            part = slice_of(ude, states[state], against)
            svg = _learned_svg(part, units, size)
            found.append({
                "state": part["state"], "against": against, "svg": svg, "learned": True,
                "windows": len(part["data"]) > 0,
            })  # fmt: skip
    return found + _unexplained_slices(ude, verdict, units, size)


def _learned_svg(part: Data, units: Mapping[str, str], size: tuple[float, float]) -> str:
    ends = [part[name] for name in ("learned", "low", "high") if name in part]
    low, high = float(np.min(ends)), float(np.max(ends))
    if len(part["data"]):
        cloud = np.quantile(part["data"], [0.02, 0.98])
        low, high = min(low, float(cloud[0])), max(high, float(cloud[1]))
    margin = 0.08 * (high - low or 1.0)
    unit = units.get(part["state"])
    chart = Chart(
        (float(part["axis"][0]), float(part["axis"][-1])), (low - margin, high + margin),
        x_label=label(part["against"], units), size=size,
        y_label=f"added to d({part['state']})/dt" + (f", {rate_unit(unit)}" if unit else ""),
        alt=f"What was learned in d({part['state']})/dt against {part['against']}: from {part['learned'][0]:.3g} at "
        f"{part['axis'][0]:.3g} to {part['learned'][-1]:.3g} at {part['axis'][-1]:.3g}.",
    )  # fmt: skip
    chart.across(0.0, "axis")
    stride = max(1, len(part["at"]) // CLOUD)
    chart.dots(part["at"][::stride], part["data"][::stride], "windows")
    if "low" in part:
        chart.band(part["axis"], part["low"], part["high"], "interval")
    chart.line(part["axis"], part["learned"], "model thick")
    return chart.draw()


def _unexplained_slices(
    ude: Any, verdict: Mapping[str, Any] | None, units: Mapping[str, str], size: tuple[float, float]
) -> list[Data]:
    """What the model leaves of a rate over time, where that is more than noise: the shape of what is forgotten."""
    record, states, found = ude.record_, ude.model_.physics.states, []
    shares = verdict["figures"].get("unexplained", {}) if verdict else {}
    for state, share in shares.items():
        if "left" not in record or share["share"] < max(NEAR_NOISE * share["noise"], LEFT_LARGE):
            continue
        left, t = record["left"][:, states.index(state)], record["window_t"]
        noise = BAND * float(np.sqrt(np.mean(left**2))) * share["noise"] / share["share"]
        high = 1.08 * max(float(np.quantile(np.abs(left), 0.99)), noise)
        unit = units.get(state)
        chart = Chart(
            (float(t[0]), float(t[-1])), (-high, high), x_label="t, s", size=size,
            y_label=f"unexplained of d({state})/dt" + (f", {rate_unit(unit)}" if unit else ""),
            alt=f"What stays unexplained of d({state})/dt over time: to {high / 1.08:.3g}; noise {noise / BAND:.2g}.",
        )  # fmt: skip
        chart.box((float(t[0]), float(t[-1])), (-noise, noise), "interval")
        chart.across(0.0, "axis")
        chart.line(t, left, "model")
        found.append({"state": state, "against": "t", "svg": chart.draw(), "learned": False})
    return found


def rate_unit(unit: str) -> str:
    """The unit of a rate: rad/s for rad, rad/s² for rad/s."""
    return re.sub(r"/s$", "/s²", unit) if unit.endswith("/s") else f"{unit}/s"


def label(name: str, units: Mapping[str, str]) -> str:
    """The name with its unit."""
    return f"{name}, {units[name]}" if units.get(name) else name
