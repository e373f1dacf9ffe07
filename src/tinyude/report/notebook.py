"""What a notebook shows of a UDE: equations, verdict, and a small picture."""

from __future__ import annotations

from html import escape
from typing import Any

from tinyude.errors import TinyUDEError
from tinyude.report.mathml import equation_mathml

ICONS = {"good": "✓", "caution": "!", "bad": "✕"}
COLOURS = {"good": "#14744a", "caution": "#8a5a00", "bad": "#b3192d"}


def ude_html(ude: Any) -> str:
    """Equations, verdict and a small picture of a fitted UDE; the settings of one that is not."""
    if not hasattr(ude, "model_"):
        return f"<pre>{escape(repr(ude))}</pre>"
    lines = "".join(f"<div>{line}</div>" for line in equation_mathml(ude))
    return f"<div>{lines}{_verdict(ude)}{_picture(ude)}</div>"


def _verdict(ude: Any) -> str:
    found = ude.diagnostics_.get("verdict")
    if found is None:
        return ""
    status = str(found["status"])
    colour, icon = COLOURS.get(status, "#555"), ICONS.get(status, "")
    return (
        f'<p style="color:{colour};margin:.4em 0"><strong>{icon} {escape(status)}</strong> '
        f"{escape(str(found['summary']))}</p>"
    )


def _picture(ude: Any) -> str:
    """The measured first signal and the free run, as a small SVG."""
    import numpy as np

    from tinyude.report.displays import record_run

    try:
        run = record_run(ude)
    except TinyUDEError:
        return ""
    t, stride = run["t"], max(1, len(run["t"]) // 300)
    measured, model = run["reference"][::stride, 0], run["model"][::stride, 0]
    low, high = float(np.nanmin(measured)), float(np.nanmax(measured))
    span = (high - low) or 1.0

    def path(values: Any) -> str:
        xs = 4 + 352 * (t[::stride] - t[0]) / (t[-1] - t[0])
        ys = 68 - 60 * np.clip((values - low) / span, -0.1, 1.1)
        points = [f"{x:.1f},{y:.1f}" for x, y in zip(xs, ys, strict=True) if np.isfinite(y)]
        return " ".join(points)

    return (
        f'<svg width="360" height="76" role="img" aria-label="measured and simulated {escape(run["names"][0])}">'
        f'<polyline points="{path(measured)}" fill="none" stroke="#8a9099" stroke-width="3" opacity=".6"/>'
        f'<polyline points="{path(model)}" fill="none" stroke="#0b63b5" stroke-width="1.3"/></svg>'
    )
