import numpy as np
import pytest

from tinyude.reference.numeric.rng import rng_below, rng_next, rng_normal, rng_seed


def test_rng_next_gives_the_published_sequence() -> None:
    rng = rng_seed(42, 54)  # the demo that comes with PCG32
    published = [0xA15C02B7, 0x7B47F409, 0xBA1D3330, 0x83D2F293, 0xBFA4784B, 0xCBED606E]
    assert [rng_next(rng) for _ in published] == published


def test_rng_seed_streams_and_seeds_differ_and_repeat() -> None:
    def draws(seed: int, stream: int) -> tuple[int, ...]:
        rng = rng_seed(seed, stream)
        return tuple(rng_next(rng) for _ in range(8))

    assert draws(1, 0) == draws(1, 0)
    assert len({draws(seed, stream) for seed in range(4) for stream in range(4)}) == 16


def test_rng_seed_takes_64_bits() -> None:
    first, second = rng_seed(2**64 - 1), rng_seed(2**64 - 1 + 2**64)
    assert rng_next(first) == rng_next(second)
    assert 0 <= first.state < 2**64


@pytest.mark.parametrize("bound", [1, 2, 7, 1000])
def test_rng_below_is_uniform_in_its_range(bound: int) -> None:
    rng = rng_seed(3)
    draws = np.array([rng_below(rng, bound) for _ in range(20_000)])
    assert draws.min() == 0 and draws.max() == bound - 1
    expected = len(draws) / bound
    chi = float(((np.bincount(draws, minlength=bound) - expected) ** 2 / expected).sum())
    assert chi <= bound - 1 + 4.0 * np.sqrt(2.0 * bound)


def test_rng_normal_has_normal_moments_and_exact_values() -> None:
    rng = rng_seed(7)
    draws = np.array([rng_normal(rng) for _ in range(20_000)])
    assert abs(draws.mean()) < 4.0 / np.sqrt(len(draws))
    assert draws.std() == pytest.approx(1.0, abs=0.02)
    assert abs(np.mean(draws**3)) < 0.08
    assert np.mean(draws**4) == pytest.approx(2.9, abs=0.15)  # twelve uniforms: 3 - 0.1
    assert np.all(draws * 2.0**24 == np.round(draws * 2.0**24))  # the same bits wherever it runs
