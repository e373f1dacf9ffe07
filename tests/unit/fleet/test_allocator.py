"""Freed memory that the next array gets, in a process started as Dask starts its workers."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

FAULTS = """
import resource
import numpy as np
from tinyude.fleet.allocator import keep_freed_memory
def faults():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(20):
        np.ones(1_000_000)
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
print(faults())
keep_freed_memory()
np.ones(1_000_000)
print(faults())
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="this C library has no mallopt")
def test_kept_memory_spares_page_faults_of_every_array() -> None:
    started_by_dask = {**os.environ, "MALLOC_TRIM_THRESHOLD_": "65536"}
    command = [sys.executable, "-c", FAULTS]
    told = subprocess.run(command, capture_output=True, text=True, env=started_by_dask, check=True).stdout
    before, kept = (int(line) for line in told.split())
    assert before > 1000 and kept < 0.1 * before
