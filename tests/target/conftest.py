"""What the tests of the chip's code share: the core compiled for a board, once a session."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tinyude.experiments.board import emulator


@pytest.fixture(scope="session")
def core_library(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., emulator.CoreLibrary]:
    """The core for a board, compiled at the first call."""
    made: dict[tuple[str, str], emulator.CoreLibrary] = {}

    def library(core: str, optimise: str = "-O3") -> emulator.CoreLibrary:
        if (core, optimise) not in made:
            made[core, optimise] = emulator.compile_core(core, tmp_path_factory.mktemp(core), optimise)
        return made[core, optimise]

    return library
