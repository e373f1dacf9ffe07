"""Collects the evidence for a verdict from a fit, its windows and the record."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model import jackknife
from tinyude.model.changed_dynamics import dynamics_changes
from tinyude.model.collinear import replaced_parameters
from tinyude.model.delays import delays
from tinyude.model.evidence import Driver, Evidence, Innovations, Lag, Sensor, Unexplained
from tinyude.model.input_effects import input_effects
from tinyude.model.model import Model
from tinyude.model.other_values import other_values
from tinyude.model.probes import characteristic_seconds, run_errors, unseen_runs
from tinyude.model.result import FitResult, learner_part
from tinyude.model.simulation import outside
from tinyude.model.start_state import Measuring
from tinyude.model.windows import Windows
from tinyude.model.wrong_physics import AS_WELL, corrections, remainder
from tinyude.model.wrong_values import addends, net_values, similar_terms, wrong_values
from tinyude.physics import Physics
from tinyude.reference.numeric.elementary import TWO_PI
from tinyude.reference.numeric.statistics import MEDIAN

Array = NDArray[Any]

TOGETHER = 1e-6  # of the variance of standardised signals: smallest eigenvalue below which they are collinear
FEWEST = 20  # windows needed for figures
SHORTEST = 4  # samples, half of a window: the sample rate is low for the motion
STEEP = 0.1  # of the largest slope of an input: where the effect of its slope is visible
HARDLY_ANY = 0.1  # of a rate's difference: what remains of it after a lag (a long one is not only a shift)
RESTED = 3.0  # steps that a coarse channel moves at once after a rest
STUCK = 25  # consecutive equal samples that do not occur in a working sensor


def collect_evidence(
    result: FitResult,
    seen: Windows,
    stream: Stream,
    *,
    given: Physics,
    held_out: str = "",
    unused: Mapping[str, tuple[Array, Array]] | None = None,
) -> Evidence:
    """Measure a fitted model on a record.

    Parameters
    ----------
    result : FitResult
        Of the fit: model, noise, counters, diagnostics.
    seen : Windows
        Accepted windows of the record.
    stream : Stream
        The record: the one that was fitted, or one that the fit has not seen.
    given : Physics
        The known physics as it was before the fit.
    held_out : str
        The name of a record that the fit has not seen; "" for the one it was fitted to.
    unused : mapping of str to (times, values), optional
        Logged columns that the model does not use.
    """
    common = _of_the_record(result, seen, stream, held_out)
    if len(seen) < FEWEST:
        return Evidence(**common, nets=net_values(result.model, result.diagnostics.get("term_shares")))
    rates = _of_the_rates(result, seen, unused or {}) | _of_the_physics(result, seen)
    runs = run_errors(result.model, stream, seen, given, result.diagnostics.get("holds") or "held")
    columns = np.hstack([seen.x, seen.u])
    covered = _outside(result, (*result.model.physics.states, *result.model.physics.inputs), columns, held_out)
    return Evidence(
        **common,
        **rates,
        runs=runs,
        cycles=common["seconds"] / (TWO_PI * max(characteristic_seconds(seen, derived=True), 1e-12)),
        apart=stream.count / (2.0 * seen.usual + 1.0),
        outside=covered[0],
        outside_total=covered[1],
    )


def _of_the_record(result: FitResult, seen: Windows, stream: Stream, held_out: str) -> dict[str, Any]:
    """What the record, its sensors and the course of the fit tell; needs no windows."""
    model, found, counters = result.model, result.diagnostics, result.counters
    noise = learner_part(result.calibration)
    through = {term.input for term in model.physics.input_terms}  # what acts there is learned, moved or not
    return {
        "states": model.physics.states,
        "inputs": model.physics.inputs,
        "held_out": held_out,
        "samples": stream.count,
        "seconds": stream.count * stream.period,
        "period": stream.period,
        "windows": len(seen),
        "passed": seen.passed if held_out or not counters.windows else counters.accepted / counters.windows,
        "passed_time": seen.passed,
        "sensors": _sensors(stream, noise.sigma, noise.step),
        "parameters": _parameters(model, found),
        "deficient": counters.deficient,
        "network": dict(found.get("network", {})),
        "faults": {
            "values that were no numbers, or far beyond all others,": stream.bad,
            "repeated time stamps": stream.repeated,
            "rows without a time": stream.unstamped,
        },
        "changed_at": list(found.get("changes", ())),
        "rolled_back": counters.rolled_back,
        "uneven_noise": noise.sigma_scale,
        "constant": {
            name: low for name, (low, high) in found["visited"].items() if low == high and name not in through
        },
        "innovations": None if held_out else _innovations(found.get("innovations", {})),
        "held_back": _held_back(found),
        "held_back_count": int(found.get("refinement", {}).get("held_back_runs", 0)),
        "following": list(found.get("refinement", {}).get("following", ())),
        "input_shifts": {name: shift for name, (_, shift) in found.get("holds", {}).items() if shift},
    }


def _of_the_rates(result: FitResult, seen: Windows, unused: Mapping[str, tuple[Array, Array]]) -> dict[str, Any]:
    """What the model leaves of the rates, and which signals that follows."""
    model, found = result.model, result.diagnostics
    field = model.field(seen.node_x, seen.inputs)
    left = seen.dx - seen.view(field)
    alone = seen.view(np.asarray(model.physics.stated.field(seen.node_x, seen.inputs)))
    states = {model.physics.states[i]: i for i in model.on}
    known, rates = seen.rms(alone), seen.rms(seen.dx)
    return {
        "shortest": seen.usual <= SHORTEST,
        "unexplained": {name: _unexplained(seen, left, alone, i) for name, i in states.items()},
        "sizes": {name: (float(known[i]), float(rates[i])) for name, i in states.items()},
        "drivers": _drivers(model, seen, left, seen.dx - alone, unused),
        "tied": _tied(model, seen),
        "dynamics_changes": dynamics_changes(model, seen),
        "lags": _lags(model, seen, field, found.get("innovations", {}).get("shifts", {})),
    }


def _of_the_physics(result: FitResult, seen: Windows) -> dict[str, Any]:
    """What contradicts the known part: its values, signs, units and the effects of its inputs.

    The coefficient of one of several collinear terms says nothing: only their sum is determined.
    """
    model, together = result.model, result.diagnostics.get("collinear", {})
    alike, corrected = similar_terms(model, seen), corrections(model, seen)
    nets = net_values(model, result.diagnostics.get("term_shares"), alike)
    return {
        "corrections": corrected,
        "delays": [] if corrected else delays(model, seen),
        "addends": addends(model, seen),
        "replaced": replaced_parameters(model, seen),
        "nets": [net for net in nets if net.term not in together.get(net.state, {}).get("terms", ())],
        "values": wrong_values(model, seen, alike),
        "other_values": other_values(model, seen, alike),
        "effects": input_effects(model, seen),
    }


def hidden_evidence(
    result: FitResult, stream: Stream, *, given: Physics, measured: Measuring, held_out: str = ""
) -> Evidence:
    """Evidence for a model with unmeasured states: held-back free runs instead of windows.

    On a record that the fit has not seen, free runs over its runs, which need to know how states are measured.
    """
    model, found = result.model, result.diagnostics
    refinement = found["refinement"]
    if held_out:
        (errors, count), innovations = unseen_runs(model, given, stream, measured), None
    else:
        errors, count = _held_back(found), int(refinement["held_back_runs"])
        innovations = _innovations(found.get("innovations", {}))
    sigma, step = np.atleast_1d(found["noise"]), np.full(len(stream.names), np.nan)
    rows = np.concatenate([np.hstack([run.samples, run.inputs]) for run in stream.runs])
    covered = _outside(result, (*stream.names, *model.physics.inputs), rows, held_out)
    return Evidence(
        model.physics.states,
        model.physics.inputs,
        held_out,
        samples=stream.count,
        seconds=stream.count * stream.period,
        period=stream.period,
        windows=stream.count if held_out else int(refinement["rows"]),
        sensors=_sensors(stream, sigma, step),
        parameters=_parameters(model, found),
        network=dict(found.get("network", {})),
        held_back=errors,
        following=list(refinement.get("following", ())),
        held_back_count=count,
        innovations=innovations,
        outside=covered[0],
        outside_total=covered[1],
    )


def _innovations(found: Mapping[str, Any]) -> Innovations | None:
    if not found:
        return None
    auto = max((float(np.max(np.abs(values[1:]))), name) for name, values in found["auto"].items())
    crossed = [
        (float(np.max(np.abs(values))), name, used)
        for name, inputs in found["cross"].items()
        for used, values in inputs.items()
    ]
    return Innovations(auto, max(crossed, default=(0.0, "", "")), float(found["bound"]))


def _held_back(found: Mapping[str, Any]) -> dict[str, float]:
    """Mean held-back free-run error of the candidates; that of the best under ""."""
    refinement = found.get("refinement")
    if refinement is None:
        return {}
    errors = {str(c["name"]): float(c["error"]) for c in refinement["candidates"] if c["error"] is not None}
    return errors | ({"": errors[refinement["best"]]} if refinement["best"] in errors else {})


def _unexplained(seen: Windows, left: Array, alone: Array, i: int) -> Unexplained:
    size, floor = max(float(seen.rms(seen.dx)[i]), 1e-300), float(seen.rms(seen.floor)[i])
    own, known = (_spread(np.sqrt(seen.weight[:, i]) * e[:, i], floor) for e in (left, seen.dx - alone))
    return Unexplained(own / size, max(known, 1e-300) / size, floor / size)


def rates_over_noise(model: Model, seen: Windows) -> float:
    """A model's remainder of the rates relative to sensor noise: the largest of all residual states."""
    with np.errstate(all="ignore"):
        left = np.nan_to_num(seen.dx - seen.view(model.field(seen.node_x, seen.inputs)), nan=np.inf)
    return max((_unexplained(seen, left, seen.dx, i).over_noise for i in model.on), default=0.0)


