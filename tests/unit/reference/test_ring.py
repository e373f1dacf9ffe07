import numpy as np

from tinyude.reference.signal.ring import ring_clear, ring_init, ring_push, ring_row, ring_window


def pushed(count: int, span: int = 11):
    ring = ring_init(span, 2)
    for k in range(count):
        ring_push(ring, np.array([k, 100.0 + k]))
    return ring


def test_ring_row_counts_back_from_the_newest() -> None:
    ring = pushed(25)
    assert [ring_row(ring, back)[0] for back in range(11)] == list(range(24, 13, -1))


def test_ring_window_is_oldest_first_and_ends_with_the_newest() -> None:
    ring = pushed(25)
    np.testing.assert_array_equal(ring_window(ring, 5, 1)[:, 0], np.arange(14, 25))
    np.testing.assert_array_equal(ring_window(ring, 2, 2)[:, 1], 100.0 + np.arange(16, 25, 2))


def test_ring_window_is_a_copy() -> None:
    ring = pushed(25)
    ring_window(ring, 2, 1)[:] = -1.0
    assert ring_row(ring, 0)[0] == 24.0


def test_ring_clear_starts_over() -> None:
    ring = pushed(25)
    ring_clear(ring)
    assert ring.pushed == 0
    ring_push(ring, np.array([7.0, 8.0]))
    assert ring.pushed == 1 and list(ring_row(ring, 0)) == [7.0, 8.0]
