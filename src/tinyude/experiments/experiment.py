"""An experiment: units of work, their summary as numbers, and figures and tables made from the numbers alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Config = dict[str, Any]
Result = dict[str, Any]
Outcome = tuple[Config, Result]
Summary = dict[str, Any]


@dataclass(frozen=True)
class Unit:
    """A piece of work that is done once and cached: a module's function and its plain-data argument.

    Experiments with the same unit share its result. `cost` is an estimate in seconds, for the progress bar.
    `through` names the modules that the result depends on, if not the whole package: a slow solver's result stays valid
    when the learner changes.
    """

    run: Callable[[Config], Result]
    config: Config
    cost: float = 1.0
    through: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    title: str
    header: list[str]
    rows: list[list[str]]

    def markdown(self) -> str:
        lines = [self.header, ["---"] * len(self.header), *self.rows]
        body = "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)
        return f"**{self.title}**\n\n{body}"


class Experiment(Protocol):
    """A module of this package. `summarise` returns plain data with at least `notes`, a list of sentences."""

    NAME: str
    TITLE: str

    def units(self, quick: bool) -> list[Unit]: ...
    def summarise(self, outcomes: list[Outcome], quick: bool) -> Summary: ...
    def figure(self, summary: Summary) -> Figure | None: ...
    def tables(self, summary: Summary) -> list[Table]: ...


def plain(value: Any) -> Any:
    """The value in JSON types: lists, string keys, and None for a number that is not finite."""
    if isinstance(value, dict):
        return {str(key): plain(entry) for key, entry in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [plain(entry) for entry in value]
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return value if value is None else str(value)


def select(outcomes: list[Outcome], **wanted: Any) -> list[Result]:
    """Results of the units whose configuration, or its settings, have the given values (None: not set)."""
    return [
        result
        for config, result in outcomes
        if all(config.get(k, config.get("settings", {}).get(k)) == v for k, v in wanted.items())
    ]


def stats(results: list[Result], key: str = "error") -> dict[str, Any]:
    """Mean, sample standard deviation and single values over seeds; failed fits are counted, not averaged."""
    values = [result[key] for result in results if result.get(key) is not None]
    return {
        "mean": float(np.mean(values)) if values else None,
        "std": float(np.std(values, ddof=1)) if len(values) > 1 else None,
        "values": values,
        "failed": len(results) - len(values),
    }


def damping_stats(results: list[Result]) -> dict[str, Any]:
    """The same for the first joint's damping."""
    return stats([{"damping": result["damping"][0] if "damping" in result else None} for result in results], "damping")


def mean_text(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return number(float(np.mean(known))) if known else "-"


def number(value: float | None, digits: int = 3) -> str:
    return "-" if value is None else f"{value:.{digits}g}"


def spread(entry: dict[str, Any]) -> str:
    """A mean and its standard deviation as text."""
    return number(entry["mean"]) + (f" ± {number(entry['std'], 2)}" if entry["std"] is not None else "")


def percent(level: float) -> str:
    return f"{100.0 * level:g} %"


def ratio(ours: float | None, theirs: float | None) -> float | None:
    return ours / theirs if ours is not None and theirs else None


def geometric_mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None and value > 0.0]
    return float(np.exp(np.mean(np.log(known)))) if known else None


def against_paper(what: str, ours: float | None, paper: float, within: float = 1.3) -> str:
    """A sentence that compares our figure with the paper's."""
    factor = ratio(ours, paper)
    if factor is None:
        return f"{what}: no figure here; the paper has {number(paper)}."
    if 1.0 / within <= factor <= within:
        return f"{what}: {number(ours)}, which agrees with the paper's {number(paper)}."
    word = f"{number(factor, 2)} times" if factor > 1.0 else f"lower by a factor of {number(1.0 / factor, 2)} than"
    return f"{what}: {number(ours)}, {word} the paper's {number(paper)}."
