"""Rows that a logger lost are not errors of the model."""

import numpy as np
import pytest

import tinyude as tu
from tinyude.systems.system import System

SEED = 3


def lost(samples: np.ndarray) -> np.ndarray:
    """The samples with one row in twelve missing, now and then two in a row."""
    rows = np.random.default_rng(SEED).random(len(samples)) < 1.0 / 12.0
    return np.where(rows[:, None], np.nan, samples)


@pytest.mark.parametrize("how", ["not a number", "not logged"])
def test_verdict_counts_no_missing_row_as_an_error(
    how: str, pendulum: System, short_stream: tuple[float, np.ndarray]
) -> None:
    period, samples = short_stream
    whole = tu.UDE(pendulum.physics, refine=False).fit(samples, t=period)
    record, times = lost(samples), np.arange(len(samples)) * period
    if how == "not logged":
        kept = np.isfinite(record[:, 0])
        record, times = record[kept], times[kept]
    ude = tu.UDE(pendulum.physics, refine=False).fit(record, t=times)
    assert not any("free run" in str(reason).lower() for reason in ude.verdict_.reasons)
    error, same = (fit.verdict_.figures["free_run"]["error"] for fit in (ude, whole))
    assert error < 1.5 * same
