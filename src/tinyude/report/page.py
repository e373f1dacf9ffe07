"""One self-contained HTML page from the plain data of a report."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from jinja2 import Template
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from tinyude import __version__
from tinyude.report import figures
from tinyude.report.environment import page_environment
from tinyude.report.sentences import INTERVAL

TERM_ROWS = 10  # of the table of terms; further ones are folded
PIXELS_PER_INCH, MOST_PIXELS = 110, 1_000_000
NO_PANELS: dict[str, Any] = {
    "verdict": None, "cards": [], "slices": [], "free_run": None, "equations": [], "terms": [], "network": {},
    "analysis": [], "poles": None, "coverage": None, "record": None, "candidates": [], "next": "",
    "next_command": "",
}  # fmt: skip

NO_TEXTS: dict[str, Any] = {"command": "", "sources": {}, "subtitle": "", "headline": [], "found": [], "windows": ""}


def render(data: Mapping[str, Any]) -> str:
    """The page as text; parts that the data lack are left out.

    Parameters
    ----------
    data : mapping
        From `collect`.

    Returns
    -------
    str
        HTML that loads nothing from elsewhere.
    """
    units = data.get("units", {})
    drawn = {
        "signals": _pixels(figures.signals({**data["signals"], "units": units})) if "signals" in data else None,
        "history": _strokes(figures.history(data["history"])) if "history" in data else None,
        "portrait": _pixels(figures.portrait({**data["portrait"], "units": units})) if "portrait" in data else None,
    }
    data = {**NO_TEXTS, **data, "page": NO_PANELS | data.get("page", {})}
    series = {name: data["page"][name] for name in ("free_run", "record")}
    return _template().render(
        data=data,
        figures=drawn,
        interval=INTERVAL,
        term_rows=TERM_ROWS,
        version=__version__,
        series=Markup(json.dumps(series).replace("<", "\\u003c")),
        style=_text("page.css"),
        script=_text("page.js"),
        uplot_css=_text("uplot/uPlot.min.css"),
        uplot_js=_text("uplot/uPlot.iife.min.js"),
    )


def _text(name: str) -> Markup:
    """A file of ours, which goes into the page as it is."""
    return Markup(files("tinyude.report").joinpath(*name.split("/")).read_text(encoding="utf-8"))


def _template() -> Template:
    text = files("tinyude.report").joinpath("page.html.jinja").read_text(encoding="utf-8")
    return page_environment().from_string(text)


def _pixels(figure: Figure) -> str:
    """A figure of many marks as the address of a PNG that carries its own data."""
    area = float(figure.get_figwidth() * figure.get_figheight())
    dpi = min(PIXELS_PER_INCH, (MOST_PIXELS / area) ** 0.5)
    return _address(figure, "png", dpi=dpi, metadata={"Software": None})


def _strokes(figure: Figure) -> str:
    """A figure of a few lines as the address of an SVG that carries its own data."""
    return _address(figure, "svg", metadata={"Date": None, "Creator": None})


def _address(figure: Figure, kind: str, **options: Any) -> str:
    content = io.BytesIO()
    with rc_context(figures.STYLE):
        figure.savefig(content, format=kind, **options)
    encoded = base64.b64encode(content.getvalue()).decode("ascii")
    return f"data:image/{'svg+xml' if kind == 'svg' else kind};base64,{encoded}"
