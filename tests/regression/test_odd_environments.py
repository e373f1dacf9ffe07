"""Environment variables of a user's shell that a library of ours cannot read."""

import os
import subprocess
import sys

import pytest


@pytest.mark.parametrize("name", ["OMP_NUM_THREADS", "NUMEXPR_NUM_THREADS"])
def test_ude_is_imported_with_a_number_of_threads_that_numexpr_cannot_read(name: str) -> None:
    pytest.importorskip("pandas", reason="scikit-learn imports pandas, and that numexpr, where they are installed")
    program = f"import os, tinyude; tinyude.UDE; print(os.environ[{name!r}], os.environ.get('NUMEXPR_NUM_THREADS'))"
    environment = {key: value for key, value in os.environ.items() if not key.startswith("NUMEXPR")} | {name: "4,2"}
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["4,2", environment.get("NUMEXPR_NUM_THREADS", "None")]
