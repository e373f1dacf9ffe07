"""The panels of the report page, from a fitted UDE to plain data and SVG; each may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tinyude.errors import TinyUDEError
from tinyude.model.diagnostics import REASON_WORDS
from tinyude.model.equations import significant_digits
from tinyude.model.quantities import percent, seconds
from tinyude.model.simulation import outside
from tinyude.model.verdict import Verdict
from tinyude.physics.typeset import term_mathml
from tinyude.physics.written import plain_text
from tinyude.report.control_panels import WHITE, correlation_panels, poles_panel
from tinyude.report.displays import record_run
from tinyude.report.mathml import equation_mathml
from tinyude.report.missing import label, missing_slices
from tinyude.report.svg import Chart, interval_mark, scale_bar

Array = NDArray[Any]
Data = dict[str, Any]
POINTS, NUMBERS = 1200, 12_000  # of a time plot, and of all its lines: a page stays below 1.5 MB
BESIDE = 1.2  # times the measured range, around its mean: where the known physics alone is still drawn
MOST_MISS = 100.0  # spreads: a run that is gone
ROLLING = 40  # stretches that a rolling error is made of
BINS = 28
FAR_APART = 0.1  # of the path's range
HORIZONS = 4  # in the table of errors
CARD_WIDTHS = {2: 420.0, 3: 650.0, 6: 1300.0}  # of a chart, by the columns of six that its card takes


def page_panels(ude: Any, run: Data | None, units: Mapping[str, str]) -> Data:
    """Everything on the page except its texts."""
    verdict = ude.diagnostics_.get("verdict")
    record = getattr(ude, "record_", None)
    recorded = record is not None and len(record["x"]) > 1
    return {
        "verdict": verdict,
        "cards": figure_cards(ude, verdict) if verdict else [],
        "slices": missing_slices(ude, verdict, units) if recorded else [],
        "free_run": free_run_panel(ude, run, units) if recorded or run is not None else None,
        "equations": equation_mathml(ude),
        "terms": _terms(ude),
        "network": {s: v for s, v in ude.diagnostics_["network"].items() if v > 0.0},
        "analysis": analysis_cards(ude, verdict) if recorded else [],
        "poles": poles_panel(ude) if recorded else None,
        "coverage": coverage_panel(ude, run, units) if recorded else None,
        "record": record_panel(ude, units) if recorded else None,
        "candidates": ude.diagnostics_.get("refinement", {}).get("candidates", []),
        "next": _next_step(verdict)[0],
        "next_command": _next_step(verdict)[1],
    }


def _next_step(verdict: Mapping[str, Any] | None) -> tuple[str, str]:
    """The first remedy, or how to judge, or what a good model is for, with the command that does it."""
    if verdict is not None and (remedy := Verdict.from_dict(verdict).next_step):
        return remedy, ""
    if verdict is None or "fitted" not in verdict["figures"]:
        return "Judge it on a record that the fit has not seen:", "tinyude fit ... --validate LOG"
    return "Put it on a board, or use it for a controller (UDE.linearize):", "tinyude export MODEL --target arduino"


def _terms(ude: Any) -> list[Data]:
    """Rows of the table, each with its interval as a small picture, and the change of your value it amounts to."""
    shown, ranges = [], ude.diagnostics_["visited"]
    for row in ude.terms_:
        change = f"{100.0 * row['learned'] / row['yours']:+.2g} %" if row["yours"] else ""
        mark = interval_mark(row["low"], row["learned"], row["high"])
        digits = significant_digits(row["learned"], row["error"])
        told = {f"{key}_told": f"{row[key]:.{digits}g}" for key in ("learned", "net", "low", "high")}
        shown.append(
            {**row, **told, "math": term_mathml(plain_text(row["term"], ranges)), "change": change, "mark": mark}
        )
    return shown


def free_run_panel(ude: Any, run: Data | None, units: Mapping[str, str]) -> Data | None:
    """Series of the free run for uPlot: every signal measured, by the model, and by the known physics alone."""
    where = "the unseen record"
    if run is None:
        run = _excerpt_run(ude)
        if run is None:
            return None
        where = f"{run.get('judged', '')}the fitted record"
    rows = _thinned(len(run["t"]), 3 * len(run["names"]))
    spread = np.nanstd(run["reference"], axis=0)
    spread = np.where(spread > 0.0, spread, 1.0)
    alone = np.asarray(run.get("known", np.full_like(run["model"], np.nan)))
    signals = []
    for column, name in enumerate(run["names"]):
        reference, model, known = (values[:, column] for values in (run["reference"], run["model"], alone))
        span = BESIDE * (np.nanmax(reference) - np.nanmin(reference) or 1.0)
        known = np.where(np.abs(known - np.nanmean(reference)) < span, known, np.nan)
        signals.append({
            "name": label(name, units),
            "measured": _plain(reference[rows]),
            "model": _plain(model[rows]),
            "known": _plain(known[rows]),
        })  # fmt: skip
    noise = (np.atleast_1d(ude.diagnostics_["noise"]) / spread)[: len(signals)]
    return {
        "t": _plain(run["t"][rows]),
        "signals": signals,
        "error": _plain(_rolling((run["model"] - run["reference"]) / spread)[rows]),
        "known_error": _plain(_rolling((alone - run["reference"]) / spread)[rows]),
        "noise": float(100.0 * np.sqrt(np.mean(noise**2))),
        "outside": _outside_spans(ude, run),
        "total_error": float(run["total_error"]) if np.isfinite(run["total_error"]) else None,
        "reference_name": str(run["reference_name"]),
        "where": where if run["reference_name"] == "measured" else "",
        "warnings": list(run.get("warnings", ())),
    }


def _excerpt_run(ude: Any) -> Data | None:
    """The free run over the fitted record; of an unstable plant over the horizon that the verdict judged."""
    try:
        return record_run(ude)
    except TinyUDEError:
        judged = ude.diagnostics_.get("verdict", {}).get("figures", {}).get("free_run")
    try:
        run = record_run(ude, most=judged["seconds"]) if judged else None
    except TinyUDEError:
        return None
    return None if run is None else run | {"judged": f"{seconds(judged['seconds'])} of "}


def _rolling(miss: Array) -> Array:
    """RMS of all signals (rows, signals) over a fortieth of the run, in per cent; nothing where none is there."""
    width = max(3, len(miss) // ROLLING)
    there = np.isfinite(miss)
    square = np.where(there, np.minimum(np.abs(miss), MOST_MISS), 0.0) ** 2
    square = square.sum(axis=1) / np.maximum(there.sum(axis=1), 1)
    mean = np.convolve(np.pad(square, width // 2, mode="edge"), np.ones(width) / width, mode="same")
    rolled = 100.0 * np.sqrt(mean[width // 2 : width // 2 + len(miss)])
    return np.where(there.any(axis=1), np.maximum(rolled, 1e-4), np.nan)


def _outside_spans(ude: Any, run: Data) -> list[tuple[float, float]]:
    """Stretches of the run in which a state or an input leaves the range of the fit."""
    physics, ranges = ude.model_.physics, ude.diagnostics_["visited"]
    rows = np.zeros(len(run["t"]), dtype=bool)
    for values, names in ((run["states"], physics.states), (run["inputs"], physics.inputs)):
        for _, _, where in [] if values is None else outside(values, names, ranges, physics.angles):
            rows[where] = True
    edges = np.flatnonzero(np.diff(np.concatenate([[False], rows, [False]]).astype(int)))
    last = len(run["t"]) - 1
    return [(float(run["t"][a]), float(run["t"][min(b, last)])) for a, b in zip(edges[::2], edges[1::2], strict=True)]


def figure_cards(ude: Any, verdict: Mapping[str, Any]) -> list[Data]:
    """The three figures at the top."""
    figures, cards = verdict["figures"], []
    run, left = figures.get("free_run"), figures.get("unexplained", {})
    if run:
        title = f"Free-run error over {seconds(run['seconds'])}, share of the spread"
        cards.append(_card(title, run["noise"], run["error"], run["known"]))
    if left:
        state = max(left, key=lambda name: left[name]["share"])
        found = left[state]
        cards.append(_card(f"Unexplained share of d({state})/dt", found["noise"], found["share"], found["known"]))
    if not run and "" in figures.get("held_back", {}):
        held, noise = figures["held_back"], float(np.max(ude.diagnostics_["noise_relative"]))
        title = f"Free runs over {figures['judged_on']}" if "fitted" in figures else "Held-back free runs"
        cards.append(_card(f"{title}, share of the spread", noise, held[""], held.get("known", np.nan)))
        cards += _one_step_cards(ude.diagnostics_.get("innovations", {}))
    unseen = "fitted" in figures
    if not unseen and not ude.diagnostics_["windows"]:
        return cards
    share = 1.0 - figures["outside"] if unseen else figures["windows_passed"]
    title = f"Time in the recorded range, {figures['judged_on']}" if unseen else "Windows that pass the acceptance test"
    cards.append(
        {"title": title, "value": _whole_or_less(share), "beside": "", "svg": _share_bar(share, title), "plain": True}
    )
    return cards


def _one_step_cards(found: Mapping[str, Any]) -> list[Data]:
    """Where no window sees all states: one-step errors of the channel that is least like white noise."""
    if not found:
        return []
    largest, name = max((float(np.max(np.abs(values[1:]))), name) for name, values in found["auto"].items())
    bound, title = WHITE * float(found["bound"]), f"One-step errors of {name}, largest autocorrelation"
    note = "white noise stays below" if largest < bound else "not white: noise stays below"
    marks = [("white noise", bound, "noise"), ("model", largest, "model")]
    bar = scale_bar(marks, f"{title}: {largest:.2f}; white noise stays below {bound:.2f}.")
    return [{"title": title, "value": f"{largest:.2f}", "beside": f"{note} {bound:.2f}", "svg": bar, "plain": True}]


def _card(title: str, noise: float, value: float, known: float) -> Data:
    marks = [("noise", noise, "noise"), ("model", value, "model"), ("known alone", known, "known")]
    told = ", ".join(f"{name} {percent(share)}" for name, share, _ in marks)
    return {
        "title": title, "value": percent(value), "beside": f"known physics alone {percent(known)}",
        "svg": scale_bar(marks, f"{title}: {told}."), "plain": False,
    }  # fmt: skip


def _whole_or_less(share: float) -> str:
    """A share in per cent, 100 % only if nothing is left out."""
    return percent(share) if share <= 0.99 or share == 1.0 else f"{np.floor(1000.0 * share) / 10.0:.1f} %"


def _share_bar(share: float, alt: str) -> str:
    width = 304.0 * min(max(share, 0.0), 1.0)
    return (
        f'<svg class="scale" viewBox="0 0 320 46" role="img" aria-label="{escape(alt, quote=True)}: {percent(share)}.">'
        f'<rect class="good" x="8" y="18" width="{width:.1f}" height="10" rx="2"/>'
        f'<rect class="outside" x="{8 + width:.1f}" y="18" width="{304 - width:.1f}" height="10" rx="2"/></svg>'
    )


def analysis_cards(ude: Any, verdict: Mapping[str, Any] | None) -> list[Data]:
    """Error by horizon and the correlations: three a row on a grid of six columns, without a hole in the last row."""
    first = horizon_panel(verdict) if verdict else None
    panels = [*([] if first is None else [first]), *correlation_panels(ude)]
    count = len(panels)
    halves = 0 if count % 3 == 0 or count == 1 else 2 if count % 3 == 2 else 4
    for index, panel in enumerate(panels):
        panel["columns"] = 6 if count == 1 else 3 if index >= count - halves else 2
        panel["svg"] = panel.pop("draw")((CARD_WIDTHS[panel["columns"]], 230.0))
    return panels


def horizon_panel(verdict: Mapping[str, Any]) -> Data | None:
    """Free-run error over the horizon: model, known alone, hold the last value, what noise explains."""
    found = verdict["figures"].get("horizons")
    if not found or len(found["seconds"]) < 2:
        return None
    t = np.array(found["seconds"])
    rows = {name: 100.0 * np.maximum(np.array(found[name]), 1e-5) for name in ("model", "known", "hold", "expected")}
    values = np.concatenate(list(rows.values()))

    def draw(size: tuple[float, float]) -> str:
        chart = Chart(
            (t[0], t[-1]), (0.7 * values.min(), 1.4 * values.max()), x_label="horizon, s",
            y_label="error, % of the spread", log_x=True, log_y=True, size=size,
            alt=f"Error at {t[-1]:.3g} s: model {rows['model'][-1]:.3g} %, known physics {rows['known'][-1]:.3g} %.",
        )  # fmt: skip
        for name, kind in (("hold", "hold"), ("expected", "noise"), ("known", "known"), ("model", "model")):
            chart.line(t, rows[name], kind)
            chart.dots(t, rows[name], f"{kind} dot", 2.2)
        return chart.draw()

    note = "Free runs from states all along the record. Dotted: hold the last value; thin: what noise and start explain"
    columns = np.unique(np.linspace(0, len(t) - 1, HORIZONS).astype(int))
    table = {
        "head": [seconds(float(t[k])) for k in columns],
        "rows": [
            {"who": who, "cells": [percent(0.01 * rows[name][k]) for k in columns]}
            for who, name in (("model", "model"), ("known alone", "known"))
        ],
    }
    return {"title": "Prediction error by horizon", "note": note, "draw": draw, "table": table}


def coverage_panel(ude: Any, run: Data | None, units: Mapping[str, str]) -> Data | None:
    """Where the accepted windows are, over a state and its rate, with the path of the held-out run."""
    physics, x = ude.model_.physics, ude.record_["x"]
    if physics.n_states < 2 or len(x) < 10:
        return None
    pairs = [(s, r) for s, r in enumerate(physics.kinematic) if r is not None and r != s]
    shown = list(pairs[0] if pairs else (0, 1))
    first, second = shown
    angles = [k for k in (0, 1) if physics.states[shown[k]] in physics.angles]
    x = _wrapped_columns(x[:, shown], angles)
    path = np.zeros((0, 2)) if run is None else run["states"][:: max(1, len(run["t"]) // 800), shown]
    path = _wrapped_columns(path, angles)
    counts, a, b = np.histogram2d(x[:, 0], x[:, 1], bins=BINS)
    (left, low), (right, high) = np.nanmin(np.vstack([x, path]), axis=0), np.nanmax(np.vstack([x, path]), axis=0)
    chart = Chart((left - 0.1 * (right - left), right + 0.1 * (right - left)),
                  (low - 0.1 * (high - low), high + 0.1 * (high - low)), size=(860.0, 330.0),
                  x_label=label(physics.states[first], units), y_label=label(physics.states[second], units),
                  alt=f"Accepted windows cover {physics.states[first]} from {a[0]:.3g} to {a[-1]:.3g} and "
                  f"{physics.states[second]} from {b[0]:.3g} to {b[-1]:.3g}.")  # fmt: skip
    note = "Accepted windows, few to many. Outside, the model extrapolates"
    most = counts.max()
    for i, j in zip(*np.nonzero(counts), strict=True):
        chart.box((a[i], a[i + 1]), (b[j], b[j + 1]), "cell", 0.15 + 0.85 * float(np.sqrt(counts[i, j] / most)))
    if run is not None:
        again = np.any(np.abs(np.diff(path[:, angles], axis=0)) > np.pi, axis=1)  # a revolution: no line across
        path[1:][again] = np.nan
        if _fast(path):
            chart.dots(path[:, 0], path[:, 1], "path", 1.0)
        else:
            chart.line(path[:, 0], path[:, 1], "path")
        what = "dots" if _fast(path) else "line"
        note = f"Accepted windows, few to many; {what}: the free run. Outside, the model extrapolates"
    return {"svg": chart.draw(), "note": note + excerpt(ude)}


def _fast(path: Array) -> bool:
    """Whether neighbouring points of a path are so far apart that lines between them would fill the picture."""
    steps = np.abs(np.diff(path, axis=0)) / (np.ptp(path[np.isfinite(path).all(axis=1)], axis=0) + 1e-300)
    return bool(np.nanmedian(np.max(steps, axis=1)) > FAR_APART)


def _wrapped_columns(values: Array, columns: list[int]) -> Array:
    """The values with those columns, angles, between minus and plus half a revolution."""
    wrapped = np.array(values)
    wrapped[:, columns] = np.angle(np.exp(1j * wrapped[:, columns]))
    return wrapped


def excerpt(ude: Any) -> str:
    """Which run is pictured, where there are several."""
    count = int(ude.diagnostics_.get("runs", 1))
    return f" · the longest of {count} unbroken runs" if count > 1 else ""


def record_panel(ude: Any, units: Mapping[str, str]) -> Data | None:
    """The excerpt of the fitted record, its inputs, and where windows were rejected."""
    record = ude.record_
    if len(record["t"]) < 2:
        return None
    names = list(ude.measured or ude.model_.physics.states)
    inputs = list(ude.model_.physics.inputs)
    rows = _thinned(len(record["t"]), len(names) + len(inputs))
    every = -(-len(record["u"]) // len(record["t"]))  # inputs have a row for every sample
    columns = [*record["Y"][rows].T, *record["u"][::every][rows].T[: len(inputs)]]
    signals = [
        {"name": label(n, units), "values": _plain(c), "input": k >= len(names)}
        for k, (n, c) in enumerate(zip([*names, *inputs], columns, strict=True))
    ]
    return {
        "t": _plain(record["t"][rows]),
        "signals": signals,
        "rejected": _rejected(record, ude.diagnostics_["window"]["half_width_seconds"]),
        "note": f"drag to zoom{excerpt(ude)}",
    }


def _rejected(record: Mapping[str, Any], reach: float) -> list[Data]:
    """A row for each reason: how many windows of the excerpt were rejected, and the stretches that they lie in.

    reach: half of the usual window, seconds; rejected ones that are closer than that are one stretch.
    """
    rows = []
    found = np.asarray(record.get("rejected", np.zeros((0, 2))))
    for number, words in enumerate(REASON_WORDS.values()):
        times = np.sort(found[(found[:, 1] == number) & (found[:, 0] <= record["t"][-1]), 0])
        if not len(times):
            continue
        parts = np.split(times, np.flatnonzero(np.diff(times) > reach) + 1)
        spans = [(float(part[0]), float(part[-1])) for part in parts]
        rows.append({"reason": words, "count": len(times), "spans": spans})
    return rows


def _thinned(rows: int, lines: int) -> slice:
    """Rows of a time plot: all, or one in so many."""
    most = min(POINTS, NUMBERS // max(lines, 1))
    return slice(None, None, max(1, -(-rows // max(most, 2))))


def _plain(values: Array) -> list[float | None]:
    """JSON has no NaN; five digits are more than a screen shows."""
    return [float(f"{v:.5g}") if np.isfinite(v) else None for v in np.asarray(values, dtype=np.float64)]