def _spread(values: Array, floor: float) -> float:
    """RMS with outlying windows clipped, or the RMS that the median implies for normal errors, whichever is larger."""
    middle = MEDIAN * float(np.median(np.abs(values)))
    tamed = np.minimum(np.abs(values), 6.0 * max(middle, floor))
    return max(middle, float(np.sqrt(np.mean(tamed**2))))


def _drivers(
    model: Model, seen: Windows, left: Array, missing: Array, unused: Mapping[str, tuple[Array, Array]]
) -> list[Driver]:
    """Signals that correlate with the model's remainder; an unused column also with that of the known physics alone.

    Library terms can partly mimic a forgotten input, and then hide it from the remainder.
    """
    signals: list[tuple[str, str, Array]] = []
    last = np.append(seen.first[1:], len(seen.owner)) - 1
    for index, name in enumerate(model.physics.inputs):
        signals.append((name, "input", seen.u[:, index]))
        signals.append((name, "slope of input", seen.node_u[last, index] - seen.node_u[seen.first, index]))
    for name, (times, values) in unused.items():
        good = np.isfinite(times) & np.isfinite(values)
        if np.sum(good) > FEWEST and np.ptp(values[good]) > 0.0:
            signals.append((name, "unused column", np.interp(seen.times, times[good], values[good])))
    spacing = np.gradient(seen.centre.astype(np.float64)) if len(seen) > 1 else np.ones(1)
    apart = np.clip(spacing / (2 * seen.half + 1), 0.0, 1.0)  # overlapping windows are not independent
    scale = np.sqrt(seen.weight)
    found = []
    for name, kind, values in signals:
        rows = np.abs(values) > STEEP * np.max(np.abs(values)) if kind == "slope of input" else slice(None)
        for i in model.on:
            own, whole = (scale[rows, i] * e[rows, i] for e in (left, missing))
            signal = scale[rows, i] * values[rows]
            correlation = _correlation(own, signal)
            if kind == "unused column":
                correlation = max(correlation, _correlation(whole, signal), key=abs)
            freedom = max(float(np.sum(apart[rows])) - 2.0, 0.0)
            strength = abs(correlation) * np.sqrt(freedom / max(1.0 - correlation**2, 1e-6))
            found.append(Driver(name, kind, model.physics.states[i], correlation, float(strength)))
    return sorted(found, key=lambda driver: -abs(driver.correlation))


