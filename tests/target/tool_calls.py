"""Calls of compilers, linkers and emulators."""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest


def call(command: Sequence[str | Path], folder: Path) -> str:
    """Output of a tool that must succeed; the test is skipped where it is not installed."""
    if shutil.which(str(command[0])) is None:
        pytest.skip(f"{command[0]} is not installed; tools/install_emulators.sh installs it")
    done = subprocess.run([str(part) for part in command], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command[0]} failed:\n{(done.stdout + done.stderr)[-4000:]}"
    return done.stdout
