import numpy as np

from tinyude.reference.network.reservoir import reservoir_count, reservoir_draw, reservoir_init, reservoir_offer
from tinyude.reference.numeric.rng import rng_seed


def held_after(offers: int, capacity: int, seed: int, rolling: bool = False) -> np.ndarray:
    res, rng = reservoir_init(capacity, 1, rolling), rng_seed(seed)
    for k in range(offers):
        reservoir_offer(res, np.array([float(k)]), rng)
    return res.entries[: reservoir_count(res), 0].astype(int)


def test_reservoir_offer_keeps_everything_until_full() -> None:
    assert list(held_after(5, 8, seed=0)) == [0, 1, 2, 3, 4]


def test_reservoir_offer_is_uniform_over_the_stream() -> None:
    streams, offers, capacity = 2000, 40, 8
    times_kept = np.zeros(offers)
    for seed in range(streams):
        held = held_after(offers, capacity, seed)
        assert len(set(held)) == capacity
        times_kept[held] += 1
    share = capacity / offers
    chi = float(((times_kept - streams * share) ** 2 / (streams * share * (1.0 - share))).sum())
    freedom = offers - 1
    assert chi < freedom + 4.0 * np.sqrt(2.0 * freedom)


def test_reservoir_offer_never_keeps_with_certainty() -> None:
    """A reservoir that always takes the newest entry is not uniform."""
    assert sum(39 in held_after(40, 8, seed) for seed in range(300)) < 100


def test_reservoir_rolling_holds_the_newest() -> None:
    assert sorted(held_after(30, 8, seed=0, rolling=True)) == list(range(22, 30))


def test_reservoir_draw_is_uniform_with_replacement_over_what_is_there() -> None:
    res, rng = reservoir_init(100, 1), rng_seed(4)
    for k in range(10):
        reservoir_offer(res, np.array([float(k)]), rng)
    drawn = np.bincount(reservoir_draw(res, 20_000, rng), minlength=100)
    assert not drawn[10:].any()
    chi = float(((drawn[:10] - 2000.0) ** 2 / 2000.0).sum())
    assert chi < 9.0 + 4.0 * np.sqrt(18.0)


def test_reservoir_forgets_when_seen_is_reset() -> None:
    res, rng = reservoir_init(4, 1), rng_seed(0)
    for k in range(9):
        reservoir_offer(res, np.array([float(k)]), rng)
    res.seen = 0
    assert reservoir_count(res) == 0
    reservoir_offer(res, np.array([50.0]), rng)
    assert res.entries[0, 0] == 50.0 and reservoir_count(res) == 1