def _correlation(a: Array, b: Array) -> float:
    if len(a) < FEWEST:
        return 0.0
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(a @ b) / size if size > 0.0 else 0.0


def _tied(model: Model, seen: Windows) -> list[str]:
    """Signals of which one is a linear combination of the others throughout."""
    names = (*model.physics.states, *model.physics.inputs)
    columns = np.hstack([seen.x, seen.u])
    moving = np.ptp(columns, axis=0) > 0.0
    if len(columns) < FEWEST or moving.sum() < 2:
        return []
    values, vectors = np.linalg.eigh(np.corrcoef(columns[:, moving].T))
    noise = np.concatenate([np.median(seen.x_error, axis=0), np.zeros(seen.u.shape[1])])[moving]
    noise = vectors[:, 0] ** 2 @ (noise / columns[:, moving].std(axis=0)) ** 2  # of that combination
    if values[0] > TOGETHER + 2.0 * noise:
        return []
    used = [name for name, m in zip(names, moving, strict=True) if m]
    return [name for name, load in zip(used, vectors[:, 0], strict=True) if abs(load) > 0.3]


def _lags(model: Model, seen: Windows, field: Array, shifts: Mapping[str, Sequence[float]]) -> list[Lag]:
    """Measured rates compared with the derivative of their position, both filtered by the same windows.

    For a refined model, the innovations give the lag too, and more precisely.
    """
    found, names = [], model.physics.states
    for state, rate in enumerate(model.physics.kinematic):
        if rate is None or seen.channel[state] == seen.channel[rate] or len(seen) < 4 * jackknife.GROUPS:
            continue
        scale = np.sqrt(seen.weight[:, state])
        rates, slope = (scale * seen.seen(values[:, rate], state) for values in (seen.node_x, field))
        target = scale * seen.dx[:, state]
        factor, factor_error = jackknife.ratio(target, rates)
        lag, error = jackknife.ratio(target - rates, slope)
        if names[state] in shifts and names[rate] in shifts:
            (ahead, doubt), (other, more) = shifts[names[state]], shifts[names[rate]]
            lag, error = _pooled((lag, error), (ahead - other, float(np.hypot(doubt, more))))
        if state in model.on:  # a missing term may look like a lag, which then explains less
            left = float(np.linalg.norm(target - scale * seen.seen(field[:, [state]], state)[:, 0]))
            most = max(AS_WELL * left, HARDLY_ANY * remainder(rates[:, None], target))
            lag = lag if remainder(np.column_stack([rates, slope]), target) < most else 0.0
        found.append(Lag(names[state], names[rate], lag, error, factor, factor_error))
    return found


