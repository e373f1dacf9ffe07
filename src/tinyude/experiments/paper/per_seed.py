"""Every seed's field error (paper, appendix of extended results)."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from tinyude.experiments.drawing import LOOKS
from tinyude.experiments.experiment import Outcome, Summary, Table, Unit, mean_text, number, percent, select
from tinyude.experiments.fits import NOISES
from tinyude.experiments.paper import double_pendulum, headline

NAME = "per-seed"
TITLE = "Results of single seeds"
PAPER_V2 = {
    0.0: [0.00048, 0.00091, 0.00064], 0.001: [0.00163, 0.00284, 0.00222], 0.005: [0.00163, 0.00172, 0.00131],
    0.01: [0.00205, 0.00212, 0.00236], 0.02: [0.00249, 0.00302, 0.00247], 0.05: [0.00810, 0.00603, 0.00515],
}  # fmt: skip
PAPER_K80 = {0.01: [0.0030], 0.02: [0.0048, 0.0023], 0.05: [0.0096, 0.0059, 0.0198]}


def units(quick: bool) -> list[Unit]:
    return headline.units(quick) + double_pendulum.units(quick)


def summarise(outcomes: list[Outcome], quick: bool) -> Summary:
    rows: list[dict[str, Any]] = []
    for key, wanted in headline.METHODS.items():
        for noise in NOISES:
            values = [r.get("error") for r in select(outcomes, system="pendulum", noise=noise, **wanted)]
            paper = {"paper-v2": PAPER_V2, "k80": PAPER_K80}.get(key, {}).get(noise, [])
            rows.append({"what": f"{LOOKS[key][0]}, {percent(noise)}", "values": values, "paper": paper})
    for key, wanted in double_pendulum.METHODS.items():
        results = select(outcomes, system="double pendulum", **wanted)
        paper = double_pendulum.PAPER.get(key, {}).get("values", [])
        rows.append(
            {
                "what": f"{LOOKS[key][0]}, double pendulum, 1 %",
                "values": [r.get("error") for r in results],
                "paper": paper,
            }
        )
    inside, compared = 0, 0
    for row in rows:
        if len(row["paper"]) >= 3:
            ours = [v for v in row["values"] if v is not None]
            compared += 1
            inside += min(row["paper"]) / 1.5 <= float(np.mean(ours)) <= 1.5 * max(row["paper"])
    return {
        "rows": rows,
        "quick": quick,
        "notes": [
            f"Of {compared} rows that the paper lists seed by seed, our mean lies within the paper's range, extended "
            f"by a factor of 1.5 at both ends, in {inside}. The paper's seeds are not ours, so single values are not "
            "expected to match."
        ],
    }


def figure(summary: Summary) -> Figure | None:
    return None


def tables(summary: Summary) -> list[Table]:
    rows = []
    for row in summary["rows"]:
        ours, theirs = (", ".join(number(value) for value in row[key]) or "-" for key in ("values", "paper"))
        rows.append([row["what"], ours, mean_text(row["values"]), theirs, mean_text(row["paper"])])
    return [Table("Relative field error by seed", ["case", "seeds here", "mean", "seeds in the paper", "mean"], rows)]
