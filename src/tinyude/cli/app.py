"""The `tinyude` program. A command is a function in its own module of this folder, added to COMMANDS."""

from __future__ import annotations

import io
import os
import sys
import warnings
from importlib import import_module
from typing import Any, NoReturn

import typer
import typer.core
import typer.main

from tinyude import __version__
from tinyude.errors import TinyUDEError, one_line

INTERRUPTED = 130  # the exit status of a program that was stopped by Ctrl-C
CLOSED = 141  # that of one whose reader closed its end, as a shell reports it
UsageError: Any = typer.BadParameter.__base__  # click's, which some versions of typer include under another name

# Each command is the function of its name in the module of its name; a module is imported when its command is used.
COMMANDS = {
    "demo": "Learn a pendulum's missing damping from one noisy minute.",
    "init": "Write a commented physics file from the header of a log.",
    "fit": "Learn from a log what the physics file leaves out.",
    "fleet": "Fit every machine of a fleet; show which differ and which change.",
    "simulate": "Simulate a model from a chosen time of a log.",
    "report": "Write the report page of a saved model.",
    "reproduce": "Compute tables and figures of the paper.",
    "bench": "Count instructions, time this machine, compare with budgets.",
    "export": "Write a fitted model as a package for a board.",
    "monitor": "Show and record what a board learns; send it a model.",
    "size": "List RAM by array, flash and stack of a learner on a board.",
}


VALUES = {  # name of an option's value in the help, unless the option defines it
    "<path>": "FILE", "<str>": "NAME", "<int>": "N", "<int range>": "N", "<float>": "NUMBER", "<float range>": "NUMBER",
}  # fmt: skip


class LazyGroup(typer.core.TyperGroup):
    """The commands of COMMANDS, imported one by one on first use."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in COMMANDS:
            self.commands.update({name: self.get_command(ctx, name) for name in COMMANDS})  # to suggest one of them
            return None
        if cmd_name not in self.commands:
            self.commands[cmd_name] = load_command(cmd_name)
        return self.commands[cmd_name]

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


def load_command(name: str) -> Any:
    """The command of this name, ready to parse arguments."""
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)
    single.command(name)(getattr(import_module(f"tinyude.cli.{name}"), name))
    command: Any = typer.main.get_command(single)
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            parameter.display_type_rich = lambda ctx: None  # its name says what it is
        elif parameter.metavar is None:
            parameter.metavar = VALUES.get(parameter.display_type(None))
    return command


app = typer.Typer(cls=LazyGroup, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None)


@app.callback(invoke_without_command=True)
def program(version: bool = typer.Option(False, "--version", help="Show the version and exit.")) -> None:
    """Learn what a physical model leaves out, from noisy sensor samples, without an ODE solver."""
    if version:
        typer.echo(f"tinyude {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the program; print a failure as one line, which a terminal gets broken at words."""
    warnings.showwarning = _show_warning
    os.environ.pop("MPLBACKEND", None)  # no command opens a window, and Matplotlib fails on a name it does not know
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # a terminal of few characters shows others escaped
    try:
        status = app(sys.argv[1:] or ["--help"], standalone_mode=False)
        if status == INTERRUPTED:  # typer turns an interrupt into this status, without a word
            raise KeyboardInterrupt
        _check_output()
        sys.exit(status)
    except UsageError as error:
        from tinyude.cli.usage import usage_line

        _fail(usage_line(error, sys.argv[1:], tuple(COMMANDS)), error.exit_code)
    except (typer.Abort, KeyboardInterrupt):
        from tinyude.cli.console import written

        done = f"already written: {', '.join(written)}" if written else "nothing written"
        _fail(f"interrupted; {done}.", INTERRUPTED)
    except TinyUDEError as error:
        _fail(str(error))
    except BrokenPipeError:  # the program that read the output closed it
        from tinyude.cli.console import drop_output

        drop_output()
        sys.exit(CLOSED)
    except OSError as error:
        name = f"{error.filename}: " if error.filename else ""
        _fail(f"{name}{error.strerror or error}; check the file, its permissions and the room on its disk.")


def _check_output() -> None:
    """Report that the standard output failed, except to a reader that closed its end."""
    console = sys.modules.get("tinyude.cli.console")
    failure = console.output.failure if console else None
    if failure is not None and not isinstance(failure, BrokenPipeError):
        _fail(f"Cannot print: {failure.strerror or failure}; files were written as requested.")


def _fail(message: str, status: int = 1) -> NoReturn:
    from tinyude.cli.console import complain

    complain(f"error: {one_line(message)}")
    sys.exit(status)


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    from tinyude.cli.console import complain

    complain(f"warning: {one_line(str(message))}")


if __name__ == "__main__":
    main()
