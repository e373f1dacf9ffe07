"""Dask: a cluster on this computer or one that is running already, and work that flows through it in bounded memory."""

from __future__ import annotations

import logging
import os
import re
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tinyude.errors import TinyUDEError
from tinyude.fleet.allocator import keep_freed_memory

IN_FLIGHT = 4  # units submitted per thread: enough that none waits, few enough that memory stays constant
RETRIES = 2  # of a unit whose worker was lost or whose result did not arrive
PATIENCE = 1.0  # seconds between two looks at the scheduler's health
CONNECT = "20s"  # for a running scheduler to answer
QUIET = {  # Dask's profiler and monitors took 0.08 CPU s a unit of 0.5 on a busy computer
    "distributed.worker.profile.enabled": False,
    "distributed.admin.system-monitor.interval": "10s",
    "distributed.admin.tick.interval": "500ms",
    # these three: 22 CPU ms a second of an idle cluster with one worker became 12
    "distributed.worker.memory.monitor-interval": "2s",
    "distributed.scheduler.active-memory-manager.start": False,
    "distributed.scheduler.work-stealing-interval": "1s",
}


@contextmanager
def connected(scheduler: str | None = None, workers: int | None = None, client: Any = None) -> Iterator[Any]:
    """A Dask client: the one given, one of the scheduler at that address, or one of a cluster started here.

    Parameters
    ----------
    scheduler
        Address of a running scheduler, e.g. "tcp://head:8786".
    workers
        Processes of a cluster started here; a core each by default.
    client
        A `distributed.Client` to use as it is; it is left open.
    """
    distributed = _distributed()
    if client is not None:
        yield client
        return
    if scheduler is not None:
        if not re.search(r":\d+$", scheduler):
            raise TinyUDEError(f"The scheduler's address {scheduler} has no port; write e.g. tcp://head:8786.")
        try:
            made = distributed.Client(scheduler, timeout=CONNECT, set_as_default=False)
        except (OSError, TimeoutError, ValueError) as error:
            raise TinyUDEError(
                f"No scheduler answers at {scheduler} ({type(error).__name__}); start one with `dask scheduler`, and "
                f"workers with `dask worker {scheduler}`."
            ) from None
        with _without_messages("distributed.client"), made:  # a lost scheduler is reported once, by `results`
            _wait_for_a_worker(made)
            yield made
        return
    with (
        _script_run_once(),
        _local_cluster(distributed, workers) as cluster,
        distributed.Client(cluster, set_as_default=False) as made,
    ):
        yield made


def _local_cluster(distributed: Any, workers: int | None) -> Any:
    count = workers or len(os.sched_getaffinity(0))
    with one_thread_each(), import_module("dask.config").set(QUIET), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Port .* is already in use")
        warnings.filterwarnings("ignore", message="Creating scratch directories")  # is slow on a busy computer
        return distributed.LocalCluster(
            n_workers=count, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=logging.ERROR
        )


@contextmanager
def _script_run_once() -> Iterator[None]:
    """Worker processes need nothing of the script that calls `fit`, so a script without a main guard will do.

    Python runs the file of `__main__` again in every process that it spawns, also in those that replace lost workers.
    """
    main = sys.modules["__main__"]
    names = ("__file__", "__spec__")
    before = {name: vars(main)[name] for name in names if name in vars(main)}
    vars(main).pop("__file__", None)
    vars(main)["__spec__"] = None
    try:
        yield
    finally:
        vars(main).pop("__spec__", None)
        vars(main).update(before)


def results(
    client: Any,
    work: Callable[[Any], Any],
    items: Sequence[Any],
    name: str = "fit",
    workers: Sequence[str] | None = None,
) -> Iterator[tuple[Any, Any, BaseException | None]]:
    """Each item with its result, or with the error that its worker could not report, as they come.

    Parameters
    ----------
    client, work, items
        A Dask client, what its workers do, and with what.
    name
        Of this work on Dask's dashboard.
    workers
        Addresses of the workers to use; all by default.

    Raises
    ------
    TinyUDEError
        If the scheduler is lost; what has come back until then is whole.
    """
    distributed = _distributed()
    _wait_for_a_worker(client)
    waiting = iter(enumerate(items))
    running: dict[Any, Any] = {}
    threads, counted = 1, -float("inf")  # updated now and then: workers come and go

    def hand_out() -> None:
        nonlocal threads, counted
        if time.monotonic() > counted + PATIENCE:
            threads, counted = sum(client.nthreads().values()) or 1, time.monotonic()
        while len(running) < IN_FLIGHT * threads:
            number, item = next(waiting, (None, None))
            if number is None:
                return
            key = f"{name}-{number:06d}-{id(items):x}"
            running[client.submit(_on_worker, work, item, key=key, retries=RETRIES, workers=workers)] = item

    try:
        hand_out()
        while running:
            try:
                with client.as_current():
                    done = distributed.wait(list(running), timeout=PATIENCE, return_when="FIRST_COMPLETED").done
            except TimeoutError:
                done = set()
            _check(client, running)
            for future in done:
                item = running.pop(future)
                error = future.exception()
                yield item, None if error else future.result(), error
                future.release()
            if done:
                hand_out()
    except (distributed.CancelledError, OSError) as error:
        raise _lost(type(error).__name__) from None


def _wait_for_a_worker(client: Any) -> None:
    if not client.scheduler_info()["workers"]:
        try:
            client.wait_for_workers(1, timeout=60)
        except TimeoutError:
            raise TinyUDEError(
                "The scheduler has no worker after 60 s; start one with `dask worker ADDRESS`."
            ) from None


def _on_worker(work: Callable[[Any], Any], item: Any) -> Any:
    keep_freed_memory()
    return work(item)


def _check(client: Any, running: dict[Any, Any]) -> None:
    if client.status != "running" or all(future.status in ("cancelled", "lost") for future in running):
        raise _lost(client.status)


def _lost(reason: Any) -> TinyUDEError:
    return TinyUDEError(
        f"The scheduler is gone ({reason}); finished units are kept: start a scheduler and run the same command again."
    )


@contextmanager
def _without_messages(name: str) -> Iterator[None]:
    logger = logging.getLogger(name)
    before = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(before)


@contextmanager
def one_thread_each() -> Iterator[None]:
    """Worker processes start with one thread for linear algebra: a process a core is all there is to share."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise TinyUDEError("Fleets need Dask; install it with pip install 'tinyude[fleet]'.") from None
    return distributed
