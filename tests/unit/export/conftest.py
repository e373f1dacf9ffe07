"""A fitted pendulum as a chip and as a model file, and the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tinyude as tu
from tinyude.cli.app import app
from tinyude.export import Chip, chip_of_model


@pytest.fixture(scope="module")
def chip(fitted: tu.UDE) -> Chip:
    return chip_of_model(fitted)


@pytest.fixture(scope="module")
def model(fitted: tu.UDE, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "my rig.tinyude"
    fitted.save(path)
    return path


@pytest.fixture(scope="session")
def run() -> Callable[..., str]:
    """Run a command with these arguments; what it printed."""

    def invoke(*arguments: object, status: int = 0) -> str:
        result = CliRunner().invoke(app, [str(argument) for argument in arguments])
        assert result.exit_code == status, result.output
        return result.output

    return invoke
