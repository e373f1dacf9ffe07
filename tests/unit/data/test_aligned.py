"""Channels of different rates on one time base."""

from collections.abc import Iterator

import numpy as np
import pytest

from tinyude.data.recordings import aligned, in_step
from tinyude.errors import TinyUDEError


def batches(times: np.ndarray, name: str, size: int) -> Iterator[tuple[np.ndarray, dict[str, np.ndarray]]]:
    for start in range(0, len(times), size):
        part = times[start : start + size]
        yield part, {name: np.sin(part)}


def test_aligned_is_the_same_whatever_the_pieces() -> None:
    slow, fast = np.arange(0.0, 30.0, 0.05), np.arange(0.0, 30.0, 0.002)

    def table(size: int, rows: int) -> np.ndarray:
        readers = {"slow": batches(slow, "s", size), "fast": batches(fast, "f", size)}
        pieces = list(aligned(in_step(readers), {"s": "slow", "f": "fast"}, "fast", {"s"}, rows))
        assert all(len(piece[""]) <= rows for piece in pieces)
        return np.concatenate([np.stack([piece[""], piece["s"], piece["f"]]) for piece in pieces], axis=1)

    assert np.array_equal(table(100, 300), table(100_000, 100_000), equal_nan=True)


def test_aligned_interpolates_signals_without_delay() -> None:
    readers = {
        "slow": batches(np.arange(0.0, 30.0, 0.05), "s", 50),
        "fast": batches(np.arange(0.0, 29.0, 0.002), "f", 50),
    }
    for piece in aligned(in_step(readers), {"s": "slow", "f": "fast"}, "fast", (), 1000):
        assert np.allclose(piece["s"], np.sin(piece[""]), atol=0.05**2 / 8 + 1e-12)  # of a straight line, no more


def test_aligned_leaves_silence_missing() -> None:
    times = np.arange(0.0, 10.0, 0.05)
    silent = times[(times < 3.0) | (times > 6.0)]
    readers = {"a": batches(times, "a", 20), "b": batches(silent, "b", 20)}
    pieces = list(aligned(in_step(readers), {"a": "a", "b": "b"}, "a", (), 50))
    found = np.concatenate([piece["b"] for piece in pieces])
    missing = np.isnan(found)
    assert np.array_equal(missing, (times > 2.99) & (times < 6.01) & ~np.isin(times, silent))
    assert np.allclose(found[~missing], np.sin(times[~missing]))


def test_aligned_does_not_wait_for_a_channel_that_ended() -> None:
    times = np.arange(0.0, 100.0, 0.01)
    readers = {"a": batches(times, "a", 100), "b": batches(times[:500], "b", 100)}
    pieces = aligned(in_step(readers), {"a": "a", "b": "b"}, "a", (), 200)
    assert sum(len(piece[""]) for piece in pieces) == len(times)


def test_aligned_waits_for_a_channel_whose_batch_is_longer_than_many_pieces() -> None:
    readers = {"a": batches(np.arange(0.0, 10.0, 0.01), "a", 1000), "b": batches(np.arange(0.0, 10.0, 0.1), "b", 1000)}
    pieces = list(aligned(in_step(readers), {"a": "a", "b": "b"}, "a", {"b"}, 10))
    assert sum(len(piece[""]) for piece in pieces) == 1000


@pytest.mark.parametrize("held", [(), ("b",)])
def test_aligned_rejects_a_channel_of_another_time(held: tuple[str, ...]) -> None:
    readers = {"a": batches(np.arange(0.0, 10.0, 0.1), "a", 20), "b": batches(np.arange(50.0, 60.0, 0.1), "b", 20)}
    with pytest.raises(TinyUDEError, match=r"'b' runs from 50 to 59.9 s, the rows from 0 to 9.9 s"):
        list(aligned(in_step(readers), {"a": "a", "b": "b"}, "a", held, 50))


def test_aligned_sorts_stamps_that_arrive_out_of_order() -> None:
    stamps = np.array([0.0, 0.2, 0.1, 0.3, 0.3, 0.4])
    pieces = list(aligned(iter([("a", stamps, {"v": 10.0 * stamps})]), {"v": "a"}, "a", (), 10))
    assert np.allclose(pieces[0][""], [0.0, 0.1, 0.2, 0.3, 0.4])
    assert np.allclose(pieces[0]["v"], [0.0, 1.0, 2.0, 3.0, 4.0])
