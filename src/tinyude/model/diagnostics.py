"""The diagnostics of a fit: noise, windows, counters, terms, the network's share, the visited range."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.data.streams import Stream
from tinyude.model.equations import parameter_table, term_table
from tinyude.model.model import Model
from tinyude.model.reason import NOTE
from tinyude.model.result import FitResult, learner_part
from tinyude.model.verdict import Verdict
from tinyude.model.windows import Windows
from tinyude.reference.signal.gates import REASONS

Array = NDArray[Any]
EXCERPT = 2000  # rows of the record kept for plots
PICTURED_WINDOWS = 400
REASON_WORDS = dict(
    zip(
        REASONS,
        (
            "across a gap",
            "not a number",
            "stuck",
            "misfit",
            "jump",
            "angle against rate",
            "without motion",
            "outside the range",
        ),
        strict=True,
    )
)
CLEAR = 2  # times shorter than usual, at most: shorter windows are too noisy for a plot


def diagnose(result: FitResult, stream: Stream, seen: Windows, **made: Any) -> dict[str, Any]:
    """All diagnostics of a fit except the verdict; those in `made` come first."""
    model, counters = result.model, result.counters
    config, found = learner_part(result.config), learner_part(result.calibration)
    reach = found.half * found.spacing
    return {
        **made,
        "samples": counters.samples,
        "runs": len(stream.runs) if isinstance(stream.runs, list) else 1,
        "noise": found.sigma,
        "noise_relative": found.sigma / stream.rms,
        "window": {
            "half_width_samples": reach,
            "half_width_seconds": reach * config.sample_period,
            "samples": 2 * found.half + 1,
            "spacing": found.spacing,
            "order": config.poly,
        },
        "windows": counters.windows,
        "accepted": counters.accepted,
        "rejected": dict(zip(REASONS, counters.rejected, strict=True)),
        "filled": counters.filled + stream.missing,
        "outliers": counters.replaced,
        "not_finite": stream.bad,
        "repeated_times": stream.repeated,
        "jitter": stream.jitter,
        "second_order": found.second_order,
        "snr2": found.snr2,
        "updates": counters.updates,
        "rolled_back": counters.rolled_back,
        "recalibrations": counters.recalibrations,
        "changes": [tick * config.sample_period for tick in counters.changed_at],
        "terms": term_table(model, config.groups),
        "parameters": parameter_table(model, config.groups),
        "term_shares": term_shares(model, seen),
        "network": network_share(model, seen.x, seen.u),
        "visited": visited_range(model, seen),
        "warnings": [],
    }


def adopt_verdict(diagnostics: dict[str, Any], verdict: Verdict) -> None:
    """Store a verdict in the diagnostics, as plain data, and its doubts as sentences."""
    diagnostics["verdict"] = verdict.to_dict()
    diagnostics["warnings"] = [str(reason) for reason in verdict.reasons if reason.severity != NOTE]


def visited_range(model: Model, seen: Windows) -> dict[str, tuple[float, float]]:
    """Lowest and highest value of every state and input in the accepted windows."""
    columns = np.hstack([seen.x, seen.u]) if len(seen) else np.zeros((1, model.physics.n_states + seen.u.shape[1]))
    names = (*model.physics.states, *model.physics.inputs)
    return {n: (float(c.min()), float(c.max())) for n, c in zip(names, columns.T, strict=True)}


def term_shares(model: Model, seen: Windows) -> dict[str, float]:
    """RMS of every learned term over the RMS of its state's rate, by "state: term"."""
    if not len(seen):
        return {}
    values = model.term_values(seen.x, seen.u if model.physics.n_inputs else None)
    rates, shares = seen.rms(seen.dx), _input_shares(model, seen)  # windows weighted by the precision of their rate
    for row, state in enumerate(model.on):
        rate = float(rates[state]) or 1.0
        sizes = np.sqrt(np.mean(seen.weight[:, state, None] * values**2, axis=0))
        for column in np.flatnonzero(model.coefficients[row]):
            name = f"{model.physics.states[state]}: {model.terms[column]}"
            shares[name] = float(abs(model.coefficients[row, column]) * sizes[column] / rate)
    return shares


