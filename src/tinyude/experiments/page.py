"""Writes the experiments' results as one HTML page, figures as files, and the tables of the documentation."""

from __future__ import annotations

import base64
import json
import re
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup
from matplotlib import rc_context
from matplotlib.figure import Figure

from tinyude.data.whole_file import write_whole
from tinyude.errors import TinyUDEError
from tinyude.experiments import NAMES, load
from tinyude.experiments.documents import fill_blocks
from tinyude.experiments.experiment import Summary
from tinyude.report.figures import STYLE, save_figure

PIXELS_PER_INCH = 150
_PART = re.compile(r"^## [^\n]*\n.*?^`tinyude reproduce ([\w-]+)`,[^\n]*$", re.MULTILINE | re.DOTALL)


def write_pages(folder: Path, docs: Path | None = None) -> Path:
    """Write the page (and optionally the documentation) of all experiments with results in the folder."""
    summaries = [
        json.loads(path.read_text(encoding="utf-8")) for name in NAMES if (path := folder / f"{name}.json").exists()
    ]
    parts = [_part(summary, folder / "figures") for summary in summaries]
    page = folder / "index.html"
    write_whole(page, _render("index.html.jinja", parts=parts, escape=True))
    if docs is not None:
        if any(summary["provenance"]["quick"] for summary in summaries):
            raise TinyUDEError(
                "The documentation holds full runs only; run without --quick, or into a new --out folder."
            )
        text = _render("reproduction.md.jinja", parts=parts, escape=False)
        write_whole(docs, with_other_parts(text, docs.read_text(encoding="utf-8") if docs.exists() else ""))
        tables = {f"{part['name']}#{k}": table.markdown() for part in parts for k, table in enumerate(part["tables"])}
        for document in sorted(docs.parent.rglob("*.md")):
            fill_blocks(document, tables)
    return page


def with_other_parts(text: str, before: str) -> str:
    """The documentation's page, with the parts of its previous version that were not computed this time."""
    parts = {match[1]: match[0] for page in (before, text) for match in _PART.finditer(page)}
    head = text.partition("\n## ")[0].rstrip()
    return "\n\n".join([head, *(parts[name] for name in NAMES if name in parts)]) + "\n"


def _part(summary: Summary, pictures: Path) -> dict[str, Any]:
    """Template variables of one experiment."""
    experiment = load(summary["name"])
    drawn = experiment.figure(summary)
    return {
        "name": summary["name"],
        "title": summary["title"],
        "notes": summary["notes"],
        "tables": experiment.tables(summary),
        "picture": _save(drawn, pictures, summary["name"]) if drawn is not None else None,
        "provenance": summary["provenance"],
    }


def _save(drawn: Figure, folder: Path, name: str) -> Markup:
    """Write the figure as SVG and PNG; return it as a data URI."""
    folder.mkdir(parents=True, exist_ok=True)
    vector = folder / f"{name}.svg"
    with rc_context(STYLE):
        save_figure(drawn, vector, metadata={"Date": None, "Creator": None})
        save_figure(drawn, folder / f"{name}.png", dpi=PIXELS_PER_INCH, metadata={"Software": None})
    return Markup("data:image/svg+xml;base64," + base64.b64encode(vector.read_bytes()).decode("ascii"))


def _render(template: str, parts: list[dict[str, Any]], escape: bool) -> str:
    environment = Environment(autoescape=escape, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    text = files("tinyude.experiments").joinpath(template).read_text(encoding="utf-8")
    return environment.from_string(text).render(parts=parts) + "\n"
