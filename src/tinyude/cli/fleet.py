"""tinyude fleet: all machines of a plant, fitted on all cores or on a cluster; which of them differ or change."""

from __future__ import annotations

import shlex
import sys
from collections import Counter
from pathlib import Path
from typing import Annotated, Any

import typer

from tinyude.cli.console import (
    check_writable,
    console,
    errors,
    print_lines,
    print_table,
    progress_bar,
    say,
    write_json,
    written,
    wrote,
)
from tinyude.cli.options import JsonFile, PhysicsPath, listed_terms
from tinyude.errors import TinyUDEError
from tinyude.model.verdict import STATUSES
from tinyude.physics.written import written_text

FLAGS_SHOWN = 12
FAILURES_SHOWN = 3


def fleet(
    logs: Annotated[
        list[str],
        typer.Argument(metavar="TEMPLATE", help="Logs, e.g. 'logs/{machine}/{date}.parquet' or 's3://...'."),
    ],
    physics: PhysicsPath,
    out: Annotated[
        str,
        typer.Option(
            metavar="DIR", help="Folder or address for models, tables and page; results found there are reused."
        ),
    ] = "fleet",
    scheduler: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="A running Dask scheduler, e.g. tcp://head:8786.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(help="Processes on this computer; default: one per core.", min=1)
    ] = None,
    terms: Annotated[
        str | None,
        typer.Option(metavar="TERMS", help="What all machines learn, e.g. 'omega, tanh(20*omega)'; else chosen."),
    ] = None,
    false_alarms: Annotated[
        float, typer.Option(help="Share of healthy machines that one run may flag.", min=1e-9, max=0.5)
    ] = 0.001,
    network: Annotated[bool, typer.Option("--network", help="Also learn a network in every fit (slower).")] = False,
    refine: Annotated[
        bool, typer.Option("--refine/--no-refine", help="Refine each fit by its predictions, or save CPU time.")
    ] = True,
    pooled: Annotated[
        bool,
        typer.Option("--pooled", help="Treat all logs as one record, e.g. one long log in many files; writes no page."),
    ] = False,
    reports: Annotated[str, typer.Option(help="Report pages to write: none, flagged or all.")] = "flagged",
    json: JsonFile = None,
) -> None:
    """Fit every machine and period of a fleet; show which machines differ and which change."""
    check_writable(json, read=[physics])
    if scheduler is not None and workers is not None:
        raise TinyUDEError("--workers applies to a cluster that this command starts; do not give it with --scheduler.")
    if pooled:
        return _pooled(logs, physics, listed_terms(terms), scheduler, workers, json)
    from tinyude.fleet import fit

    with progress_bar("fleet") as moved:
        found = fit(
            logs if len(logs) > 1 else logs[0], physics, out=out, terms=listed_terms(terms), scheduler=scheduler,
            workers=workers, false_alarms=false_alarms, reports=reports, command=shlex.join(["tinyude", *sys.argv[1:]]),
            options={"refine": refine, **({"hidden": (16, 16)} if network else {})},
            progress=lambda what, done, total: moved(done, total), started=lambda client: _announce(client, out),
        )  # fmt: skip
    _summary(found)
    page = f"{out.rstrip('/')}/fleet.html" if "://" in out else str(Path(out) / "fleet.html")
    wrote(page)
    write_json(json, _figures(found))


def _pooled(
    logs: list[str], physics: Path, terms: list[str] | None, scheduler: str | None, workers: int | None, json: Any
) -> None:
    from tinyude.fleet import fit_pooled

    with progress_bar("fleet") as moved:
        found = fit_pooled(
            logs, physics, terms=terms, scheduler=scheduler, workers=workers,
            progress=lambda what, done, total: moved(done, total),
        )  # fmt: skip
    for row in found.iter_rows(named=True):
        say(
            "d({state})/dt: {coefficient:.6g} * {shown} [{low:.6g}, {high:.6g}]".format(
                **row, shown=written_text(row["term"])
            )
        )
    write_json(json, {"terms": found.to_dicts()})


def _announce(client: Any, out: str) -> None:
    written.append(f"finished logs in {out}, from which the same command continues")
    threads = sum(client.nthreads().values())
    cores = "1 core" if threads == 1 else f"{threads} cores"
    errors.print(f"{cores} at work; dashboard {client.dashboard_link}", markup=False)


def _summary(found: Any) -> None:
    failed = [row for row in found.rows if row["status"] != "ok"]
    verdicts = Counter(row.get("verdict") for row in found.rows)
    counts = {state: sum(entry[0] == state for entry in found.states.values()) for state in _WORDS}
    print_table(
        [
            ("machines", f"{len(found.states):,}"),
            ("logs fitted", f"{len(found.rows) - len(failed):,} of {len(found.rows):,}"),
            ("their verdicts", ", ".join(f"{n:,} {name}" for name in STATUSES if (n := verdicts[name])) or "none"),
            ("all machines learn", ", ".join(found.plan.get("terms", ())) or "nothing in common"),
            ("states", ", ".join(f"{count:,} {_WORDS[state]}" for state, count in counts.items())),
        ]
    )
    reasons = [f"{machine}: {'; '.join(why)}" for machine, (state, why) in found.states.items() if why]
    print_lines(reasons[:FLAGS_SHOWN])
    if len(reasons) > FLAGS_SHOWN:
        print_lines([f"and {len(reasons) - FLAGS_SHOWN:,} more on the page"])
    if failed:
        say(f"{len(failed):,} {'log' if len(failed) == 1 else 'logs'} without a result, e.g.")
        examples = list({row["machine"]: row for row in reversed(failed)}.values())[::-1][
            :FAILURES_SHOWN
        ]  # one a machine
        print_lines([f"{row['machine']} {row['period']}: {row['error']}" for row in examples])
    console.print()


_WORDS = {"act": "to act on now", "watch": "to watch", "healthy": "healthy", "silent": "silent"}


def _figures(found: Any) -> dict[str, Any]:
    return {
        "terms": list(found.plan.get("terms", ())),
        "machines": {machine: {"state": state, "reasons": why} for machine, (state, why) in found.states.items()},
        "flags": found.flags.to_dicts(),
        "failed": [
            {name: row[name] for name in ("machine", "period", "error")} for row in found.rows if row["status"] != "ok"
        ],
    }
