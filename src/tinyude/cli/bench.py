"""tinyude bench: what the learner costs on a chip and on this host, against a file of budgets."""

from __future__ import annotations

import json as json_module
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.table import Table

from tinyude.cli.console import check_writable, console, print_lines, print_table, progress_bar, say, write_json
from tinyude.cli.options import JsonFile
from tinyude.errors import TinyUDEError

BUDGETS = Path("benchmarks/budgets.json")


def bench(
    json: JsonFile = None,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Plot an update's time against the network's size.")
    ] = None,
    fleet: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Measure fleets instead, and write the table into this document."),
    ] = None,
    life: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Measure long runs of exports on the emulated board instead, and write the tables into this document.",
        ),
    ] = None,
    budgets: Annotated[Path, typer.Option(metavar="FILE", help="Limits that end the command with an error.")] = BUDGETS,
) -> None:
    """Count instructions on an emulated Cortex-M4F, time this host, and list the memory; fail above budget."""
    check_writable(json)
    check_writable(plot)
    if fleet is not None:
        return _fleet(fleet, json)
    if life is not None:
        return _life(life, json)
    from tinyude.baselines import diffrax_shooting
    from tinyude.experiments.board import emulator
    from tinyude.experiments.costs.benchmark import measure, over_budget
    from tinyude.experiments.costs.cost_curve import plot_cost_curve

    if not budgets.is_file():
        raise TinyUDEError(
            f"The file of budgets {budgets} does not exist; give --budgets FILE, or run in the source tree."
        )
    limits = json_module.loads(budgets.read_text(encoding="utf-8"))
    with progress_bar("measuring") as moved:
        figures = measure(moved)
    if figures["chip"]:
        _print_columns("Emulated Cortex-M4F: instructions (not cycles) and bytes", figures["chip"])
    else:
        say(f"No emulated board: {', '.join(emulator.missing())} not found.")
    for kind, parts in figures["memory"].items():
        _print_columns(f"Arena with 2048 reservoir entries in {kind}: bytes", parts)
    console.print(
        "This host, the paper's learner (paper-v2) on one minute at 1 kHz; slow cases are extrapolated from a part"
    )
    print_table([(name, f"{value:,.4g}") for name, value in figures["host"].items()])
    if lacking := diffrax_shooting.missing():
        say(f"No Diffrax shooting: {', '.join(lacking)} not found; pip install 'tinyude[bench]'.")
    _print_growth(figures["growth"])
    write_json(json, figures)
    if plot is not None:
        plot_cost_curve(figures["growth"], plot)
    if broken := over_budget(figures, limits):
        raise TinyUDEError(f"{'; '.join(broken)} (budgets: {budgets}).")
    say(f"All within {budgets}.")


def _fleet(document: Path, json: Path | None) -> None:
    from tinyude.experiments.costs.fleet_scale import measure, table
    from tinyude.experiments.documents import fill_block

    with progress_bar("measuring fleets") as moved:
        figures = measure(moved)
    print_lines(table(figures).splitlines(), indent="")
    fill_block(document, "fleet-scale", table(figures))
    write_json(json, figures)


def _life(document: Path, json: Path | None) -> None:
    from tinyude.experiments.board.board_life import measure, tables
    from tinyude.experiments.board.export_session import sessions
    from tinyude.experiments.board.optimisation import by_options
    from tinyude.experiments.documents import fill_block
    from tinyude.export.life import missing_for_life

    if lacking := missing_for_life():
        raise TinyUDEError(f"An emulated board needs {', '.join(lacking)}; run tools/install_emulators.sh.")
    with progress_bar("living") as moved:
        figures = measure(moved)
    for name, text in (tables(figures) | sessions() | {"optimised": by_options().markdown()}).items():
        print_lines(text.splitlines(), indent="")
        fill_block(document, name, text)
    write_json(json, figures)


def _print_growth(growth: dict[str, Any]) -> None:
    for size, label in (("width", "units of two hidden layers"), ("states", "states")):
        console.print(f"An update on this host grows as {label}^{growth[f'exponent of the {size}']:.2f}: microseconds")
        table = Table(box=None, padding=(0, 1))
        for number in growth[f"by {size}"]:
            table.add_column(number, justify="right")
        table.add_row(*(f"{time:.3g}" for time in growth[f"by {size}"].values()))
        console.print(table)
        console.print()


def _print_columns(title: str, cases: dict[str, dict[str, float]]) -> None:
    """A figure a row, a case a column."""
    table = Table(title=title, title_justify="left", box=None, padding=(0, 1))
    table.add_column()
    for case in cases:
        table.add_column(case, justify="right")
    for name in next(iter(cases.values())):
        table.add_row(name, *(f"{figures[name]:,.0f}" for figures in cases.values()))
    console.print(table)
    console.print()
