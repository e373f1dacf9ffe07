import subprocess
import sys

import pytest

from tinyude.errors import TinyUDEError
from tinyude.physics.budget import with_time_limit


def test_with_time_limit_returns_the_result() -> None:
    assert with_time_limit(1.0, "this", lambda: 3) == 3


def test_with_time_limit_stops_work_without_end() -> None:
    def endless() -> None:
        while True:
            pass

    with pytest.raises(TinyUDEError, match=r"this takes SymPy longer than 0.05 s"):
        with_time_limit(0.05, "this", endless)


def test_with_time_limit_lets_no_interrupt_out_after_work_that_ignores_it() -> None:
    def stubborn() -> int:
        try:
            while True:
                pass
        except BaseException:
            return 1

    assert with_time_limit(0.05, "this", stubborn) == 1
    assert sum(range(100_000)) == 4_999_950_000


def test_with_time_limit_leaves_the_interpreter_as_it_was() -> None:
    """Python 3.11 and a cleared interrupt: a profiler would wait for ever, and every loop would be slower."""
    code = (
        "import cProfile; from tinyude.physics.budget import with_time_limit; with_time_limit(1.0, 'this', lambda: 1)\n"
        "with cProfile.Profile(): print(len([i for i in range(1000)]))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "1000"
