"""The core, compiled once a session in both precisions."""

import shutil

import pytest
from compiled_core import DEFINES, Core


@pytest.fixture(scope="session")
def cores(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Core]:
    if shutil.which("cc") is None:
        pytest.skip("no C compiler")
    folder = tmp_path_factory.mktemp("core")
    return {precision: Core(precision, folder) for precision in DEFINES}
