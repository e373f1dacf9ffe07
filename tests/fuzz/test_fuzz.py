"""A few seconds of every fuzzer; `make fuzz MINUTES=60` runs them for an hour of CPU each."""

import importlib.util
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

HERE = Path(__file__).parents[2] / "fuzz"
_SPEC = importlib.util.spec_from_file_location("fuzz_run", HERE / "run.py")
assert _SPEC is not None and _SPEC.loader is not None
run = importlib.util.module_from_spec(_SPEC)
_SPEC.loader.exec_module(run)

CORE_SECONDS, READER_SECONDS = 10, 10.0


@pytest.fixture(scope="session")
def fuzzer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder to build in, where the compiler can build fuzzers at all."""
    folder = tmp_path_factory.mktemp("fuzz")
    if shutil.which("clang") is None:
        pytest.skip("clang is not installed: no libFuzzer")
    source = folder / "nothing.c"
    source.write_text("int LLVMFuzzerTestOneInput(const char *d, unsigned long n) { return !d && n; }\n")
    command = ["clang", "-fsanitize=fuzzer,address", source, "-o", folder / "nothing"]
    if subprocess.run(list(map(str, command)), capture_output=True, check=False).returncode:
        pytest.skip("clang has no libFuzzer here; install libclang-rt-dev")
    return folder


@pytest.mark.parametrize("target", run.CORE)
def test_core_survives_a_fuzzer(target: str, fuzzer: Path, record_property: Callable[[str, object], None]) -> None:
    run.build(target, fuzzer)
    runs, used = run.run(target, CORE_SECONDS, fuzzer)
    assert runs > 0
    record_property("figure", f"fuzz, {target}: {runs} runs, {runs / used:.0f} a second of CPU")


@pytest.mark.parametrize("target", run.READERS)
def test_readers_survive_a_fuzzer(target: str, tmp_path: Path, record_property: Callable[[str, object], None]) -> None:
    runs, used = run.run(target, READER_SECONDS, tmp_path)
    assert runs > 0
    record_property("figure", f"fuzz, {target}: {runs} runs, {runs / used:.0f} a second of CPU")
