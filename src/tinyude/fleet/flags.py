"""Findings of all quantities put together: the state of each machine, and the reason in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.fleet.watch import FALSE_ALARMS, LEVEL, STEP, TREND, Findings, Panel, examine

Array = NDArray[Any]

ACT, WATCH, HEALTHY, SILENT = "act", "watch", "healthy", "silent"
LEAST = 0.02  # share of the fleet's mean below which a deviation is not reported
SERIOUS = 0.20  # share from which on it is "act now"
UNEXPLAINED = "the unexplained rate"  # the name of that quantity
OF_FIGURES = 0.1  # share of the false alarms that noise and unexplained rate may raise
LEAST_FACTOR, SERIOUS_FACTOR = 1.3, 2.0  # the same for noise and unexplained rate, as a factor


@dataclass(frozen=True)
class Quantity:
    """A figure that every machine reports: a coefficient, or the log of a positive figure."""

    name: str  # its name in messages, e.g. "tanh(20*omega)"
    panel: Panel
    key: tuple[str, str] = ("", "")  # state and term of a coefficient
    known: float = 0.0  # its value in the known physics, which the panel's values contain
    logarithm: bool = False


@dataclass(frozen=True)
class Clock:
    """Units of time in messages: weeks for dates, numbers for other periods."""

    periods: tuple[str, ...]
    times: Array  # weeks, or the number of the period
    unit: str  # "week" or "period"


@dataclass(frozen=True)
class Flag:
    """One reason why a machine is not healthy."""

    machine: str
    state: str  # ACT or WATCH
    quantity: str
    kind: str  # LEVEL, TREND or STEP
    effect: float  # deviation, drift over the record or step, as a share of the fleet's mean (or a factor minus 1)
    p: float  # chance of as much in a healthy machine, for all tests of a machine together
    since: str  # period after which it changed; "" where it did not
    reason: str


def raise_flags(
    machines: Sequence[str], quantities: Sequence[Quantity], clock: Clock, false_alarms: float = FALSE_ALARMS
) -> tuple[list[Flag], list[Findings]]:
    """Flags of all machines, the most serious first, and the findings of each quantity.

    Of a machine's flags of one quantity only the clearest is reported. At most `false_alarms` of healthy machines are
    flagged: a machine's tests share that chance.
    """
    findings = [examine(quantity.panel) for quantity in quantities]
    flags = []
    for quantity, found, share in zip(quantities, findings, _shares(quantities), strict=True):
        p = np.minimum(found.chances() / share, 1.0)
        for number in map(int, np.flatnonzero(p.min(axis=0) <= false_alarms)):
            if flag := _flag(machines[number], number, quantity, found, p[:, number], clock, false_alarms):
                flags.append(flag)
    flags.sort(key=lambda flag: (flag.state != ACT, -abs(flag.effect), flag.p, flag.machine))
    return flags, findings


def _shares(quantities: Sequence[Quantity]) -> list[float]:
    """The share of the false alarms that each quantity may raise.

    Coefficients have most of it. Noise and unexplained rate are reported from a factor of 1.3 on, far beyond what
    they vary by in healthy machines.
    """
    figures = sum(quantity.logarithm for quantity in quantities)
    coefficients = len(quantities) - figures
    of_figures = OF_FIGURES if coefficients else 1.0
    return [
        of_figures / figures if quantity.logarithm else (1.0 - OF_FIGURES * bool(figures)) / coefficients
        for quantity in quantities
    ]


def _flag(
    machine: str, number: int, quantity: Quantity, found: Findings, p: Array, clock: Clock, false_alarms: float
) -> Flag | None:
    changes = min(p[1], p[2]) <= false_alarms
    kind = (TREND if found.trend_fits[number] and p[1] <= false_alarms else STEP) if changes else LEVEL
    if kind == STEP and p[2] > false_alarms:
        kind = TREND
    span = float(np.ptp(clock.times[np.isfinite(quantity.panel.values[number])]))
    size = {LEVEL: found.level[number] - found.fleet.mean, TREND: found.slope[number] * span, STEP: found.step[number]}
    effect, relative = _effect(float(size[kind]), found, quantity.logarithm)
    least, serious = (LEAST_FACTOR - 1.0, SERIOUS_FACTOR - 1.0) if quantity.logarithm else (LEAST, SERIOUS)
    if (quantity.logarithm and effect < 0.0) or abs(effect) < least:
        return None
    chance = float(p[{LEVEL: 0, TREND: 1, STEP: 2}[kind]])
    since = clock.periods[int(found.step_at[number]) - 1] if kind == STEP else ""
    words = _words(kind, quantity, found, number, clock, effect, relative, since)
    return Flag(machine, ACT if abs(effect) >= serious else WATCH, quantity.name, kind, effect, chance, since, words)


def _effect(size: float, found: Findings, logarithm: bool) -> tuple[float, bool]:
    """A deviation as a share of the fleet's mean; in units of its spread if the mean is close to 0."""
    if logarithm:
        return float(np.expm1(size)), True
    if abs(found.fleet.mean) > 2.0 * found.fleet.spread:
        return size / found.fleet.mean, True
    return size / max(found.fleet.spread, found.variation, 1e-300), False


def _words(
    kind: str, quantity: Quantity, found: Findings, number: int, clock: Clock, effect: float, relative: bool, since: str
) -> str:
    name = quantity.name
    amount = _percent(effect) if relative else f"{abs(effect):.1f} times the fleet's spread"
    up = effect > 0.0
    if kind == LEVEL:
        return f"{name} is {amount} {'above' if up else 'below'} the fleet"
    if kind == STEP:
        return f"{name} stepped {'up' if up else 'down'} by {amount} after {since}"
    scale = 1.0 if quantity.logarithm else found.fleet.mean if relative else max(found.fleet.spread, 1e-300)
    ends = sorted(100.0 * float(end[number]) / scale for end in (found.slope_low, found.slope_high))
    rate = 100.0 * float(found.slope[number]) / scale
    verb = "rises" if up else "falls"
    unit = "%" if relative else "% of the fleet's spread"
    low, high = sorted(abs(end) for end in ends)
    return f"{name} {verb} by {abs(rate):.2g} {unit} a {clock.unit} ({low:.2g} to {high:.2g}), {amount} in all"


def _percent(share: float) -> str:
    share = abs(share)
    return f"a factor of {1.0 + share:.2g}" if share >= 1.0 else f"{100.0 * share:.2g} %"


def machine_states(
    machines: Sequence[str], flags: Sequence[Flag], silent: Mapping[str, str]
) -> dict[str, tuple[str, list[str]]]:
    """State and reasons of every machine; one that no longer reports is silent, whatever it reported before."""
    states: dict[str, tuple[str, list[str]]] = {machine: (HEALTHY, []) for machine in machines}
    for flag in flags:
        state, reasons = states[flag.machine]
        states[flag.machine] = (ACT if ACT in (state, flag.state) else WATCH, [*reasons, flag.reason])
    for machine, reason in silent.items():
        state, reasons = states.get(machine, (HEALTHY, []))
        states[machine] = (state if state == ACT else SILENT, [*reasons, reason])
    return states