def _input_shares(model: Model, seen: Windows) -> dict[str, float]:
    """The same for terms that act through an input: their largest share of any rate, by "input: term"."""
    physics, rates, shares = model.physics, seen.rms(seen.dx), {}
    for term in physics.input_terms:
        without = physics.with_parameters({term.coefficient: 0.0})
        moved = np.asarray(physics.field(seen.x, seen.u)) - np.asarray(without.field(seen.x, seen.u))
        sizes = np.sqrt(np.mean(seen.weight * moved**2, axis=0)) / np.where(rates > 0.0, rates, 1.0)
        shares[f"{term.input}: {term.shown(physics.parameters)}"] = float(np.max(sizes))
    return shares


def network_share(model: Model, x: Array, u: Array) -> dict[str, float]:
    """For each residual state, the network's share of the learned residual's RMS."""
    if len(x) == 0:
        used = [bool(model.hidden) and bool(on) for on in model.network_on]
        return {model.physics.states[i]: float(on) for i, on in zip(model.on, used, strict=True)}
    network, total = model.network(x, u), model.residual(x, u)
    shares = {}
    for i in model.on:
        size, own = float(np.sqrt(np.mean(total[:, i] ** 2))), float(np.sqrt(np.mean(network[:, i] ** 2)))
        shares[model.physics.states[i]] = min(1.0, own / size) if own > 0.0 else 0.0
    return shares


def record_excerpt(seen: Windows, stream: Stream, model: Model) -> dict[str, Array]:
    """A stretch of the data, the states and rates estimated by its accepted windows, and the model's remainder.

    The remainder compares rates filtered by the same window: a bend shorter than a window is not a misfit. "u"
    has a row for every sample, so that a free run has the exact inputs; "t" and "Y" are thinned.
    """
    index, signals = _longest_run(stream)
    rows = len(signals["u"])
    shown = seen.where((seen.run == index) & (seen.centre < rows) & (seen.half * CLEAR >= seen.usual))
    pick = slice(None, None, max(1, len(shown) // PICTURED_WINDOWS))
    return (
        signals
        | {
            "window_t": shown.times[pick],
            "steady": (shown.room * seen.period)[pick],  # seconds until the state jumps or the run ends
            "x": shown.x[pick],
            "window_u": shown.u[pick],
            "dx": shown.dx[pick],
            "left": (shown.dx - shown.view(model.field(shown.node_x, shown.inputs)))[pick],
            "rejected": seen.rejected[seen.rejected[:, 0] == index, 1:],  # of the whole run: seconds and reason
        }
    )


def smoothed_excerpt(stream: Stream, times: Array, values: Array, run: Array) -> dict[str, Array]:
    """A stretch of a record with unmeasured states, with the smoothed states (rows, states) of its runs."""
    index, signals = _longest_run(stream)
    mine = np.flatnonzero((run == index) & (times <= signals["t"][-1]))
    mine = mine[:: max(1, len(mine) // PICTURED_WINDOWS)]
    at = np.clip(np.round((times[mine] - signals["t"][0]) / stream.period).astype(int), 0, len(signals["u"]) - 1)
    return signals | {
        "window_t": times[mine],
        "steady": signals["t"][-1] - times[mine],
        "x": values[mine],
        "window_u": signals["u"][at],
    }


def _longest_run(stream: Stream) -> tuple[int, dict[str, Array]]:
    """The index of the longest run; its first part, with thinned channels and a row of inputs for every sample."""
    run = stream.longest
    rows = min(len(run.samples), 10 * EXCERPT)
    thin = max(1, rows // EXCERPT)
    runs = stream.runs if isinstance(stream.runs, list) else [run]
    index = next((k for k, each in enumerate(runs) if each is run), 0)
    return index, {
        "t": run.start + np.arange(0, rows, thin) * stream.period,
        "Y": run.samples[:rows:thin],
        "u": run.inputs[:rows],
    }