def _pooled(*estimates: tuple[float, float]) -> tuple[float, float]:
    """Estimates with their errors, combined."""
    weights = np.array([1.0 / max(error, 1e-300) ** 2 for _, error in estimates])
    return float(weights @ [value for value, _ in estimates] / weights.sum()), float(1.0 / np.sqrt(weights.sum()))


def _sensors(stream: Stream, sigmas: Array, steps: Array) -> list[Sensor]:
    run, answer = stream.longest, []
    for index, name in enumerate(stream.names):
        column = run.samples[:, index]
        good = column[np.isfinite(column)]
        step = float(steps[index])
        share, where = _stuck(column, step if step >= sigmas[index] and np.isfinite(step) else 0.0)
        ends = np.isin(good, [good.min(), good.max()]) if len(good) else np.zeros(1, bool)
        both = np.concatenate([[False], ends[1:] & ends[:-1] & (np.diff(good) == 0.0)]) if len(good) > 1 else ends
        answer.append(
            Sensor(
                name,
                float(sigmas[index]),
                float(np.std(good)) if len(good) else 0.0,
                step if np.isfinite(step) else float("nan"),
                share,
                None if where is None else (run.start + where[0] * stream.period, run.start + where[1] * stream.period),
                float(np.mean(both)),
                float(stream.revolutions[index]) if stream.revolutions else 0.0,
                1.0 if stream.held is None else float(stream.held[index]),
            )
        )
    return answer


def _stuck(column: Array, step: float) -> tuple[float, tuple[int, int] | None]:
    """Share of samples in long stretches of one value, and the longest stretch.

    step: of a coarse channel, which also keeps a value while the machine is at rest; but that ends with a single step.
    """
    edges = np.flatnonzero(np.diff(column) != 0.0)
    begins, ends = np.concatenate([[0], edges + 1]), np.concatenate([edges + 1, [len(column)]])
    lengths = ends - begins
    usual = np.quantile(lengths, 0.9) if len(lengths) else 1.0
    long = lengths > max(STUCK, 10.0 * usual)
    if step:
        long[:-1] &= np.abs(np.diff(column)[edges]) > RESTED * step
        long[-1] = False
    if not long.any():
        return 0.0, None
    longest = int(np.argmax(np.where(long, lengths, 0)))
    return float(lengths[long].sum() / len(column)), (int(begins[longest]), int(ends[longest]))


def _parameters(model: Model, found: Mapping[str, Any]) -> list[dict[str, Any]]:
    rows = []
    kept = found.get("refinement", {}).get("best") == "known"  # the given values predict best
    for name, value, low, high in found.get("parameters", ()):
        bounds = model.physics.parameters[name]
        span = 1e-6 * max(abs(value), 1e-12)
        at = "lower" if value <= bounds.min + span else "upper" if value >= bounds.max - span else ""
        limit = bounds.min if at == "lower" else bounds.max
        rows.append({"name": name, "value": value, "low": low, "high": high, "at": at, "limit": limit, "kept": kept})
    return rows


def _outside(result: FitResult, names: Sequence[str], columns: Array, held_out: str) -> tuple[dict[str, float], float]:
    """Share of an unseen record in which each signal is outside the range of the fit, and in which any is."""
    if not held_out:
        return {}, 0.0
    left = outside(columns, names, result.diagnostics["visited"], result.model.physics.angles)
    rows = np.zeros(len(columns), dtype=bool)
    for _, _, where in left:
        rows[where] = True
    return {name: len(where) / len(columns) for name, _, where in left}, float(rows.mean())
