"""Environment variables of a user's shell that a library of ours cannot read."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("number", ["4,2", "x", "-1", "9" * 20])
@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS"])
def test_ude_is_imported_with_a_number_of_threads_that_numexpr_cannot_read(name: str, number: str) -> None:
    pytest.importorskip("pandas", reason="scikit-learn imports pandas, and that numexpr, where they are installed")
    program = f"import os, tinyude; tinyude.UDE; print(os.environ[{name!r}], os.environ.get('NUMEXPR_NUM_THREADS'))"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMEXPR")} | {name: number}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == [number, environment.get("NUMEXPR_NUM_THREADS", "None")]


def test_program_draws_whatever_backend_the_environment_names() -> None:
    """As in a notebook's shell, or where a package is missing; the page was lost with a traceback."""
    program = (
        "import sys; sys.argv = ['tinyude', '--version']; from tinyude.cli.app import main\n"
        "try:\n    main()\nexcept SystemExit:\n    import tinyude.report.figures"
    )
    environment = {**os.environ, "MPLBACKEND": "nonsense"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stdout.startswith("tinyude "), done.stderr


@pytest.mark.parametrize("columns", ["0", "1", "-3", "x"])
def test_program_prints_where_the_environment_names_no_usable_width(columns: str) -> None:
    """A terminal of a container may have 0 columns: the verdict of a fit was not printed."""
    program = "from tinyude.cli.console import print_table, say; print_table([('a', 'b')]); say('verdict: good.')"
    environment = {**os.environ, "COLUMNS": columns}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["a", "b", "verdict:", "good."]
