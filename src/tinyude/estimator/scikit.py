"""scikit-learn's base class, imported whatever the environment says of threads.

scikit-learn imports pandas, and that numexpr, which fails on every OMP_NUM_THREADS that is no whole number, or a huge
one. "4,2" is valid: the threads of nested loops.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

_OWN, _COMMON = "NUMEXPR_NUM_THREADS", "OMP_NUM_THREADS"


@contextmanager
def readable_threads() -> Iterator[None]:
    """Give numexpr a number of threads where it cannot read the environment's; for other libraries nothing changes."""
    before = os.environ.get(_OWN)
    if all(_is_readable(os.environ.get(name, "")) for name in (_OWN, _COMMON)):
        yield
        return
    os.environ[_OWN] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[_OWN]
        else:
            os.environ[_OWN] = before


def _is_readable(text: str) -> bool:
    return not text or (text.strip().isdecimal() and int(text) < 2**31)  # a C integer


with readable_threads():
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError

__all__ = ["BaseEstimator", "NotFittedError"]
