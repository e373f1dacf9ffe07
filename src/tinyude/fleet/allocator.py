"""A worker's freed memory, kept for its next arrays.

Dask starts workers with MALLOC_TRIM_THRESHOLD_=65536, by which every large array is allocated from the system again.
The page faults of a fit of ten minutes at 200 Hz then took as much CPU time as the fit itself: 1.38 s instead of 0.71
s.
"""

from __future__ import annotations

import ctypes
from functools import cache

M_TRIM_THRESHOLD, M_MMAP_THRESHOLD = -1, -3  # of mallopt, malloc.h
FROM_THE_SYSTEM = 32 << 20  # bytes from which an array is: the most that glibc allows
KEPT = 64 << 20  # bytes that are free and not given back; twice the above, as glibc itself chooses


@cache
def keep_freed_memory() -> None:
    """Once a process, and only where the C library is glibc."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):
        return  # another C library, or Windows
    mallopt(M_MMAP_THRESHOLD, FROM_THE_SYSTEM)
    mallopt(M_TRIM_THRESHOLD, KEPT)
