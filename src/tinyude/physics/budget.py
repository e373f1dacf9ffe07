"""Limits for expressions of unknown origin: time, and the size of their derivatives.

SymPy simplifies as it builds, and there are short texts that it would work on for hours.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar

import sympy as sp

from tinyude.errors import TinyUDEError

Result = TypeVar("Result")
Failures = tuple[type[Exception], ...]

MAX_SLOPE = 50_000  # parts of the derivative by one symbol, written out
_CHECKS = 20  # of the clock, within a budget
_ARRIVES = 1_000  # steps of an empty loop, in which Python raises an exception that another thread has set
_FAILURES: Failures = (
    ArithmeticError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
    AttributeError,
    NotImplementedError,
)


def with_time_limit(seconds: float, what: str, work: Callable[[], Result], failures: Failures = _FAILURES) -> Result:
    """The result of SymPy's work, which is stopped when it has taken that many seconds of this thread's time.

    Parameters
    ----------
    seconds : float
        CPU time, so that a busy machine rejects nothing; wall time where the system does not report it.
    what : str
        What the error calls the work.
    failures : exceptions
        Exceptions of SymPy that become a TinyUDEError.

    Raises
    ------
    TinyUDEError
        Out of time, or SymPy itself failed at it.
    """

    class OutOfTime(BaseException):
        """Set by the watching thread in the working one; each budget has its own class, so that they can be nested."""

    clock, lock, sent, done = _thread_clock(), threading.Lock(), threading.Event(), threading.Event()
    end, worker = clock() + seconds, ctypes.c_ulong(threading.get_ident())

    def without_message(ignored: Any) -> None:
        """Python drops an exception that is set in a callback that may not fail; the next check sets it again."""
        if ignored.exc_type is not OutOfTime:
            hook(ignored)

    def watch() -> None:
        while not done.wait(seconds / _CHECKS):
            with lock:
                if not done.is_set() and clock() > end:
                    sent.set()
                    ctypes.pythonapi.PyThreadState_SetAsyncExc(worker, ctypes.py_object(OutOfTime))

    hook, sys.unraisablehook = sys.unraisablehook, without_message
    try:
        watcher = threading.Thread(target=watch, daemon=True)
        watcher.start()
        try:
            return work()
        finally:
            with lock:
                done.set()
            for _ in range(_ARRIVES if sent.is_set() else 0):
                pass  # an exception that was set at the last moment is raised here, not later
    except OutOfTime:
        done.set()
        raise TinyUDEError(
            f"{what} takes SymPy longer than {seconds:g} s; simplify it, or nest fewer functions."
        ) from None
    except TinyUDEError:
        raise
    except failures as error:
        raise TinyUDEError(f"{what} cannot be worked out ({type(error).__name__}); simplify it.") from None
    finally:
        if sys.unraisablehook is without_message:
            sys.unraisablehook = hook


def _thread_clock() -> Callable[[], float]:
    """The CPU time of the present thread, to be read from any thread."""
    if not hasattr(time, "pthread_getcpuclockid"):
        return time.monotonic
    number = time.pthread_getcpuclockid(threading.get_ident())
    return lambda: time.clock_gettime(number)


def check_slope_size(expr: sp.Expr, what: str) -> None:
    """An error where the derivative of the expression would be huge, as that of a product of hundreds of factors."""
    size = _sizes(expr)[1]
    if size > MAX_SLOPE:
        raise TinyUDEError(f"{what} has a derivative of {size:,} parts, more than {MAX_SLOPE:,}; simplify it.")


def _sizes(expr: sp.Basic) -> tuple[int, int]:
    """Parts of an expression, and of its derivative as the product and chain rules write it."""
    if not expr.args:
        return 1, 1
    inner = [_sizes(item) for item in expr.args]
    size, slope = 1 + sum(own for own, _ in inner), sum(slope for _, slope in inner)
    return size, slope if expr.is_Add else slope + size * (len(inner) if expr.is_Mul else 1)
