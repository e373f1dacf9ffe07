"""The `tinyude` program. A command is a function in its own module of `commands`, added to the list below."""

from __future__ import annotations

import sys
import warnings
from typing import Any, NoReturn

import typer

from tinyude import __version__
from tinyude.cli.bench import bench
from tinyude.cli.console import errors
from tinyude.cli.demo import demo
from tinyude.cli.export import export
from tinyude.cli.fit import fit
from tinyude.cli.report import report
from tinyude.cli.reproduce import reproduce
from tinyude.cli.simulate import simulate
from tinyude.cli.size import size
from tinyude.errors import TinyUDEError

UsageError: Any = typer.BadParameter.__base__  # click's, which some versions of typer bring along under its own name
COMMANDS = (demo, fit, simulate, report, reproduce, bench, export, size)

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
for command in COMMANDS:
    app.command()(command)


@app.callback(invoke_without_command=True)
def program(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """Learn what a physical model leaves out, from noisy sensor samples, without an ODE solver."""
    if version:
        typer.echo(f"tinyude {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the program; what goes wrong is told in one line."""
    warnings.showwarning = _show_warning
    try:
        sys.exit(app(sys.argv[1:] or ["--help"], standalone_mode=False))
    except UsageError as error:
        place = error.ctx.command_path if error.ctx else "tinyude"
        _fail(f"{error.format_message().rstrip('.')}; try `{place} --help`.", error.exit_code)
    except typer.Abort:
        _fail("stopped.")
    except TinyUDEError as error:
        _fail(str(error))
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(f"{name}{error.strerror or error}.")


def _fail(message: str, status: int = 1) -> NoReturn:
    errors.print(f"error: {' '.join(message.split())}", markup=False, soft_wrap=True)
    sys.exit(status)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    errors.print(f"warning: {message}", markup=False)


if __name__ == "__main__":
    main()
